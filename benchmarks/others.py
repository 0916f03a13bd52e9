"""How much of the machine other programs took meanwhile: with it a reader can judge a figure."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Self

QUIET = 0.2  # cores that others may keep busy without harm


class Others:
    """Inside `with`: counts; afterwards `cores` is how many cores other programs kept busy.

    OpenMP, which the peer's threads run on, waits for its slowest thread after every operation. On
    a busy machine its times on two threads grow tenfold, and a ratio to them means nothing.
    """

    cores: float = 0.0

    def __enter__(self) -> Self:
        self.start = _marks()
        return self

    def __exit__(self, *_: object) -> None:
        busy, own, wall = (
            after - before for before, after in zip(self.start, _marks(), strict=True)
        )
        self.cores = max(0.0, (busy - own) / wall)


def _marks() -> tuple[float, float, float]:
    """Seconds that all cores were busy, that this process used, and that passed."""
    counts = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _waiting, *interrupts_and_stolen = map(int, counts)
    busy = user + nice + system + sum(interrupts_and_stolen)
    return busy / os.sysconf("SC_CLK_TCK"), time.process_time(), time.perf_counter()
