"""The tables of docs/notes/faithfulness.md from measured values; prints those of given files.

python -m benchmarks.faithfulness_tables benchmarks/results/faithfulness.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

COUNTS = ("1", "2", "3", "5")
Results = dict[str, dict[str, Any]]


def own_edges(results: Results) -> str:
    """Falls without the node's own edges."""
    return _falls(results, "own", ("trial", "contribution", "attention", "chance"), "fall")


def own_answers(results: Results) -> str:
    """How often another class is the answer without the node's own edges."""
    return _falls(results, "own", ("trial", "contribution", "attention", "chance"), "changed")


def edges_around(results: Results) -> str:
    """Falls without edges anywhere in the receptive field."""
    return _falls(results, "around", ("attention", "chance"), "fall")


def beside_peer(results: Results, part: str) -> str:
    """Falls by attention and by GNNExplainer on the same nodes; `part` "own" or "around"."""
    orders = ("attention", "GNNExplainer", "chance")
    return _falls(results, f"peer {part}", orders, "fall")


def agreement(results: Results) -> str:
    """How far replicas attend alike, and how many neighbours hold an answer."""
    lines = [
        "| | agreement | n | predictions that some removal changes | neighbours to remove | share "
        "of the node's neighbours | proven smallest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        rank, changed = found["agreement"], found["counterfactuals"]
        size, share, some = changed["size"], changed["share_of_neighbours"], changed["n"]
        some -= changed["never"]
        lines.append(
            f"| {name} | {rank['mean']:.2f} ± {rank['standard_error']:.2f} | {rank['n']} | "
            f"{some} of {changed['n']} | {size['mean']:.1f} ± {size['standard_error']:.1f} | "
            f"{100 * share['mean']:.0f} % | {changed['smallest']} of {some} |"
        )
    return "\n".join(lines)


def _falls(results: Results, part: str, orders: tuple[str, ...], what: str) -> str:
    """A row an order; in percent, ± the standard error."""
    lines = ["| | order | " + " | ".join(f"k = {k}" for k in COUNTS) + " |"]
    lines.append("|---|---|" + "---|" * len(COUNTS))
    for name, found in results.items():
        if part not in found:
            continue
        values = found[part]
        for order in orders:
            cells = [_cell(values[order][what][k]) for k in COUNTS]
            lines.append(f"| {name} | {order} | " + " | ".join(cells) + " |")
        counts = [values[orders[0]][what][k] for k in COUNTS]
        numbers = ["" if each is None else str(each["n"]) for each in counts]
        lines.append(f"| {name} | n | " + " | ".join(numbers) + " |")
    return "\n".join(lines)


def _cell(record: dict[str, Any] | None) -> str:
    if record is None or record["standard_error"] is None:
        return ""
    mean = round(100 * record["mean"], 1) + 0.0  # no minus before a zero
    return f"{mean:.1f} ± {100 * record['standard_error']:.1f}"


def all_tables(results: Results) -> dict[str, str]:
    """Every table by name."""
    return {
        "own edges": own_edges(results),
        "own answers": own_answers(results),
        "edges around": edges_around(results),
        "peer own": beside_peer(results, "own"),
        "peer around": beside_peer(results, "around"),
        "agreement": agreement(results),
    }


if __name__ == "__main__":
    given = {}
    for path in sys.argv[1:]:
        for key, value in json.loads(Path(path).read_text(encoding="utf-8")).items():
            given[key] = given.get(key, {}) | value
    for title, text in all_tables(given).items():
        sys.stdout.write(f"{title}\n\n{text}\n\n")
