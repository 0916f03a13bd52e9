"""Threads for compiled CPU code: as many as torch uses, work in fixed pieces.

Work runs in a parallel region of torch's own OpenMP threads (`regions.py`) or, where there is no
such runtime and in a forked process, in plain Python threads: the compiled functions release the
interpreter lock. How work is cut never changes a result: every piece writes its own rows.

States are read as one line of numbers per replica, rows of whole vectors. Small models spend their
time between the kernels. NumPy costs a fraction of torch for handling a small array, so torch
appears only at the two ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from numba import types
from numba.extending import overload
from numpy.typing import NDArray
from torch import Tensor

from agnn.kernels._cpu.simd import LANES, OPTIONS
from agnn.kernels._runtime.memory import LARGE, new_tensor
from agnn.kernels._runtime.regions import entry_points, run_in_region, specialise

U = np.uint64
# The least work that is shared, in elementary operations: an edge times a vector, some 7 ns each.
# A region costs a few microseconds, and then what one core wrote must travel to the other. Waking a
# sleeping Python thread and waiting for it costs some hundred microseconds on a virtual machine.
_WORTH_A_REGION = 30_000
_WORTH_A_POOL = 300_000


@lru_cache(maxsize=1)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # One a process: a fork inherits the pool but not its threads, and would wait for ever.
    return ThreadPoolExecutor(threads, thread_name_prefix=f"agnn-{process}")


def threads_for(cost: int) -> int:
    """How many threads share work of this many elementary operations: one, or all."""
    # All or one: OpenMP starts and ends threads whenever the size of a region changes.
    threads = torch.get_num_threads()
    if threads == 1:
        return 1
    _forks_use_one_thread()
    if cost < _WORTH_A_REGION:
        return 1
    return threads if cost >= _WORTH_A_POOL or entry_points() else 1


@cache
def _forks_use_one_thread() -> None:
    """Let torch use one thread in forks of this process.

    With several, its own operations would wait there for threads that were not inherited.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def pieces_of(replicas: int, cost: int) -> int:
    """Into how many pieces the rows of one replica are cut so that every thread has work."""
    threads = threads_for(cost)
    return 1 if replicas % threads == 0 or replicas >= 8 * threads else 8 * threads


def run_by_rows(
    function: Any,
    operands: tuple[Any, ...],
    replicas: int,
    rows: int,
    cost: int,
    *,
    pieces: int | None = None,
) -> None:
    """Call `function(operands, r, begin, end)` over all rows of every replica r.

    In threads where worth it. The rows of a replica are cut into `pieces`, by default as many as
    give every thread work. What a call allocates is its own.
    """
    count = pieces_of(replicas, cost) if pieces is None else pieces
    run_in_pieces(
        specialise(_by_row, function),
        (operands, rows, count),
        replicas * count,
        cost,
    )


def _by_row(operands: Any, rows: Any, pieces: Any, first: Any, last: Any) -> None:
    """Work units first..last; unit u is piece `u % pieces` of the rows of replica `u // pieces`."""
    for unit in range(first, last):
        piece = unit % pieces
        # Unsigned: numba would ask of every index whether it is below 0.
        begin = U(rows * piece // pieces)
        end = U(rows * (piece + 1) // pieces)
        FUNCTION(operands, unit // pieces, begin, end)  # type: ignore[name-defined]  # noqa: F821


def run_in_pieces(
    function: Callable[..., None], arguments: tuple[Any, ...], units: int, cost: int
) -> None:
    """Call `function(*arguments, first, last)` over all `units`, in threads where worth it."""
    threads = threads_for(cost) if units > 1 else 1
    if threads == 1:
        function(*arguments, 0, units)
    elif entries := entry_points():
        run_in_region(entries, function, arguments, units, threads)
    else:
        _run_in_pool(function, arguments, units, min(threads, units))


def _run_in_pool(
    function: Callable[..., None], arguments: tuple[Any, ...], units: int, threads: int
) -> None:
    bounds = [units * k // threads for k in range(threads + 1)]
    pool = _pool(torch.get_num_threads(), os.getpid())
    futures = [
        pool.submit(function, *arguments, bounds[k], bounds[k + 1]) for k in range(1, threads)
    ]
    function(*arguments, bounds[0], bounds[1])
    for future in futures:
        future.result()


def as_lines(h: Tensor) -> tuple[NDArray[Any], int]:
    """`h` [R, n, d] as [R, n * D] with D the next multiple of 16, zeros behind; and D."""
    array = h.numpy(force=True)
    replicas, n, width = array.shape
    surplus = -width % LANES
    if surplus:
        shape = (replicas, n, width + surplus)
        if replicas * n * width < LARGE:
            padded = np.zeros(shape, array.dtype)
        else:
            padded = new_tensor(*shape, dtype=h.dtype).zero_().numpy()
        padded[:, :, :width] = array
        array = padded
    return array.reshape(replicas, -1), width + surplus  # copies only what is not contiguous


def width_argument(d: int) -> int | None:
    """The padded width for compiled code that asks `width_of`: None for the common one, 16.

    Its type makes it a constant there, and only the form that is needed is compiled.
    """
    return None if d == LANES else d


def width_of(d: Any) -> Any:
    """The padded width that `width_argument` stands for."""
    return np.uint64(LANES if d is None else d)


@overload(width_of, jit_options=OPTIONS)  # type: ignore[untyped-decorator]
def _width_of(d: Any) -> Callable[[Any], Any]:
    return _common_width if d is types.none else _any_width


def _common_width(d: Any) -> Any:
    return np.uint64(LANES)


def _any_width(d: Any) -> Any:
    return np.uint64(d)


def new_lines(replicas: int, rows: int, d: int, dtype: torch.dtype) -> tuple[Tensor, NDArray[Any]]:
    """Unwritten states [R, rows, d] of whole vectors, and the same memory as lines [R, rows * d].

    Torch's memory starts at a cache line, NumPy's may not.
    """
    if replicas * rows * d < LARGE:  # as most of them are: the quickest way
        states = torch.empty(replicas, rows, d, dtype=dtype)
    else:
        states = new_tensor(replicas, rows, d, dtype=dtype)
    return states, states.numpy().reshape(replicas, -1)


def without_padding(states: Tensor, d: int) -> Tensor:
    """The first `d` columns of states of whole vectors; themselves if these are all."""
    return states if states.shape[2] == d else states[:, :, :d].contiguous()


def start_lines(bias: Tensor | None, replicas: int, d: int, like: NDArray[Any]) -> NDArray[Any]:
    """What a sum starts from: the bias [R, k], or zeros; [R, d]."""
    start = np.zeros((replicas, d), like.dtype)
    if bias is not None:
        start[:, : bias.shape[1]] = bias.detach().numpy()
    return start
