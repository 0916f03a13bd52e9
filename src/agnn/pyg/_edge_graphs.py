"""The graph behind PyG's edges where it is undirected; built once for edges that come again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric import EdgeIndex
from torch_geometric.utils import is_torch_sparse_tensor, to_edge_index

from agnn.data import unusable_weight
from agnn.graph import Graph


@dataclass(eq=False)
class _Known:
    """What was found out about some edges."""

    pairs: Tensor  # [2, m] int64, a copy
    nodes: int
    graph: Graph | None  # None: directed, or an edge stands there twice
    has_every_loop: bool  # each node has a self-loop, and only one
    weights: Tensor | None = None  # [m] the weights that were asked about last, a copy
    weighted: Graph | None = None  # with these; None: they differ between the directions

    def is_about(self, pairs: Tensor, nodes: int) -> bool:
        # Edges are compared, not trusted to be the same: their memory may have been written to
        # through NumPy, which changes no version number. It takes a few percent of the time.
        return nodes == self.nodes and torch.equal(pairs, self.pairs)

    def graph_with(self, weights: Tensor, *, adds_loops: bool) -> Graph | None:
        """The graph with these weights [m]; None unless both directions of an edge have the same.

        Loops that are not replaced must have the weight 1.
        """
        if self.graph is None:
            return None
        if self.weights is None or not torch.equal(weights, self.weights):
            self.weights = weights.clone()
            self.weighted = _with_weights(self.graph, self.pairs, self.weights, self.nodes)
        is_loop = self.pairs[0] == self.pairs[1]
        if not adds_loops and not bool((weights[is_loop] == 1).all()):
            return None
        return self.weighted


_KNOWN: Final = WeakTensorKeyDictionary()  # forgotten with the caller's tensor


def undirected_graph(
    edge_index: Any, nodes: int, *, adds_loops: bool, edge_weight: Tensor | None = None
) -> Graph | None:
    """The graph of `edge_index` where the kernels give what PyG's messages over it would.

    That is where every edge stands there once in each direction and, unless self-loops are added
    anyway, every node has its own once. None for all else, wrong edges included. Weights [m] must
    be the same in both directions and not be learned.
    """
    if edge_weight is not None and edge_weight.requires_grad:
        return None
    pairs = _pairs(edge_index, nodes)
    if pairs is None:
        return None
    entry: _Known | None = _KNOWN.get(edge_index)  # type: ignore[no-untyped-call]
    if entry is None or not entry.is_about(pairs, nodes):
        entry = _look(pairs, nodes)
        _KNOWN[edge_index] = entry
    if not adds_loops and not entry.has_every_loop:
        return None
    if edge_weight is None:
        return entry.graph
    return entry.graph_with(edge_weight, adds_loops=adds_loops)


def _pairs(edge_index: Any, nodes: int) -> Tensor | None:
    """Both ends of every edge, [2, m] int64; None where the edges are in no form we know."""
    if isinstance(edge_index, EdgeIndex):
        size = edge_index.sparse_size()
        edge_index = edge_index.as_tensor() if set(size) <= {None, nodes} else None
    if not isinstance(edge_index, Tensor):  # torch_sparse's own class among others
        return None
    if is_torch_sparse_tensor(edge_index):
        layouts = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
        if edge_index.layout not in layouts or edge_index.shape != (nodes, nodes):
            return None
        pairs: Tensor = to_edge_index(edge_index)[0]
        return pairs
    is_pair = edge_index.ndim == 2 and edge_index.shape[0] == 2
    if not is_pair or edge_index.dtype not in (torch.int32, torch.int64):
        return None
    return edge_index.to(torch.int64)


def _look(pairs: Tensor, nodes: int) -> _Known:
    """What there is to know of `pairs`, at the cost of two sorts."""
    copy = pairs.clone()
    if pairs.numel() and (int(pairs.min()) < 0 or int(pairs.max()) >= nodes):
        return _Known(copy, nodes, None, has_every_loop=False)
    is_loop = copy[0] == copy[1]
    loops = torch.bincount(copy[0, is_loop], minlength=nodes)
    graph = Graph.from_edges(copy, nodes)
    keys = torch.sort((copy[0] * nodes + copy[1])[~is_loop]).values
    is_undirected = torch.equal(keys, graph.receivers * nodes + graph.senders)
    return _Known(copy, nodes, graph if is_undirected else None, bool((loops == 1).all()))


def _with_weights(graph: Graph, pairs: Tensor, weights: Tensor, nodes: int) -> Graph | None:
    """The graph of `pairs` [2, m] with their weights [m], if these are symmetric and usable."""
    is_edge = pairs[0] != pairs[1]
    order = torch.argsort((pairs[0] * nodes + pairs[1])[is_edge])  # as the graph has its edges
    values = weights[is_edge][order]
    values = values if values.dtype == torch.float64 else values.float()
    if not torch.equal(values, values[graph.reverse]):
        return None
    if unusable_weight(values.cpu().numpy()) is not None:  # beyond what float32 sums hold
        return None
    return Graph(graph.offsets, graph.columns, weights=values)
