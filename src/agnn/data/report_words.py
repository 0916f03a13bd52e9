"""The report on a dataset in words: name and words, one pair a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agnn.data.reading import counted

if TYPE_CHECKING:
    from agnn.data.reading import ColumnUse
    from agnn.data.report import DataReport

Line = tuple[str, str]
_COLUMNS: Final = 3  # named, of those that were taken alike
_CLASSES: Final = 10


def count_lines(report: DataReport) -> Iterator[Line]:
    """How much of what there is."""
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
    if report.homophily is not None:
        yield "same class", f"{100 * report.homophily:.0f} % of the edges between labelled nodes"
    for sizes, group in groupby(report.splits, key=lambda name: report.splits[name]):
        names = list(group)  # equal sizes in a row, as numbered splits have them
        parts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
        if len(names) == 1:
            yield f"split '{names[0]}'", parts
        else:
            yield f"{len(names)} splits", f"'{names[0]}' to '{names[-1]}', each {parts}"


def class_line(report: DataReport) -> Line:
    """The classes with the most labelled nodes."""
    classes = sorted(report.classes.items(), key=lambda each: -each[1])
    words = ", ".join(f"{name} {count:,}" for name, count in classes[:_CLASSES])
    more = f" and {len(classes) - _CLASSES} more" if len(classes) > _CLASSES else ""
    return "classes", words + more or "none"


def column_lines(report: DataReport) -> Iterator[Line]:
    """What was taken as what; nothing where the data was not read from somebody's columns."""
    uses: Sequence[ColumnUse] = report.reading.columns if report.reading else ()
    for (table, use, detail), group in groupby(
        uses, key=lambda each: (each.table, each.use, each.detail)
    ):
        names = [each.name for each in group]
        shown = ", ".join(repr(name) for name in names[:_COLUMNS])
        more = f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
        yield f"{table}: {use}", shown + more + (f": {detail}" if detail else "")


def odd_lines(report: DataReport) -> Iterator[Line]:
    """What may be a mistake, what was said while reading, and why nothing can be learned."""
    for oddity in report.oddities:
        examples = ", ".join(str(each) for each in oddity.examples)
        more = ", ..." if oddity.count > len(oddity.examples) else ""
        yield "look at", f"{oddity.what}: {oddity.count:,} ({examples}{more})"
    for note in report.reading.notes if report.reading else ():
        yield "note", note
    if report.obstacle is not None:
        yield "hopeless", report.obstacle
