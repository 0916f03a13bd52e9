"""The report on a dataset as a short table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from agnn.data import DataReport


def data_table(report: DataReport) -> Table:
    """What is in the data, what was taken as what, and what is odd."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    counts = (*report.count_lines(), report.class_line())
    for name, words in (*counts, *report.column_lines(), *report.warning_lines()):
        table.add_row(name, words)
    return table
