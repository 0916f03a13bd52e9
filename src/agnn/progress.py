"""Progress of a training: a bar in a terminal, a line in a notebook cell, plain lines elsewhere.

`NodeClassifier.fit` and `agnn train` show it by themselves. With `evaluate`:

>>> import sys
>>> import agnn
>>> from agnn.progress import training_progress
>>> from rich.console import Console
>>> cora = agnn.load_dataset("cora")
>>> with training_progress(Console(file=sys.stdout), "Training") as progress:
...     run = agnn.evaluate("gcn", cora, replicas=2, changes={"epochs": 3}, progress=progress)
Training, up to 3 epochs
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final, Protocol

from agnn.choosing import Tried
from agnn.methods import get_method
from agnn.metrics import MEASURES
from agnn.tables import duration
from agnn.training import BestSoFar, Callback, EpochReport

if TYPE_CHECKING:
    from rich.console import Console


__all__ = ["EpochState", "TrainingProgress", "candidate_text", "training_progress"]

_TIMED: Final = 5  # epochs, or fewer that take _ENOUGH
_ENOUGH: Final = 2.0  # seconds
_WORTH_TELLING: Final = 5.0  # seconds
_READ_EVERY: Final = 0.1  # seconds: reading scores waits for the device
_FIRST_LINE: Final = 15.0  # seconds until the first plain line; the next takes twice as long
_LONGEST: Final = 240.0  # seconds between two plain lines
_CELL_EVERY: Final = 0.5  # seconds: every update of a cell is a message to the browser


@dataclass(frozen=True)
class EpochState:
    """How far a training is, and what it has reached."""

    label: str
    done: int  # epochs
    total: int  # at most
    seconds_per_epoch: float | None = None  # None until it is known
    best: BestSoFar | None = None
    metric: str = "accuracy"  # that the best score is of

    @property
    def position(self) -> str:
        """The epoch in words."""
        return f"epoch {self.done} of at most {self.total}"

    @property
    def details(self) -> str:
        """The best score so far, its epoch, and when the training will stop."""
        parts = []
        ends = self.total
        if self.best is not None:
            parts.append(f"best held-out {self._score} in epoch {self.best.epoch}")
            ends = self.best.ends
        if ends < self.total:
            parts.append(f"stops at epoch {ends} unless it improves{self._time_to(ends)}")
        latest = self._time_to(self.total)
        if latest:
            parts.append(f"at the latest at epoch {self.total}{latest}")
        return "; ".join(parts)

    def _time_to(self, epoch: int) -> str:
        if self.seconds_per_epoch is None or epoch <= self.done:
            return ""
        return f", in about {duration(self.seconds_per_epoch * (epoch - self.done))}"

    @property
    def _score(self) -> str:
        assert self.best is not None  # noqa: S101 (its one caller has seen to it)
        measure = MEASURES.get(self.metric)
        if measure is None:  # a rule that takes the accuracy or, with two classes, the AUC
            return f"score {self.best.score:.3f}"
        if measure.is_loss:
            return f"{measure.title} {-self.best.score:.3f}"
        return f"{measure.title} {100 * self.best.score:.1f}{measure.unit}"


class View(Protocol):
    """Where progress is shown."""

    def show(self, state: EpochState) -> None:
        """Show how far the training is."""

    def say(self, line: str) -> None:
        """Show a line about what is done before the training."""


@dataclass
class TrainingProgress(Callback):
    """What `evaluate(progress=...)` is given: it is called with the epochs done and in all.

    As a callback it also hears of the scores. In the processes of several ranks it does not, and
    shows the epochs alone.
    """

    view: View
    label: str = ""  # by default the method and the data
    _best: BestSoFar | None = field(default=None, init=False)
    _metric: str = field(default="accuracy", init=False)
    _start: float = field(default=0.0, init=False)
    _before: int = field(default=-1, init=False)  # epochs that were done at `_start`
    _read: float = field(default=float("-inf"), init=False)  # when scores were last read

    def start(self, about: Mapping[str, Any]) -> None:
        """Take the label from the method and the data, unless it has one."""
        if not self.label:
            self.label = f"Training {get_method(about['method']).title} on {about['dataset']}"

    def tried(self, tried: Tried, left: float | None) -> None:
        """Show a candidate of the automatic choice."""
        self.view.say(candidate_text(tried, left))

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of at most `total` epochs are done."""
        if done == 0:  # settings are being tried
            return
        now = time.perf_counter()
        if self._before < 0:
            # The first epoch also compiles; a training that is continued has some behind it.
            self._start = now
            self._before = done
        self.view.show(
            EpochState(self.label, done, total, self._pace(done, now), self._best, self._metric)
        )

    def epoch(self, report: EpochReport) -> None:
        """Take note of the best score so far."""
        now = time.perf_counter()
        if now - self._read >= _READ_EVERY:
            self._read = now
            self._best = report.best()
            self._metric = report.metric

    def _pace(self, done: int, now: float) -> float | None:
        """Return the seconds per epoch, once some have been timed."""
        timed = done - self._before
        passed = now - self._start
        return passed / timed if timed >= _TIMED or (timed and passed >= _ENOUGH) else None


