"""`python -m benchmarks.weighted_layer`: cosine attention with edge weights against without.

Forward and backward, in turns, on one thread of a CPU or on a GPU (`--device cuda`).
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from statistics import median

import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import cosine_attention
from benchmarks.graphs import RANDOM, graph_of
from benchmarks.timing import Clock, compare


def main() -> None:
    """Print one line per graph and width: how many times longer the weighted layer takes."""
    parser = argparse.ArgumentParser(description="Time the layer with and without edge weights.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=int, nargs="*", default=[16, 64])
    parser.add_argument("graphs", nargs="*", default=["cora", "pubmed", RANDOM])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.graphs:
        plain = graph_of(name)
        weighted = with_weights(plain).to(options.device)
        plain = plain.to(options.device)
        for width in options.width:
            source = torch.Generator().manual_seed(0)
            shape = (2, options.replicas, plain.nodes, width)
            h, gradient = torch.randn(shape, generator=source).to(options.device)
            beta = torch.ones(options.replicas, device=options.device)
            ours, peer = (partial(step, each, h, beta, gradient) for each in (plain, weighted))
            timing = compare(ours, peer, rounds=options.rounds, clock=clock_of(options.device))
            low, high = timing.ratio_range
            sys.stdout.write(
                f"{name}, {options.replicas} x {width}: {1e3 * median(timing.ours):.3g} ms, "
                f"weighted {1e3 * median(timing.peer):.3g} ms, {timing.ratio:.3f} times as long "
                f"({low:.3f} to {high:.3f}), n = {options.rounds}\n"
            )
            sys.stdout.flush()


def with_weights(graph: Graph) -> Graph:
    """The same graph with a weight between 0.5 and 2 on every edge."""
    source = torch.Generator().manual_seed(1)
    drawn = 0.5 + 1.5 * torch.rand(graph.edges, generator=source)
    first = torch.minimum(torch.arange(graph.edges), graph.reverse)  # one of the two directions
    return Graph(graph.offsets, graph.columns, graph.order, drawn[first])


def step(graph: Graph, h: Tensor, beta: Tensor, gradient: Tensor) -> None:
    """One layer forward and backward, to the states and beta."""
    h, beta = h.detach().requires_grad_(), beta.detach().requires_grad_()
    torch.autograd.grad(cosine_attention(graph, h, beta), (h, beta), gradient)


def clock_of(device: str) -> Clock:
    """A clock that waits for the device; on a CPU that of this process alone."""
    if device == "cpu":
        return time.process_time

    def waited() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return waited


if __name__ == "__main__":
    main()
