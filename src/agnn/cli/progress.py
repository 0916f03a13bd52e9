"""A progress bar on standard error while a method trains."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from agnn.cli.console import screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from agnn.training import Progress


@contextmanager
def training_progress(label: str, *, is_quiet: bool) -> Iterator[Progress | None]:
    """What to tell after every epoch: a bar on a terminal, one plain line elsewhere, or nothing."""
    console = screen(is_error=True)
    if is_quiet:
        yield None
        return
    if not console.is_terminal:
        yield partial(_tell_once, console, label)
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


def _tell_once(console: Console, label: str, done: int, total: int) -> None:
    if done == 1:  # not before: a mistake in the input should be all that is said
        console.print(f"{label}, up to {total} epochs", soft_wrap=True)
