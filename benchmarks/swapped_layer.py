"""`python -m benchmarks.swapped_layer`: `agnn.pyg.AGNNConv` against PyG's own, one import apart.

Forward and backward on one thread, in turns, both layers as their constructors have them. Three
ways to give the edges: the same undirected tensor every time, a new one every time, and directed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn

from agnn.pyg import AGNNConv
from benchmarks.graphs import RANDOM, edge_index, graph_of
from benchmarks.timing import compare

# PyG warns while it is imported; `agnn.pyg` has done that by now, in silence.
from torch_geometric.nn import AGNNConv as Peer  # isort: skip

_WIDTH = 16


def main() -> None:
    """Print one line a graph and way, with the median ratio and its 10 to 90 % range."""
    parser = argparse.ArgumentParser(description="Time the swapped layer against PyG's.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("graphs", nargs="*", default=["cora", RANDOM])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.graphs:
        graph = graph_of(name)
        source = torch.Generator().manual_seed(0)
        x, gradient = torch.randn(2, graph.nodes, _WIDTH, generator=source)
        for way, edges in ways(edge_index(graph)).items():
            ours, peer = (partial(step, kind(), x, edges, gradient) for kind in (AGNNConv, Peer))
            timing = compare(ours, peer, rounds=options.rounds)
            low, high = timing.ratio_range
            sys.stdout.write(
                f"{name}, {way}: {1e3 * median(timing.ours):.3g} ms, PyG "
                f"{1e3 * median(timing.peer):.3g} ms, {timing.ratio:.2g}x "
                f"({low:.2g}x to {high:.2g}x), n = {options.rounds}\n"
            )
            sys.stdout.flush()


def ways(edges: Tensor) -> Mapping[str, Callable[[], Tensor]]:
    """How the edges may come: functions that give them for one call."""
    directed = edges[:, edges[0] < edges[1]].contiguous()
    return {"same edges": lambda: edges, "new edges": edges.clone, "directed": lambda: directed}


def step(layer: nn.Module, x: Tensor, edges: Callable[[], Tensor], gradient: Tensor) -> None:
    """One layer forward and backward, to the states and beta."""
    states = x.detach().requires_grad_()
    torch.autograd.grad(layer(states, edges()), (states, layer.beta), gradient)


if __name__ == "__main__":
    main()
