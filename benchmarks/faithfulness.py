"""Is attention an explanation? Figures for docs/notes/faithfulness.md, of saved runs of AGNN.

agnn train cora --replicas 10 --out runs/cora
python -m benchmarks.faithfulness runs/cora --out faithfulness-cora.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agnn.explanation import Counterfactual, Removal
from agnn.metrics import Summary
from agnn.runs import Run, load_run
from benchmarks.edge_removal import (
    COUNTS,
    Falls,
    attended_edges,
    attention_agreement,
    chance_falls,
    contributing_edges,
    falls,
    order_by_trial,
    sampled_test_nodes,
    summaries,
)

Pairs = list[tuple[int, int]]


def main() -> None:
    """Measure the runs named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders that `agnn train --out` wrote")
    parser.add_argument("--nodes", type=int, default=300, help="test nodes whose edges are removed")
    parser.add_argument(
        "--peer-nodes", type=int, default=40, help="of them, those for GNNExplainer"
    )
    parser.add_argument("--changed-nodes", type=int, default=100, help="and for counterfactuals")
    parser.add_argument("--out", type=Path, help="a file for all values, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = {}
    for folder in chosen.runs:
        opened = load_run(folder)
        found[opened.data.name] = measured(
            opened, chosen.nodes, chosen.peer_nodes, chosen.changed_nodes
        )
        sys.stdout.write(table(opened.data.name, found[opened.data.name]) + "\n")
        sys.stdout.flush()
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(opened: Run, nodes: int, peer_nodes: int, changed_nodes: int) -> dict[str, Any]:
    """Everything for one run."""
    sample = sampled_test_nodes(opened, nodes)
    found: dict[str, Any] = {"agreement": attention_agreement(opened, sample).to_dict()}
    found["own"] = compared(opened, sample, is_own=True)
    found["around"] = compared(opened, sample, is_own=False)
    if find_spec("torch_geometric") and peer_nodes:
        found |= beside_peer(opened, sample[:peer_nodes])
    found["counterfactuals"] = counterfactuals(opened, sample[:changed_nodes])
    return found


def compared(opened: Run, sample: Sequence[int], *, is_own: bool) -> dict[str, Any]:
    """The falls by attention, by chance and, among a node's own edges, by trial."""
    source = np.random.default_rng(0)

    def of_node(node: int) -> dict[str, Falls]:
        removal, pool = Removal(opened, node), attended_edges(opened, node, is_own=is_own)
        answer = {
            "attention": falls(removal, pool),
            "chance": chance_falls(removal, pool, source),
        }
        if is_own:
            answer["contribution"] = falls(removal, contributing_edges(opened, node))
            answer["trial"] = falls(removal, order_by_trial(removal, pool))
        return answer

    return collected(sample, of_node)


def beside_peer(opened: Run, sample: Sequence[int]) -> dict[str, Any]:
    """Attention and GNNExplainer on the same nodes, for their own edges and for all around."""
    from benchmarks.peer_explainer import peer_order

    own: dict[int, dict[str, Falls]] = {}
    around: dict[int, dict[str, Falls]] = {}
    source = np.random.default_rng(1)
    for node in progress(sample):
        removal, order = Removal(opened, node), peer_order(opened, node)
        for is_own, answers in ((True, own), (False, around)):
            pool = attended_edges(opened, node, is_own=is_own)
            theirs = [pair for pair in order if pair in set(pool)]
            answers[node] = {
                "attention": falls(removal, pool),
                "GNNExplainer": falls(removal, theirs),
                "chance": chance_falls(removal, pool, source),
            }
    return {
        "peer own": collected(sample, own.__getitem__),
        "peer around": collected(sample, around.__getitem__),
    }


def collected(sample: Sequence[int], of_node: Callable[[int], dict[str, Falls]]) -> dict[str, Any]:
    """By order of edges: the falls, how often the answer changes, and by how much attention leads.

    Every k has the nodes that have more than k edges in the pool.
    """
    answers = [of_node(node) for node in progress(sample)]
    found: dict[str, Any] = {}
    for name in answers[0]:
        fall = [each[name].fall for each in answers]
        lead = [each["attention"].fall - each[name].fall for each in answers]
        found[name] = {
            "fall": as_records(summaries(fall)),
            "changed": as_records(summaries([each[name].is_changed for each in answers])),
            "behind attention": as_records(summaries(lead)),
        }
    return found


def counterfactuals(opened: Run, sample: Sequence[int]) -> dict[str, Any]:
    """How many neighbours must go before the answer changes."""
    sets = [Counterfactual.of(opened, node) for node in progress(sample)]
    sizes = [len(each.nodes) for each in sets if each is not None]
    degrees = opened.graph.degrees[torch.tensor(list(sample), dtype=torch.int64)].tolist()
    return {
        "n": len(sets),
        "never": sum(each is None for each in sets),
        "size": Summary(sizes).to_dict() if sizes else None,
        "share_of_neighbours": Summary(
            [len(each.nodes) / degree for each, degree in zip(sets, degrees, strict=True) if each]
        ).to_dict() if sizes else None,
        "smallest": sum(each.is_smallest for each in sets if each is not None),
        "trials": sum(each.trials for each in sets if each is not None),
    }  # fmt: skip


def as_records(values: Sequence[Summary | None]) -> dict[str, Any]:
    """By k, as JSON holds it."""
    return {
        str(k): None if each is None else each.to_dict()
        for k, each in zip(COUNTS, values, strict=True)
    }


def progress(sample: Sequence[int]) -> Any:
    """The nodes, with a line about the time now and then."""
    start = time.perf_counter()
    for k, node in enumerate(sample):
        yield node
        if (k + 1) % 25 == 0:
            sys.stderr.write(f"{k + 1} of {len(sample)}, {time.perf_counter() - start:.0f} s\n")


def table(name: str, found: dict[str, Any]) -> str:
    """The figures as Markdown: falls in percentage points, ± the standard error."""
    lines = [f"## {name}", "", "| edges | order | " + " | ".join(f"k = {k}" for k in COUNTS) + " |"]
    lines.append("|---|---|" + "---|" * len(COUNTS))
    for part in ("own", "around", "peer own", "peer around"):
        for order, values in found.get(part, {}).items():
            cells = [cell(values["fall"][str(k)]) for k in COUNTS]
            lines.append(f"| {part} | {order} | " + " | ".join(cells) + " |")
            if order != "attention":
                cells = [cell(values["behind attention"][str(k)]) for k in COUNTS]
                lines.append(f"| {part} | attention less {order} | " + " | ".join(cells) + " |")
    for part in ("own", "around", "peer own", "peer around"):
        for order, values in found.get(part, {}).items():
            cells = [cell(values["changed"][str(k)]) for k in COUNTS]
            lines.append(f"| {part}: answers changed | {order} | " + " | ".join(cells) + " |")
    agreement, changed = found["agreement"], found["counterfactuals"]
    lines += ["", f"agreement of replicas: {agreement['mean']:.3f} ± "
              f"{agreement['standard_error']:.3f} (n = {agreement['n']})"]  # fmt: skip
    if changed["size"] and changed["size"]["standard_error"] is not None:
        size, share = changed["size"], changed["share_of_neighbours"]
        lines.append(
            f"counterfactuals: {changed['n'] - changed['never']} of {changed['n']} nodes, "
            f"{size['mean']:.2f} ± {size['standard_error']:.2f} neighbours, "
            f"{100 * share['mean']:.0f} % of them; {changed['smallest']} proven smallest"
        )
    return "\n".join(lines) + "\n"


def cell(record: dict[str, Any] | None) -> str:
    """Mean ± standard error in percent, with n."""
    if record is None or record["standard_error"] is None:
        return ""
    mean, error = 100 * record["mean"], 100 * record["standard_error"]
    return f"{mean:.2f} ± {error:.2f} (n = {record['n']})"


if __name__ == "__main__":
    main()
