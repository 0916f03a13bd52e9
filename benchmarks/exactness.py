"""One graph on 1 to 4 ranks: the same bits, and the losses of one ordinary process.

    python -m benchmarks.exactness

AGNN and GCN for ten epochs on Cora, PubMed and a random graph of 1 M edges, in real gloo processes
of one thread. Prints for each whether weights, losses and scores are the same bits on every number
of ranks, and the largest relative difference of a loss from that of one ordinary process.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
import torch

from agnn.data import NodeData, Split, load_dataset
from agnn.methods import get_method
from agnn.runs import Run, evaluate

EPOCHS = 10


def random_graph(nodes: int, edges: int) -> NodeData:
    """Random edges, features around a centre per class; a tenth each for training and the rest."""
    source = np.random.default_rng(0)
    labels = source.integers(16, size=nodes)
    centres = source.standard_normal((16, 32)).astype(np.float32)
    every = np.arange(nodes)
    return NodeData.build(
        name=f"random-{edges}",
        features=centres[labels] + source.standard_normal((nodes, 32), dtype=np.float32),
        labels=labels,
        edges=source.integers(nodes, size=(2, edges)),
        class_names=[f"class {k}" for k in range(16)],
        splits={"fixed": Split("fixed", every[::10], every[1::10], every[2::10])},
    )


def trained(name: str, data: NodeData, ranks: int | None) -> Run:
    """A run of ten epochs; None for one ordinary process."""
    scaling = {"scaling": "none"} if data.name.startswith("random") else {}
    method = get_method(name)(epochs=EPOCHS, **scaling)
    divide = None if ranks is None else "rows"
    return evaluate(method, data, "fixed", (0, 1), ranks=ranks, divide=divide)


def same_bits(one: Run, other: Run) -> bool:
    """Whether two runs have the same weights, losses and scores."""
    weights, expected = one.model.state_dict(), other.model.state_dict()
    pairs = [(weights[key], expected[key]) for key in expected]
    names = ("training_loss", "watched_loss", "selected_epochs")
    pairs += [(getattr(one.history, key), getattr(other.history, key)) for key in names]
    return all(torch.equal(a, b) for a, b in [*pairs, (one.scores, other.scores)])


def main() -> None:
    """Print a JSON object per graph and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--datasets", nargs="*", default=["cora", "pubmed", "random"])
    parser.add_argument("--methods", nargs="*", default=["agnn", "gcn"])
    parser.add_argument("--nodes", type=int, default=100_000, help="of the random graph")
    parser.add_argument("--edges", type=int, default=1_000_000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    is_exact = True
    for dataset in given.datasets:
        is_random = dataset == "random"
        data = random_graph(given.nodes, given.edges) if is_random else load_dataset(dataset)
        for name in given.methods:
            whole = trained(name, data, None)
            found = [trained(name, data, ranks) for ranks in given.ranks]
            gaps = [
                (getattr(each.history, key) / getattr(whole.history, key) - 1).abs().max()
                for each in found
                for key in ("training_loss", "watched_loss")
            ]
            same = all(same_bits(each, found[0]) for each in found[1:])
            is_exact &= same
            line = {"data": data.name, "method": name, "ranks": given.ranks, "same bits": same}
            line["largest relative difference from one process"] = float(torch.stack(gaps).max())
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    sys.exit(not is_exact)


if __name__ == "__main__":
    main()
