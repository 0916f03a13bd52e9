"""The graphs that layers are timed on, as ours and as the peer read them."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from agnn.data import load_dataset
from agnn.data.store import dataset_names
from agnn.graph import Graph

RANDOM = "random"
_RANDOM_NODES, _RANDOM_EDGES = 100_000, 1_000_000


@cache
def graph_of(name: str) -> Graph:
    """The graph of a bundled dataset, or the random one: 100,000 nodes, 1 M undirected edges."""
    if name in dataset_names():
        data = load_dataset(name)
        return Graph.from_edges(data.edges, data.nodes)
    source = torch.Generator().manual_seed(0)
    pairs = torch.randint(_RANDOM_NODES, (2, _RANDOM_EDGES), generator=source)
    return Graph.from_edges(pairs, _RANDOM_NODES)


def edge_index(graph: Graph) -> Tensor:
    """Senders, then receivers, both directions of every edge, as PyG wants them; [2, m]."""
    return torch.stack([graph.senders, graph.receivers])


def edge_index_with_loops(graph: Graph) -> Tensor:
    """The same with every node's self-loop, ordered by receiver; [2, m + n].

    AGNNConv without its own `add_self_loops` then has no edges to copy in every call: some 10 %
    faster than what it does by default.
    """
    loops = torch.arange(graph.nodes).repeat(2, 1)
    both = torch.cat([edge_index(graph), loops], dim=1)
    return both[:, torch.argsort(both[1], stable=True)]
