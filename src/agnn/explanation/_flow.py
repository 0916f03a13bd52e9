"""What reaches one node through all layers of a model: the weights of paths, nodes and edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation._explained_run import explained_run
from agnn.kernels import Attention

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import ReceptiveField, View
    from agnn.nn import NodeModel, Paths
    from agnn.runs import Run


def model_paths(model: NodeModel, view: View) -> Paths:
    """The matrices by which a model propagates on a view, on the CPU; raises if it has none."""
    found = model.propagation(view)
    if found is None:
        raise InputError(f"{model.title} cannot be explained: {model.unexplained}.")
    return on_cpu(found)


def on_cpu(paths: Paths) -> Paths:
    """The same paths with their matrices on the CPU."""
    hops = [
        replace(hop, attention=Attention(*(each.cpu() for each in hop.attention)))
        for hop in paths.hops
    ]
    return replace(paths, hops=tuple(hops))


def layer_weights(model: NodeModel, view: View) -> list[Attention]:
    """P(1) to P(l) on the CPU, each for the rows that its layer computes in the view.

    AGNN's are its attention, Eq. (7); those of GAT are the mean over its heads. Those of GCN, GLN,
    APPNP and GCNII are the fixed matrix of Eq. (1), whose rows do not sum to 1.
    """
    return [hop.attention for hop in model_paths(model, view).hops]


def path_rows(field: ReceptiveField, paths: Paths) -> list[Tensor]:
    """How much of each state H(0) to H(l-1) arrives at the field's one target.

    Entry t is [R, n_t] float64 over the first n_t nodes of the field, those within l - t hops. For
    a model whose output reads the last state alone, it is the target's row of P(l)...P(t+1). The
    row goes backwards through the layers, so no matrix is ever multiplied by a matrix.
    """
    _check(field, paths)
    graph = field.graph.to("cpu")

    def spread(layer: int, sent: NDArray[np.float64], width: int) -> NDArray[np.float64]:
        edges = paths.hops[layer].attention.edges.numpy()
        senders = graph.senders[: edges.shape[1]].numpy()
        degrees = graph.degrees[: sent.shape[1]].numpy()
        found = [
            np.bincount(senders, np.repeat(own, degrees) * weights, minlength=width)
            for own, weights in zip(sent, edges, strict=True)
        ]
        return np.stack(found).astype(np.float64)  # without edges there are whole numbers

    loops = [hop.attention.loops.numpy() for hop in paths.hops]
    return arriving_rows(paths, field.sizes, loops, spread)


def arriving_rows(
    paths: Paths,
    sizes: Sequence[int],
    loops: Sequence[NDArray[np.float32]],
    spread: Callable[[int, NDArray[np.float64], int], NDArray[np.float64]],
) -> list[Tensor]:
    """The same for nodes that stand by hop, `sizes` of them within 0, 1, ... hops.

    `loops` are P[i, i] of the rows that each layer computes. `spread(layer, sent, width)` gives
    what of the first `width` nodes arrives over the layer's edges [R, width], where `sent`
    [R, rows] arrives of the rows.
    """
    last, replicas = len(paths.hops) - 1, paths.hops[0].attention.loops.shape[0]
    row = np.full((replicas, 1), paths.combination[-1])
    restarted = np.zeros((replicas, sizes[-1]))
    rows: list[NDArray[np.float64]] = []
    for layer in range(last, -1, -1):
        hop, kept = paths.hops[layer], paths.hops[layer].keep * row
        before = spread(layer, kept, sizes[last - layer + 1])
        before[:, : row.shape[1]] += kept * loops[layer]
        before[:, 0] += paths.combination[layer]
        restarted[:, : row.shape[1]] += hop.restart * row
        rows.insert(0, before)
        row = before
    rows[0] += restarted
    return [torch.from_numpy(each) for each in rows]


def edge_flows(field: ReceptiveField, paths: Paths, rows: Sequence[Tensor]) -> list[Tensor]:
    """How much of what arrives at the target crosses each edge in each layer; [R, m'] by layer.

    In layer t it is the part of the new state at i that arrives, times keep P(t)[i, j]. Followed
    backwards it is a walk from the target, and the flow is how often the walk takes the edge.
    """
    receivers, last = field.graph.receivers.cpu(), paths.combination[-1]
    after = [*rows[1:], torch.full((rows[0].shape[0], 1), last, dtype=torch.float64)]
    return [
        hop.keep * row[:, receivers[: hop.attention.edges.shape[1]]] * hop.attention.edges
        for hop, row in zip(paths.hops, after, strict=True)
    ]


def path_attention(run: Run, node: int) -> tuple[Tensor, Tensor]:
    """How much of each first state H(0) reaches one target, over all paths.

    The nodes that reach it [k] int64, by hop, the target first, and their weights [R, k] float64.
    AGNN's sum to 1, and what its output layer reads at the target is exactly their mean of H(0).
    For GCN and GLN it is the target's row of P^2, which does not sum to 1.
    """
    run = explained_run(run)
    view = run.view_of(node)
    rows = path_rows(view.field, model_paths(run.network, view))
    return view.field.nodes.cpu(), rows[0]


def _check(field: ReceptiveField, paths: Paths) -> None:
    if field.sizes[0] != 1:
        raise InputError(f"the field must have one target node; got {field.sizes[0]}.")
    if not paths.hops or len(paths.hops) != field.hops:
        raise InputError(
            f"the weights of {len(paths.hops)} layers do not fit a field that is {field.hops} "
            f"deep; both must be the same, and at least 1."
        )
