"""What reaches one node through all layers of a model: the weights of paths, nodes and edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation._explained_run import explained_run
from agnn.kernels import Attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import ReceptiveField, View
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


def path_rows(field: ReceptiveField, paths: Paths) -> list[Tensor]:
    """Return how much of each state H(0) to H(l-1) arrives at the field's one target.

    Entry t is [R, n_t] float64 over the first n_t nodes of the field, those within l - t hops. For
    a model whose output reads the last state alone, it is the target's row of P(l)...P(t+1).
    """
    return arriving_rows(paths, field.sizes, field_layers(field, paths))


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
    """Return the rows of `path_rows` for nodes that stand by hop, `sizes` within 0, 1, ... hops.

    The row goes backwards through the layers, so no matrix is ever multiplied by a matrix.
    """
    last = len(layers) - 1
    row = np.full((layers[0].loops.shape[0], 1), paths.combination[-1])
    restarted = np.zeros((row.shape[0], sizes[-1]))
    rows: list[NDArray[np.float64]] = []
    for t in range(last, -1, -1):
        hop = paths.hops[t]
        kept = hop.keep * row
        before = layers[t].spread(kept, sizes[last - t + 1])
        before[:, : row.shape[1]] += kept * layers[t].loops
        before[:, 0] += paths.combination[t]  # the output reads this state at the target itself
        restarted[:, : row.shape[1]] += hop.restart * row
        rows.insert(0, before)
        row = before
    rows[0] += restarted
    return [torch.from_numpy(values) for values in rows]


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
