"""What reaches one node, and what is kept of a whole graph so that it can be looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Features, Graph, ReceptiveField, View
from agnn.kernels import Attention, FirstStates, Link, holding, run_chain
from agnn.networks import NodeModel, Paths
from agnn.runs import Run


def model_paths(model: NodeModel, view: View) -> Paths:
    """Return the matrices by which a model propagates on a view, on the CPU.

    Raises for a model that has none.
    """
    if (reason := model.unexplained) is not None:
        raise InputError(f"{model.title} cannot be explained: {reason}.")
    paths = model.propagation(view)
    hops = [
        replace(hop, attention=Attention(*(values.cpu() for values in hop.attention)))
        for hop in paths.hops
    ]
    return replace(paths, hops=tuple(hops))


def layer_weights(model: NodeModel, view: View) -> list[Attention]:
    """Return P(1) to P(l) on the CPU, each for the rows that its layer computes in the view.

    AGNN's are its attention, Eq. (7); those of GAT are the mean over its heads. Those of GCN, GLN,
    APPNP and GCNII are the fixed matrix of Eq. (1), whose rows do not sum to 1.
    """
    return [hop.attention for hop in model_paths(model, view).hops]


class LayerRows(NamedTuple):
    """One layer's weights at the rows that it computes, on the way to one target."""

    lengths: NDArray[np.int64]  # [rows] how many edges each row has
    senders: NDArray[np.int64]  # [e] places of the senders, row by row
    edges: NDArray[np.float32]  # [R, e] P[i, j]
    loops: NDArray[np.float32]  # [R, rows] P[i, i]

    def spread(self, sent: NDArray[np.float64], width: int) -> NDArray[np.float64]:
        """Return what of the first `width` nodes arrives where `sent` [R, rows] of the rows does.

        Over edges alone; [R, width].
        """
        totals = [
            np.bincount(self.senders, np.repeat(amounts, self.lengths) * weights, width)
            for amounts, weights in zip(sent, self.edges, strict=True)
        ]
        return np.stack(totals).astype(np.float64)  # without edges there are whole numbers

    def weights_at(
        self,
        places: NDArray[np.int64],
        receivers: NDArray[np.int64],
        ranks: NDArray[np.int64],
    ) -> Attention:
        """Return P at the nodes at some places [k] and at edges [e]; NaN where it is not computed.

        An edge is the one of this rank in the row of its receiver, which is one of the k nodes.
        """
        is_row = places < self.lengths.size
        rows = np.where(is_row, places, 0)
        starts = np.cumsum(self.lengths) - self.lengths
        is_edge = is_row[receivers]
        positions = np.where(is_edge, starts[rows[receivers]] + ranks, 0)
        nan = np.float32(np.nan)
        edges = np.where(is_edge, self.edges[:, positions], nan)
        loops = np.where(is_row, self.loops[:, rows], nan)
        return Attention(torch.from_numpy(edges), torch.from_numpy(loops))


def field_layers(field: ReceptiveField, paths: Paths) -> list[LayerRows]:
    """Return the weights of every layer at the rows of a field with one target."""
    if field.sizes[0] != 1:
        raise InputError(f"the field must have one target node; got {field.sizes[0]}.")
    if not paths.hops or len(paths.hops) != field.hops:
        raise InputError(
            f"the weights of {len(paths.hops)} layers do not fit a field that is {field.hops} "
            f"deep; both must be the same, and at least 1."
        )
    graph = field.graph.to("cpu")
    layers = []
    for hop in paths.hops:
        edges, loops = (values.numpy() for values in hop.attention)
        senders = graph.senders[: edges.shape[1]].numpy()
        layers.append(LayerRows(graph.degrees[: loops.shape[1]].numpy(), senders, edges, loops))
    return layers


def arriving_rows(paths: Paths, sizes: Sequence[int], layers: Sequence[LayerRows]) -> list[Tensor]:
    """Return how much of each state H(0) to H(l-1) of each node arrives at the one target.

    Nodes stand by hop, `sizes` of them within 0, 1, ... hops. Entry t is [R, n_t] float64 over the
    first n_t nodes, those within l - t hops. For a model whose output reads the last state alone,
    it is the target's row of P(l)...P(t+1).

    The row goes backwards through the layers, so no matrix is ever multiplied by a matrix.
    """
    last = len(layers) - 1
    row = np.full((layers[0].loops.shape[0], 1), paths.combination[-1])
    restarted = np.zeros((row.shape[0], sizes[-1]))
    rows: list[NDArray[np.float64]] = []
    for t in range(last, -1, -1):
        hop = paths.hops[t]
        passed_on = hop.keep * row
        before = layers[t].spread(passed_on, sizes[last - t + 1])
        before[:, : row.shape[1]] += passed_on * layers[t].loops
        before[:, 0] += paths.combination[t]  # the output reads this state at the target itself
        restarted[:, : row.shape[1]] += hop.restart * row
        rows.insert(0, before)
        row = before
    rows[0] += restarted
    return [torch.from_numpy(values) for values in rows]


