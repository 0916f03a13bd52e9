"""What is running, what is done and how long it will take, while experiments run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agnn.cli.console import screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from agnn.experiments import Progress

    Tell = Callable[[Progress], None]


@contextmanager
def experiment_progress(*, is_quiet: bool) -> Iterator[Tell]:
    """A bar on a terminal, plain lines elsewhere, or nothing."""
    console = screen(is_error=True)
    if is_quiet:
        yield lambda _: None
    elif not console.is_terminal:
        yield _Lines(console)
    else:
        with _bar(console) as tell:
            yield tell


@contextmanager
def _bar(console: Console) -> Iterator[Tell]:
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[counts]}"),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("preparing; the first run compiles", total=None, counts="")

        def tell(progress: Progress) -> None:
            bar.update(
                task, description=progress.label, completed=progress.done, total=progress.total,
                counts=words(progress),
            )  # fmt: skip

        yield tell


class _Lines:
    """A line when a new work begins and whenever runs have been finished."""

    def __init__(self, console: Console) -> None:
        self.console, self.label, self.done = console, "", -1

    def __call__(self, progress: Progress) -> None:
        if (progress.label, progress.finished) == (self.label, self.done):
            return
        self.label, self.done = progress.label, progress.finished
        self.console.print(f"{progress.label}: {words(progress)}", soft_wrap=True)


def words(progress: Progress) -> str:
    """Runs done and to do, and about how long it will take."""
    counts = f"{progress.finished} of {progress.total} runs"
    if progress.seconds_left is None:
        return counts
    return f"{counts}, about {_duration(progress.seconds_left)} left"


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    if minutes == 0:
        return f"{int(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
