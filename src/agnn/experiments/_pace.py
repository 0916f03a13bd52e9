"""How far an execution is, and about how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agnn.data import SplitSpec
from agnn.experiments._plan import Work


@dataclass(frozen=True)
class Progress:
    """How far an execution is."""

    label: str  # what is running
    finished: int  # runs
    running: float  # how much of further runs is done
    total: int  # runs that were missing at the start
    seconds_left: float | None  # about; None before anything is known

    @property
    def done(self) -> float:
        """Runs finished, and the part of the running ones."""
        return self.finished + self.running


Tell = Callable[[Progress], None]


class Clock:
    """Turns steps into progress with the time left.

    A run's share of the work is guessed from its nodes, folds and epochs.
    """

    def __init__(self, tell: Tell, parts: Sequence[tuple[Work, int]]) -> None:
        self.tell, self.start = tell, time.monotonic()
        self.costs = {work.key: _cost(work) for work, _ in parts}
        self.left = {work.key: count for work, count in parts}
        self.total, self.done, self.done_cost = sum(self.left.values()), 0, 0.0

    def pass_over(self, work: Work, count: int) -> None:
        """These runs are finished, here or elsewhere."""
        self.done += count
        self.done_cost += count * self.costs[work.key]
        self.left[work.key] -= count
        self.tell_part(work, 0, 0.0)

    def drop(self, work: Work) -> None:
        """The rest of this work will not be done."""
        self.total -= self.left.pop(work.key)

    def tell_waiting(self, count: int) -> None:
        """Report that nothing is left but `count` runs of another process."""
        label = f"waiting for {count} runs of another process"
        self.tell(Progress(label, self.done, 0.0, self.total, None))

    def tell_part(self, work: Work, count: int, part: float) -> None:
        """Report that this part of `count` running ones is done."""
        running = part * count * self.costs[work.key]
        cost, spent = self.done_cost + running, time.monotonic() - self.start
        rest = sum(self.costs[key] * runs for key, runs in self.left.items()) - running
        left = None if cost == 0 else spent * rest / cost
        self.tell(Progress(work.label, self.done, part * count, self.total, left))


def _cost(work: Work) -> float:
    epochs = getattr(work.method, "epochs", 1000)
    return float(work.data.nodes * SplitSpec.parse(work.split).folds * epochs)


def duration(seconds: float) -> str:
    """A time as a person would state it.

    >>> duration(4.21), duration(45.2), duration(200), duration(40_000)
    ('4.2 s', '45 s', '3.3 min', '11 h')
    """
    number, unit = seconds, "s"
    if seconds >= 100:
        number, unit = (seconds / 60, "min") if seconds < 6000 else (seconds / 3600, "h")
    return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"
