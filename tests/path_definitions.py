"""What arrives at a node over all paths, from the model's input for it alone."""

from __future__ import annotations

from torch import Tensor

from agnn.explanation import explained_run, model_paths
from agnn.explanation._reach import arriving_rows, field_layers
from agnn.graph import ReceptiveField
from agnn.networks import Paths
from agnn.runs import Run


def path_rows(field: ReceptiveField, paths: Paths) -> list[Tensor]:
    """Return what of each state H(0) to H(l-1) arrives at the field's one target."""
    return arriving_rows(paths, field.sizes, field_layers(field, paths))


def path_attention(run: Run, node: int) -> tuple[Tensor, Tensor]:
    """Return how much of each first state H(0) reaches one target, over all paths.

    The nodes that reach it [k] int64, by hop, the target first, and their weights [R, k] float64.
    AGNN's sum to 1, and what its output layer reads at the target is exactly their mean of H(0).
    For GCN and GLN it is the target's row of P^2, which does not sum to 1.
    """
    run = explained_run(run)
    view = run.view_of(node)
    rows = path_rows(view.field, model_paths(run.network, view))
    return view.field.nodes.cpu(), rows[0]
