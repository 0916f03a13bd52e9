"""Where the program writes: results to standard output, all else to standard error."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from agnn.files import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table

    from agnn.tables import ResultTable

_STYLES: Final = {"strong": "bold", "bad": "bold red", "warning": "yellow"}  # by kind of cell
# All but tab and line end; half of a character's code is none that can be written.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def escape(text: str) -> str:
    r"""Write control characters as \x1b and the like, so that a terminal shows them.

    Names in data may hold commands to the terminal: colours, titles, the clipboard.
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def screen(*, is_error: bool = False) -> Console:
    """Standard output, or standard error, for words and tables.

    Nothing in them is markup or a command to the terminal.
    """
    from rich.console import Console

    class Screen(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                is_text = segment.control is None  # else a command of rich itself
                yield segment._replace(text=escape(segment.text)) if is_text else segment

        def on_broken_pipe(self) -> None:  # rich would end the program with exit code 1
            drop_output()

    return Screen(stderr=is_error, markup=False, highlight=False, emoji=False)


def rich_table(table: ResultTable, gap: int = 2) -> Table:
    """Return a table of results as rich prints it, without the columns that only pages have.

    `gap` is the space between columns.
    """
    from rich.table import Table
    from rich.text import Text

    shown = [k for k, column in enumerate(table.columns) if not column.is_wide]
    grid = Table(
        box=None,
        header_style="dim",
        show_header=any(table.titles),
        padding=(0, gap, 0, 0),
    )
    for k in shown:
        column = table.columns[k]
        grid.add_column(
            table.titles[k],
            style="dim" if column.is_faint else "",
            justify="right" if column.is_number else "left",
            no_wrap=k == 0,
            overflow="ellipsis" if any(table.titles) else "fold",
        )
    for row in table.rows:
        texts = table.texts(row)
        kinds = [getattr(cell, "kind", "") for cell in row.cells]
        cells = [Text(texts[k], style=_STYLES.get(kinds[k], "")) for k in shown]
        grid.add_row(*cells, style="bold" if row.is_strong and not row.is_continued else None)
    return grid


def write_json(value: Any) -> None:
    """Write one JSON value and a line end to standard output."""
    try:
        sys.stdout.write(json_text(value))
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Write to nowhere from now on: the reader of a pipe, such as `head`, has seen enough."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
