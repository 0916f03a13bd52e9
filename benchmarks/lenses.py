"""How often each lens of the explorer finds the neighbour whose removal matters most.

python -m benchmarks.lenses RUN [RUN ...] [--nodes 300]: test nodes with two neighbours or more are
drawn; every direct neighbour is removed alone. The one that matters most is the one without whose
edge the probability of the predicted class changes most, or falls most.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from agnn.explanation import Margin, Removal, explained_run, reach_of
from agnn.metrics import Summary
from agnn.runs import Run, load_run

ORDERS = ("contribution", "attention", "chance")


def hits(run: Run, node: int) -> dict[str, tuple[float, float]]:
    """Whether the first of each order is the neighbour that changes, and that supports, it most."""
    graph = run.graph
    beside = graph.columns[graph.offsets[node] : graph.offsets[node + 1]].numpy()
    effects = Removal(run, node).effects([(node, int(each)) for each in beside])
    reach = reach_of(explained_run(run), node)
    attended = dict(zip(reach.nodes.tolist(), reach.shares.mean(0).tolist(), strict=True))
    lead = Margin.of(run, node)
    added = dict(zip(lead.nodes.tolist(), lead.added.tolist(), strict=True))
    attention = np.array([attended[each] for each in beside.tolist()])
    contribution = np.array([added[each] for each in beside.tolist()])
    changes, supports = int(np.abs(effects).argmax()), int(effects.argmax())
    return {
        "contribution": (
            float(np.abs(contribution).argmax() == changes),
            float(contribution.argmax() == supports),
        ),
        "attention": (float(attention.argmax() == changes), float(attention.argmax() == supports)),
        "chance": (1 / beside.size, 1 / beside.size),
    }


def measured(run: Run, count: int, seed: int = 0) -> list[str]:
    """A row of a table for every order."""
    test = np.asarray(run.split.test)
    fitting = test[run.graph.degrees.numpy()[test] >= 2]
    drawn = np.random.default_rng(seed).permutation(fitting)[:count]
    found = [hits(run, int(node)) for node in drawn]
    rows = []
    for order in ORDERS:
        cells = [Summary([100 * each[order][k] for each in found]) for k in (0, 1)]
        words = " | ".join(f"{cell.mean:.0f} ± {cell.standard_error:.0f}" for cell in cells)
        rows.append(f"| {run.data.name} | {order} | {words} | {drawn.size} |")
    return rows


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--nodes", type=int, default=300)
    given = parser.parse_args(arguments)
    heads = "| | lens | changes it most, % | supports it most, % | nodes |"
    sys.stdout.write(f"{heads}\n|---|---|---|---|---|\n")
    for folder in given.runs:
        sys.stdout.write("\n".join(measured(load_run(folder), given.nodes)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
