"""Two functions timed in turns, so that both see the same machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

Action = Callable[[], object]
Clock = Callable[[], float]

_FILL = 0.03  # seconds a burst lasts at least: far above the clock's and the scheduler's grain


@dataclass(frozen=True)
class Timing:
    """Seconds of ours and of the peer, round by round.

    Clock rates and neighbours change a machine's speed by a factor of two for seconds on end. The
    two figures of one round are adjacent in time, so their ratio holds where the figures do not.
    """

    ours: tuple[float, ...]
    peer: tuple[float, ...]

    @property
    def round_ratios(self) -> tuple[float, ...]:
        """How many times longer the peer took, in each round."""
        return tuple(peer / ours for ours, peer in zip(self.ours, self.peer, strict=True))

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: the figure that goals are held against."""
        return median(self.round_ratios)

    @property
    def ratio_of_medians(self) -> float:
        """The peer's median time over ours."""
        return median(self.peer) / median(self.ours)

    @property
    def ratio_range(self) -> tuple[float, float]:
        """The 10 % and the 90 % point of the rounds' ratios."""
        low, high = np.quantile(self.round_ratios, [0.1, 0.9])
        return float(low), float(high)


def compare(
    ours: Action,
    peer: Action,
    *,
    rounds: int,
    units: int = 1,
    fill: float = _FILL,
    clock: Clock = time.perf_counter,
) -> Timing:
    """Time a burst of `ours`, then one of `peer`, in each of `rounds` rounds, after a warm-up.

    A burst repeats its function until it lasts `fill` seconds. One call of `ours` does the work of
    `units` calls of `peer` and counts as that many.
    """
    repeats = [_repeats(action, fill, clock) for action in (ours, peer)]
    seen: list[tuple[float, float]] = []
    for _ in range(rounds):
        first = _burst(ours, repeats[0], clock) / (repeats[0] * units)
        seen.append((first, _burst(peer, repeats[1], clock) / repeats[1]))
    return Timing(*zip(*seen, strict=True))


def fastest(actions: Mapping[str, Action], *, rounds: int, clock: Clock = time.perf_counter) -> str:
    """The name of the action with the lowest median time, all timed in turns."""
    repeats = {name: _repeats(action, _FILL, clock) for name, action in actions.items()}
    seen: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            seen[name].append(_burst(action, repeats[name], clock) / repeats[name])
    return min(seen, key=lambda name: median(seen[name]))


def _repeats(action: Action, fill: float, clock: Clock) -> int:
    """How many calls last `fill` seconds; finding out is the warm-up."""
    action()  # whatever is compiled or cached on first use
    repeats = 1
    while (seconds := _burst(action, repeats, clock)) < fill:
        grown = math.ceil(repeats * fill / seconds) if seconds > 0 else 2 * repeats
        repeats = max(grown, repeats + 1)
    return repeats


def _burst(action: Action, repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        action()
    return clock() - start
