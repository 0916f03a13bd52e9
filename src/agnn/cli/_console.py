"""Where the program writes: results to standard output, all else to standard error.

Progress is a bar on a terminal, plain lines elsewhere, or nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from agnn.files import json_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table

    from agnn import studies, training
    from agnn.choosing import Tried
    from agnn.tables import ResultTable

_STYLES: Final = {"strong": "bold", "bad": "bold red", "warning": "yellow"}  # by kind of cell
# All but tab and line end; half of a character's code is none that can be written.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def escape(text: str) -> str:
    r"""Write control characters as \x1b and the like, so that a terminal shows them.

    Names in data may hold commands to the terminal: colours, titles, the clipboard.
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


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

    narrow = [k for k, column in enumerate(table.columns) if not column.is_wide]
    grid = Table(
        box=None,
        header_style="dim",
        show_header=any(table.titles),
        padding=(0, gap, 0, 0),
    )
    for k in narrow:
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
        cells = [Text(texts[k], style=_STYLES.get(kinds[k], "")) for k in narrow]
        grid.add_row(*cells, style="bold" if row.is_strong and not row.is_continued else None)
    return grid


def print_table(table: ResultTable, gap: int = 2) -> None:
    """Print a table of results below an empty line and its caption."""
    console = screen()
    console.print(f"\n{table.caption}", style="bold")
    console.print(rich_table(table, gap))


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


@contextmanager
def training_progress(label: str, *, is_quiet: bool) -> Iterator[training.Progress | None]:
    """What is called after every epoch."""
    from agnn import progress

    if is_quiet:
        yield None
        return
    with progress.training_progress(screen(is_error=True), label) as tell:
        yield tell


@contextmanager
def experiment_progress(*, is_quiet: bool) -> Iterator[Callable[[studies.Progress], None]]:
    """What is called while experiments run."""
    console = screen(is_error=True)
    if is_quiet:
        yield lambda _: None
    elif not console.is_terminal:
        yield _RunLines(console)
    else:
        with _bar(console) as show:

            def tell(progress: studies.Progress) -> None:
                show(progress.label, progress.done, progress.total, _run_words(progress))

            yield tell


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[str, float, int, str], None]]:
    """A bar that shows a label, how much is done of how much, and words at its end."""
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[words]}"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Preparing (the first run compiles)", total=None, words="")

        def show(label: str, done: float, total: int, words: str) -> None:
            bar.update(task, description=label, completed=done, total=total, words=words)

        yield show


class _RunLines:
    """A line when other runs begin and whenever some have been finished."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.label = ""
        self.done = -1

    def __call__(self, progress: studies.Progress) -> None:
        if (progress.label, progress.finished) == (self.label, self.done):
            return
        self.label = progress.label
        self.done = progress.finished
        self.console.print(f"{progress.label}: {_run_words(progress)}", soft_wrap=True)


def _run_words(progress: studies.Progress) -> str:
    """Runs done and to do, and about how long it will take."""
    from agnn.tables import duration

    counts = f"{progress.finished} of {progress.total} runs"
    if progress.seconds_left is None:
        return counts
    return f"{counts}, about {duration(progress.seconds_left)} left"


def trial_lines(metric: str | None) -> Callable[[int, int, float], None]:
    """What reports how far a search is, and the best score so far."""
    from agnn.metrics import MEASURES

    measure = MEASURES[metric or "accuracy"]

    def tell(done: int, total: int, best: float) -> None:
        value = measure.shown(-best if measure.is_loss else best) + measure.unit
        text = f"searched {done} of {total} settings; best validation {measure.title} {value}"
        screen(is_error=True).print(text, soft_wrap=True)

    return tell


def print_candidate(tried: Tried, seconds_left: float | None) -> None:
    """Report a candidate of the automatic choice: its score, and the time left if it is limited."""
    from agnn.progress import candidate_text

    screen(is_error=True).print(candidate_text(tried, seconds_left), soft_wrap=True)


def print_warning(message: str) -> None:
    """Print a warning as one line; also in the processes of --ranks, which find it by name."""
    screen(is_error=True).print(f"warning: {message}", soft_wrap=True, markup=False)
