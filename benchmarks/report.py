"""Results as tables, on the terminal and in Markdown: pure functions of the JSON file's content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Column, Table

from benchmarks.others import QUIET

Cells = list[str]

_NONE = "-"

DUEL_HEADER = [
    "case",
    "graph",
    "threads",
    "agnn",
    "before",
    "before / now",
    "PyG",
    "ratio (10 to 90 %)",
    "must",
    "aim",
    "reached",
]
CEILING_HEADER = ["what", "figure", "before", "before / now", "must be below", "reached"]


def with_previous(results: dict[str, Any], previous: dict[str, Any] | None) -> dict[str, Any]:
    """The results with the committed figures of the same cases in their rows, as "before"."""
    if previous is None:
        return results
    old = {row["id"]: row.get("ours_ms") for row in previous["duels"]}
    old |= {row["id"]: row["value"] for row in previous["ceilings"]}
    marked = {
        kind: [row | {"before": old.get(row["id"])} for row in results[kind]]
        for kind in ("duels", "ceilings")
    }
    about = {"cpu": previous["machine"]["cpu"], "date": previous["date"]}
    return results | marked | {"previous": about}


def comparison(results: dict[str, Any]) -> str | None:
    """Which figures stand beside the new ones, and whether they are of the same processor."""
    previous = results.get("previous")
    if previous is None:
        return None
    cpu = results["machine"]["cpu"]
    words = f"Before: {previous['date'][:10]}, {previous['cpu']}; now: {cpu}."
    if previous["cpu"] != cpu:
        words += " Another processor: the ratios to PyG can be compared, times hardly."
    return words


def _before(row: dict[str, Any], now: float, words: Callable[[float], str]) -> Cells:
    """The committed figure, and how many times it is the new one."""
    old = row.get("before")
    return [_NONE, _NONE] if old is None else [words(old), f"{old / now:.2f}x"]


def duel_cells(row: dict[str, Any]) -> Cells:
    """A row of the comparisons."""
    start = [row["group"], row["graph"], str(row["threads"])]
    if "error" in row:
        return [*start, *[_NONE] * 3, f"did not run: {row['error']}", *[_NONE] * 4]
    low, high = row["ratio_10_90"]
    return [
        *start,
        _milliseconds(row["ours_ms"]),
        *_before(row, row["ours_ms"], _milliseconds),
        _milliseconds(row["peer_ms"]),
        f"{_times(row['ratio'])} ({_times(low)} to {_times(high)})",
        _NONE if row["must"] is None else f"{row['must']:g}x",
        _NONE if row["aim"] is None else f"{row['aim']:g}x",
        row["reached"] or _NONE,
    ]


def ceiling_cells(row: dict[str, Any]) -> Cells:
    """A row of our own figures."""
    unit, below = row["unit"], row["below"]
    return [
        row["what"],
        f"{row['value']:.2f} {unit}",
        *_before(row, row["value"], lambda value: f"{value:.2f} {unit}"),
        _NONE if below is None else f"{below:g} {unit}",
        {True: "yes", False: "no", None: _NONE}[row["reached"]],
    ]


def terminal(results: dict[str, Any]) -> list[Table]:
    """The tables that hold anything."""
    tables = []
    for header, rows in _tables(results):
        table = Table(*(Column(name, no_wrap=True) for name in header))
        for row in rows:
            table.add_row(*row, style="red" if row[-1] == "no" else None)
        tables.append(table)
    return tables


def disturbance(results: dict[str, Any]) -> str | None:
    """A warning where other programs ran during a comparison; None on a quiet machine."""
    most = max((row.get("others_cores", 0.0) for row in results["duels"]), default=0.0)
    if most < QUIET:
        return None
    return (
        f"The machine was not quiet: other programs kept up to {most:.1f} of its "
        f"{results['machine']['cores']} cores busy. What ran on several threads then says nothing "
        f"and is marked 'disturbed'."
    )


def markdown(results: dict[str, Any]) -> str:
    """The tables with what one needs to read them."""
    machine, software = results["machine"], results["versions"]
    parts = [
        f"{machine['cpu']}, {machine['cores']} cores; torch {software['torch']}, "
        f"torch_geometric {software['torch_geometric']}, numba {software['numba']}; "
        f"{results['date'][:10]}. Times are medians of {results['rounds']} rounds; the ratio is "
        f"the median of the rounds' own ratios, with its 10 to 90 % range. Made with "
        f"`python -m benchmarks`; the kernels' tests {results['tests']}."
    ]
    parts.append(comparison(results) or "")
    parts.append(disturbance(results) or "")
    for header, rows in _tables(results):
        lines = [header, ["---"] * len(header), *rows]
        parts.append("\n".join("| " + " | ".join(cells) + " |" for cells in lines))
    words = {row["group"]: row["what"] for row in results["duels"]}
    parts.append("\n".join(f"- {group}: {what}" for group, what in words.items()))
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(results: dict[str, Any]) -> list[tuple[Cells, list[Cells]]]:
    tables = [
        (DUEL_HEADER, [duel_cells(row) for row in results["duels"]]),
        (CEILING_HEADER, [ceiling_cells(row) for row in results["ceilings"]]),
    ]
    return [(header, rows) for header, rows in tables if rows]


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x"
