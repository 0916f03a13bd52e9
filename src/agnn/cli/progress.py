"""A progress bar on standard error while a method trains."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from agnn.cli.console import screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from agnn.training import Progress

_TIMED: Final = 5  # epochs, or fewer that take _ENOUGH
_ENOUGH: Final = 2.0  # seconds
_WORTH_TELLING: Final = 5.0  # seconds


@contextmanager
def training_progress(label: str, *, is_quiet: bool) -> Iterator[Progress | None]:
    """What to tell after every epoch: a bar on a terminal, one plain line elsewhere, or nothing."""
    console = screen(is_error=True)
    if is_quiet:
        yield None
        return
    if not console.is_terminal:
        yield _Lines(console, label)
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[epochs]}"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        preparing = f"{label} (preparing; the first run compiles)"
        task = bar.add_task(preparing, total=None, epochs="")

        def tell(done: int, total: int) -> None:
            bar.update(
                task,
                description=label,
                completed=done,
                total=total,
                epochs=f"{done}/{total} epochs",
            )

        yield tell


class _Lines:
    """Plain lines: what starts, and after the first epochs how long it may take."""

    def __init__(self, console: Console, label: str) -> None:
        self.console, self.label = console, label
        self.start = 0.0
        self.has_told = False

    def __call__(self, done: int, total: int) -> None:
        """Tell that `done` of at most `total` epochs are done."""
        if done == 1:  # not before: a mistake in the input should be all that is said
            self.console.print(f"{self.label}, up to {total} epochs", soft_wrap=True)
            self.start = time.perf_counter()  # the first one also compiles
        elif not self.has_told:
            passed, timed = time.perf_counter() - self.start, done - 1
            if timed == _TIMED or passed >= _ENOUGH:
                self.has_told = True
                left = passed / timed * (total - done)
                if left >= _WORTH_TELLING:
                    self.console.print(f"up to {duration(left)} to go", soft_wrap=True)


def tell_trial(done: int, total: int, best: float) -> None:
    """Tell how far a search is, and what it has found."""
    words = f"searched {done} of {total} settings; best validation accuracy {best:.2f} %"
    screen(is_error=True).print(words, soft_wrap=True)


def duration(seconds: float) -> str:
    """A time in words, as roughly as it is known."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
