"""A compared table on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from agnn.experiments import Comparison


def comparison_table(comparison: Comparison) -> Grid:
    """A line for the paper, one for ours and one for the verdicts in every row."""
    from rich.table import Table as Grid

    from agnn.report import row_lines

    table = comparison.table
    grid = Grid(
        box=None,
        header_style="dim",
        padding=(0, 2, 0, 0) if len(table.columns) < 6 else (0, 1, 0, 0),
    )
    for _ in ("row", "what a line holds"):
        grid.add_column(no_wrap=True)
    for column in table.columns:
        grid.add_column(column.title)
    for compared in comparison.rows:
        for k, line in enumerate(row_lines(compared, table.digits)):
            grid.add_row(compared.row.title if k == 0 else "", line.what, *line.cells)
    return grid
