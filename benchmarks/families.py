"""One method of every family on Cora, trained for a short time: our own figures, no peer."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch

import agnn

# A method, and what keeps its run short; the family is the words.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "attention by cosine": ("agnn", {"epochs": 50}),
    "consistency training": ("agnn_plus", {"epochs": 20}),
    "additive attention": ("gat", {"epochs": 20}),
    "fixed propagation": ("gcn", {"epochs": 50}),
    "personalised PageRank": ("appnp", {"epochs": 20}),
    "deep residual": ("gcnii", {"epochs": 5}),
    "neighbours apart from the node": ("separated", {"epochs": 20}),
    "propagated features": ("sgc", {"epochs": 20}),
    "diffusion": ("dcnn", {"epochs": 2}),
    "learned edge weights": ("monet", {"epochs": 10}),
    "random walks": ("deepwalk", {"walks_per_node": 1}),
    "labels alone": ("label_propagation", {}),
    "iterative classification": ("ica", {}),
    "features alone": ("ridge", {}),
}


def milliseconds() -> dict[str, float]:
    """Milliseconds of training, per epoch where there are epochs, on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {name: _milliseconds(name, changes) for name, changes in FAMILIES.values()}
    finally:
        torch.set_num_threads(before)


def _milliseconds(name: str, changes: dict[str, Any]) -> float:
    data = agnn.load_dataset("cora")

    def seconds() -> float:
        start = perf_counter()
        agnn.evaluate(name, data, split="fixed", replicas=1, changes=changes)
        return perf_counter() - start

    seconds()  # compiles
    return 1e3 * min(seconds() for _ in range(3)) / changes.get("epochs", 1)
