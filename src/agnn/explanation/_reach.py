"""What reaches one node, and what is kept of a whole graph so that it can be looked up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from agnn.explanation._flow import model_paths, on_cpu, path_rows
from agnn.graph import ReceptiveField
from agnn.kernels import Attention

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.graph import Features
    from agnn.nn import Hop, LinearForm, Paths
    from agnn.runs import Run


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """A model's weights on the whole graph, kept for many questions about single nodes.

    `values` is what the first state of each node adds to each logit if all of it arrives. Only a
    model that neither mixes nor gates units between its layers has it; for others it is None.
    """

    paths: Paths
    features: Features
    form: LinearForm | None = None
    values: Tensor | None = None  # [R, n, c]

    @classmethod
    @torch.no_grad()
    def of(cls, run: Run) -> WholeGraph:
        """Compute everything now."""
        view = run.whole_view()
        form = run.network.linear_form(view)
        if form is None:
            return cls(model_paths(run.network, view), view.features)
        is_plain = form.last_gate is None and all(
            unit.keeps_units_apart and unit.gate is None for unit in form.units
        )
        if not is_plain:
            return cls(on_cpu(form.paths), view.features)
        states = form.states if form.gate is None else form.states * form.gate
        values = states if form.last_weight is None else states @ form.last_weight
        return cls(on_cpu(form.paths), view.features, form, values.cpu())


@dataclass(frozen=True, eq=False)
class Reach:
    """The nodes that reach a target, and how much of each state of theirs arrives."""

    field: ReceptiveField
    paths: Paths  # at the rows of the field
    rows: list[Tensor]  # see `path_rows`
    whole: WholeGraph | None = None  # what it was looked up in


def reach_of(run: Run, node: int, whole: WholeGraph | None = None) -> Reach:
    """The reach of one node, given by its index; computed, or looked up in the whole graph."""
    if whole is None:
        view = run.view_of(node)
        paths = model_paths(run.network, view)
        return Reach(view.field, paths, path_rows(view.field, paths))
    run.check_node(node)
    field = ReceptiveField.around(run.graph, torch.tensor([node]), len(whole.paths.hops))
    layers = zip(whole.paths.hops, field.sizes[-2::-1], strict=True)
    own = tuple(_restricted(hop, field, rows) for hop, rows in layers)
    paths = replace(whole.paths, hops=own)
    return Reach(field, paths, path_rows(field, paths), whole)


def _restricted(hop: Hop, field: ReceptiveField, rows: int) -> Hop:
    """The whole graph's weights at the first `rows` rows of a field."""
    weights, edges = hop.attention, field.edge_ids[: field.graph.edges_of(rows)]
    own = Attention(weights.edges[:, edges], weights.loops[:, field.nodes[:rows]])
    return replace(hop, attention=own)