def candidate_text(tried: Tried, seconds_left: float | None) -> str:
    """Return a line on a candidate of the automatic choice and the time left, if it is limited."""
    result = tried.remark
    if tried.scores:
        result = f"{tried.result}, the mean over {len(tried.scores)} sets of held-out labels"
    line = f"tried {tried.words}: {result}"
    return line if seconds_left is None else f"{line}; {duration(seconds_left)} left to choose"


@contextmanager
def training_progress(console: Console, label: str = "") -> Iterator[TrainingProgress]:
    """Show the progress of a training on a console, as suits what is behind it."""
    with ExitStack() as views:
        view: View
        if console.is_jupyter:
            view = views.enter_context(_notebook_cell())
        elif console.is_terminal:
            view = views.enter_context(_bar(console))
        else:
            view = _Lines(console)
        yield TrainingProgress(view, label)


@contextmanager
def _bar(console: Console) -> Iterator[View]:
    """A bar with the epoch at its end and a line with the scores below."""
    from rich import progress as bars
    from rich.console import RenderableType
    from rich.text import Text

    class Bar(bars.Progress):
        details = ""

        def get_renderables(self) -> Iterator[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            if self.details:
                yield Text(self.details, style="dim")

        def show(self, state: EpochState) -> None:
            self.details = state.details
            self.update(
                task,
                description=state.label,
                completed=state.done,
                total=state.total,
                position=state.position,
            )

        def say(self, line: str) -> None:
            self.console.print(line, soft_wrap=True, markup=False)

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[position]}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Preparing (the first run compiles)", total=None, position="")
        yield bar


class _Lines:
    """Plain lines: what starts, how long it may take, and now and then what it has reached."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.is_started = False
        self.is_timed = False
        self.wait = _FIRST_LINE
        self.next = 0.0  # when the next line is due

    def show(self, state: EpochState) -> None:
        now = time.perf_counter()
        if not self.is_started:  # not before: a mistake in the input should be all that is printed
            self.is_started = True
            self.next = now + self.wait
            self.say(f"{state.label}, up to {state.total} epochs")
        elif not self.is_timed and state.seconds_per_epoch is not None:
            self.is_timed = True
            seconds_left = state.seconds_per_epoch * (state.total - state.done)
            if seconds_left >= _WORTH_TELLING:
                self.say(f"up to {duration(seconds_left)} to go")
        elif now >= self.next:
            self.wait = min(2 * self.wait, _LONGEST)
            self.next = now + self.wait
            self.say(f"{state.position}; {state.details}" if state.details else state.position)

    def say(self, line: str) -> None:
        self.console.print(line, soft_wrap=True, markup=False)


class _Cell:
    """The output of a notebook cell, which is replaced as the training goes on."""

    def __init__(self) -> None:
        from IPython.display import display

        self.lines: list[str] = []
        self.state: EpochState | None = None
        self.shown = float("-inf")
        self.handle = display(self, display_id=True)

    def show(self, state: EpochState) -> None:
        self.state = state
        self.update()

    def say(self, line: str) -> None:
        self.lines.append(line)
        self.update()

    def update(self, *, at_once: bool = False) -> None:
        """Show the latest state, unless the last one is very recent."""
        now = time.perf_counter()
        if at_once or now - self.shown >= _CELL_EVERY:
            self.shown = now
            self.handle.update(self)

    def __repr__(self) -> str:
        return "\n".join(self._text())

    def _repr_html_(self) -> str:
        bar = ""
        if self.state is not None:
            bar = f'<progress value="{self.state.done}" max="{self.state.total}"></progress> '
        *before, last = (escape(line) for line in self._text())
        return f"<div>{''.join(f'{line}<br>' for line in before)}{bar}{last}</div>"

    def _text(self) -> list[str]:
        if self.state is None:
            return self.lines or ["Preparing (the first run compiles)"]
        state = self.state
        last = f"{state.label}: {state.position}"
        return [*self.lines, f"{last}; {state.details}" if state.details else last]


@contextmanager
def _notebook_cell() -> Iterator[View]:
    cell = _Cell()
    try:
        yield cell
    finally:
        cell.update(at_once=True)
