"""One attention layer, forward and backward, on random graphs of growing size."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import cosine_attention
from benchmarks.gpu.clock import DEVICE, clock, peak_memory
from benchmarks.synthetic import hashed_circulant
from benchmarks.timing import compare

WIDTH = 16
# Nodes and neighbours of each; the last is about the size of ogbn-products.
SIZES = ((1_000, 20), (10_000, 20), (100_000, 20), (1_000_000, 20), (2_449_029, 50))
_LARGEST_PEER = 200_000_000  # edges: beyond, PyG's layer does not fit


def floor_bytes(nodes: int, edges: int, size: int = 4) -> int:
    """What must be read and written once every neighbour's line is fetched from memory.

    Forward an index and a state for each edge, backward an index, state, gradient and two facts;
    states, gradients and results once a node.
    """
    line = WIDTH * size
    forward = edges * (4 + line) + nodes * 2 * line
    backward = edges * (4 + 2 * line + 8) + nodes * 3 * line
    return forward + backward


def ours(graph: Graph, h: Tensor, gradient: Tensor) -> Callable[[], object]:
    """Our layer, forward and backward, to h and beta."""
    states = h[None].clone().requires_grad_()
    beta = torch.ones(1, device=DEVICE, requires_grad=True)

    def forward_and_backward() -> object:
        out = cosine_attention(graph, states, beta)
        return torch.autograd.grad(out, (states, beta), gradient[None])

    return forward_and_backward


def _peer_edges(graph: Graph) -> Tensor:
    """The edges with self-loops as PyG takes them: senders, then receivers."""
    nodes = torch.arange(graph.nodes, device=DEVICE)
    senders = torch.cat([graph.senders, nodes])
    return torch.stack([senders, torch.cat([graph.receivers, nodes])])


def _peers(edges: Tensor, h: Tensor, gradient: Tensor) -> dict[str, Callable[[], object]]:
    """PyG's layer as it is and compiled; what does not run is left out."""
    from benchmarks.peer import layer

    found: dict[str, Callable[[], object]] = {"eager": layer(edges, h, gradient)}
    try:
        compiled = layer(edges, h, gradient, torch.compile)
        compiled()
    except Exception as error:
        print(f"PyG under torch.compile did not run: {str(error)[:200]}")  # noqa: T201
    else:
        found["compiled"] = compiled
    return found


def measured(nodes: int, degree: int, rounds: int, copy: float) -> dict[str, Any]:
    """Times, memory and the share of the floor at one size."""
    graph = hashed_circulant(nodes, degree, device=DEVICE)
    h, gradient = torch.randn(2, nodes, WIDTH, device=DEVICE)
    mine = ours(graph, h, gradient)
    row: dict[str, Any] = {"nodes": nodes, "edges": graph.edges}
    row["ours_bytes"] = peak_memory(mine)
    row["floor_ms"] = floor_bytes(nodes, graph.edges) / copy * 1e3
    if graph.edges <= _LARGEST_PEER:
        edges = _peer_edges(graph)
        row["peers"] = {}
        for name, peer in _peers(edges, h, gradient).items():
            bytes_needed = peak_memory(peer)
            timing = compare(mine, peer, rounds=rounds, clock=clock)
            row["ours_ms"] = min(row.get("ours_ms", float("inf")), 1e3 * _median(timing.ours))
            row["peers"][name] = {"ms": 1e3 * _median(timing.peer), "bytes": bytes_needed}
        best = min(each["ms"] for each in row["peers"].values())
        row |= {"peer_ms": best, "ratio": best / row["ours_ms"]}
        row["peer_bytes"] = min(each["bytes"] for each in row["peers"].values())
    row["share_of_floor"] = row["floor_ms"] / row["ours_ms"]
    del graph, h, gradient, mine
    gc.collect()
    torch.cuda.empty_cache()
    return row


def _median(values: tuple[float, ...]) -> float:
    return sorted(values)[len(values) // 2]
