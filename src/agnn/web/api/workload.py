"""How much is computed at once: a few requests, a few more that wait, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agnn.web.api.problems import BusyError

Result = TypeVar("Result")


class Workload:
    """Runs functions in `threads` threads, away from the loop that answers the network."""

    def __init__(self, threads: int = 2, waiting: int = 30) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="agnn-serve")
        self._most = threads + waiting
        self.running = 0

    async def run(self, function: Callable[[], Result]) -> Result:
        """The function's result; a `BusyError` where too many wait already."""
        if self.running >= self._most:
            raise BusyError("the server is busy; ask again in a second.")
        self.running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function)
        finally:
            self.running -= 1