@dataclass(frozen=True, eq=False)
class ByRow:
    """What a model does to the row of each node, apart from how it propagates."""

    links: tuple[Link, ...]  # from Z = X W0 + b0 to the logits
    first: FirstStates  # Z and W0
    constant: Tensor  # [R, c] the logits of a node whose Z is 0
    values: Tensor  # [R, n, c] what a node adds to each logit if all of it arrives

    @classmethod
    def of(cls, model: NodeModel, view: View) -> ByRow | None:
        """Return None where the two cannot be separated."""
        links = model.row_links(view)
        if links is None:
            return None
        with torch.no_grad(), holding() as held:
            states = run_chain(links[:1], view.features.values)
            logits = run_chain(links[1:], states)
            constant = run_chain(links[1:], torch.zeros_like(states[:, :1]))
        values = (logits - constant).cpu()
        return cls(tuple(links[1:]), held.first[0], constant[:, 0].cpu(), values)

    def gradient(self, nodes: Tensor, combination: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of a combination [c] of the values of some nodes at Z; [R, p, d]."""
        with torch.enable_grad(), holding():
            states = self.first.states[:, nodes.to(self.first.states.device)].requires_grad_()
            logits = run_chain(self.links, states)
            total = (logits @ torch.from_numpy(combination).to(logits)).sum()
            (gradient,) = torch.autograd.grad(total, states)
        return np.asarray(gradient.cpu().double().numpy())


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """A model's weights on the whole graph, kept for many questions about single nodes.

    Where what a model does to single rows can be separated from how it propagates, a node adds its
    path weight times `values`; `by_row` is None for other models.
    """

    paths: Paths
    features: Features
    by_row: ByRow | None = None

    @classmethod
    @torch.no_grad()
    def of(cls, run: Run) -> WholeGraph:
        """Compute everything now."""
        view = run.whole_view()
        return cls(model_paths(run.network, view), view.features, ByRow.of(run.network, view))


@dataclass(frozen=True, eq=False)
class Reach:
    """The nodes that reach a target, and how much of each state of theirs arrives.

    A layer with s layers after it computes the first `sizes[s]` of the nodes.
    """

    nodes: Tensor  # [k] indices in the data: the target, then by hop, ascending inside a hop
    sizes: tuple[int, ...]  # how many of them are within 0, 1, ... hops
    paths: Paths  # how the model propagates; the weights themselves are in `layers`
    layers: list[LayerRows]  # from first to last
    whole: WholeGraph | None = None  # in which it was looked up

    @classmethod
    def of_view(cls, model: NodeModel, view: View) -> Reach:
        """Compute the reach of a view's one target."""
        paths = model_paths(model, view)
        field = view.field
        return cls(field.nodes.cpu(), field.sizes, paths, field_layers(field, paths))

    @cached_property
    def rows(self) -> list[Tensor]:
        """How much of each state of each node arrives: see `arriving_rows`."""
        return arriving_rows(self.paths, self.sizes, self.layers)

    @property
    def rings(self) -> tuple[Tensor, ...]:
        """The nodes by their distance from the target."""
        return self.nodes.tensor_split(self.sizes[:-1])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Each node's share of all that arrives in a replica; [R, k]."""
        arriving = self.rows[0].numpy()
        return np.asarray(arriving / arriving.sum(1, keepdims=True))


def reach_of(run: Run, node: int, whole: WholeGraph | None = None) -> Reach:
    """Return the reach of one node, given by its index; computed, or looked up in `whole`."""
    if whole is None:
        return Reach.of_view(run.network, run.view_of(node))
    run.check_node(node)
    return _looked_up_reach(run.graph, node, whole)


def _looked_up_reach(graph: Graph, node: int, whole: WholeGraph) -> Reach:
    """Return the reach in a whole graph, at a cost in proportion to the edges that it reads."""
    paths = whole.paths
    columns = graph.columns.numpy()
    rings = [np.array([node])]
    is_seen = np.zeros(graph.nodes, dtype=np.bool_)
    is_seen[node] = True
    for _ in paths.hops:
        before = is_seen.copy()
        is_seen[columns[_edges_of(graph, rings[-1])[0]]] = True
        rings.append(np.flatnonzero(is_seen & ~before))
    nodes = np.concatenate(rings)
    sizes = tuple(accumulate(ring.size for ring in rings))
    position = np.empty(graph.nodes, dtype=np.int32)  # only entries of `nodes` are read
    position[nodes] = np.arange(nodes.size)
    layers = []
    for hop, count in zip(paths.hops, sizes[-2::-1], strict=True):
        edges, lengths = _edges_of(graph, nodes[:count])
        of_edges, of_loops = (values.numpy() for values in hop.attention)
        senders = position[columns[edges]]
        layers.append(LayerRows(lengths, senders, of_edges[:, edges], of_loops[:, nodes[:count]]))
    return Reach(torch.from_numpy(nodes), sizes, paths, layers, whole)


def _edges_of(graph: Graph, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the stored edges of some rows, and how many each row has."""
    offsets = graph.offsets.numpy()
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[rows + 1] - ends, lengths) + np.arange(lengths.sum()), lengths
