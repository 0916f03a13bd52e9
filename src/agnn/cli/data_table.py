"""The report on a dataset as a short table for people."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from agnn.data.reading import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from agnn.data import DataReport
    from agnn.data.reading import ColumnUse

_SHOWN = 3


def data_table(report: DataReport) -> Table:
    """What is in the data, what was taken as what, and what is odd."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, words in (*_counts(report), *_columns(report), *_odd(report)):
        table.add_row(name, words)
    return table


def _counts(report: DataReport) -> Iterator[tuple[str, str]]:
    yield "nodes", f"{report.nodes:,}, all ids different"
    raw, dropped = report.raw_edge_entries, report.dropped_edges
    unknown = f", {dropped:,} to unknown ids" if dropped else ""
    yield (
        "edges",
        f"{report.edges:,} undirected, from {raw + dropped:,} entries ({report.duplicate_edges:,} "
        f"repeated, self-loops at {counted(report.self_loops, 'node')}{unknown})",
    )
    use = "rows made to sum to 1" if report.row_normalised else "used as they are"
    yield "features", f"{report.features:,}, {use}"
    known = report.nodes - report.unlabelled
    share = 100 * report.unlabelled / max(report.nodes, 1)
    yield "labelled", f"{known:,} nodes; {report.unlabelled:,} ({share:.0f} %) unlabelled"
    classes = sorted(report.classes.items(), key=lambda each: -each[1])
    words = ", ".join(f"{name} {count:,}" for name, count in classes[:10])
    if classes:
        yield "classes", words + (f" and {len(classes) - 10} more" if len(classes) > 10 else "")
    if report.homophily is not None:
        yield "same class", f"{100 * report.homophily:.0f} % of the edges between labelled nodes"
    for name, sizes in report.splits.items():
        parts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        yield f"split '{name}'", parts


def _columns(report: DataReport) -> Iterator[tuple[str, str]]:
    uses: Sequence[ColumnUse] = report.reading.columns if report.reading else ()
    for (table, use, detail), group in groupby(
        uses, key=lambda each: (each.table, each.use, each.detail)
    ):
        names = [each.name for each in group]
        shown = ", ".join(repr(name) for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        yield f"{table}: {use}", shown + more + (f": {detail}" if detail else "")


def _odd(report: DataReport) -> Iterator[tuple[str, str]]:
    for oddity in report.oddities:
        examples = ", ".join(str(each) for each in oddity.examples)
        more = ", ..." if oddity.count > len(oddity.examples) else ""
        yield "look at", f"{oddity.what}: {oddity.count:,} ({examples}{more})"
    for note in report.reading.notes if report.reading else ():
        yield "note", note
    if report.obstacle is not None:
        yield "hopeless", report.obstacle
