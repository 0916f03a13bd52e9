"""Threads for compiled CPU code: as many as torch uses, work in fixed pieces.

The compiled functions release the interpreter lock, so plain threads are enough, and they do not
spin beside torch's own. How work is cut never changes a result: every piece writes its own rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import torch

# Waking a sleeping thread and waiting for it costs some hundred microseconds on a virtual machine.
# Below this many elementary operations a thread (an edge times a vector, about 7 ns each, so about
# a millisecond in all) one thread was done sooner: PubMed's step took 13 ms on two, 10 on one.
_WORTH_A_THREAD = 150_000


@lru_cache(maxsize=1)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # One a process: a fork inherits the pool but not its threads, and would wait for ever.
    return ThreadPoolExecutor(threads, thread_name_prefix=f"agnn-{process}")


def pieces_of(replicas: int, cost: int) -> int:
    """Into how many pieces the rows of one replica are cut so that every thread has work."""
    if cost < 2 * _WORTH_A_THREAD:
        return 1
    threads = torch.get_num_threads()
    return 1 if replicas % threads == 0 or replicas >= 8 * threads else 8 * threads


def run_in_pieces(
    function: Callable[..., None], arguments: tuple[Any, ...], units: int, cost: int
) -> None:
    """Call `function(*arguments, first, last)` over all `units`, in threads where worth it."""
    worth = cost // _WORTH_A_THREAD
    threads = min(torch.get_num_threads(), units, worth) if worth > 1 else 1
    if threads <= 1:
        function(*arguments, 0, units)
        return
    bounds = [units * k // threads for k in range(threads + 1)]
    pool = _pool(torch.get_num_threads(), os.getpid())
    others = [
        pool.submit(function, *arguments, bounds[k], bounds[k + 1]) for k in range(1, threads)
    ]
    function(*arguments, bounds[0], bounds[1])
    for other in others:
        other.result()
