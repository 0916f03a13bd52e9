"""Parallel regions of torch's own OpenMP threads around compiled functions.

torch's threads wait some milliseconds for the next piece of work before they sleep, so entering a
region costs about two microseconds; waking threads of our own would cost fifty, and threads of our
own that wait would compete with torch's for the cores. The runtime is the one that torch was linked
with: its entry point `GOMP_parallel` (GNU's, LLVM's and Intel's runtimes all have it) is looked up
behind torch's library.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from agnn.kernels._cpu.simd import jit
from agnn.kernels._runtime import VARIABLE, is_disabled

_IMPORTED_BY = os.getpid()
_FORKED = 0x40  # Linux's PF_FORKNOEXEC among the flags of a process
_LIBRARIES = {"linux": "libtorch_cpu.so", "darwin": "libtorch_cpu.dylib"}


def obstacle() -> str | None:
    """Why compiled CPU code cannot use torch's OpenMP threads here; None if it can."""
    entries = _entries(os.getpid())
    return entries if isinstance(entries, str) else None


def entry_points() -> tuple[int, int] | None:
    """The addresses of `GOMP_parallel` and `omp_get_thread_num`; None where not usable."""
    entries = _entries(os.getpid())
    return None if isinstance(entries, str) else entries


@lru_cache(maxsize=1)
def _entries(process: int) -> tuple[int, int] | str:
    if is_disabled("openmp"):
        return f"{VARIABLE} turns it off"
    # A fork inherits the runtime's book-keeping but not its threads: it would wait for ever.
    if process != _IMPORTED_BY or _is_fork():
        return "this process is a fork of another"
    name = _LIBRARIES.get(sys.platform)
    if name is None:
        return f"not supported on {sys.platform}"
    if "ATen parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return "this torch was built without OpenMP"
    try:
        # Looked up in torch's library, a symbol is found in what that was linked with.
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name))
        addresses = [
            ctypes.cast(function, ctypes.c_void_p).value
            for function in (library.GOMP_parallel, library.omp_get_thread_num)
        ]
    except (OSError, AttributeError) as error:
        return f"torch's OpenMP runtime was not found: {error}"
    return (addresses[0] or 0, addresses[1] or 0)


def _is_fork() -> bool:
    """Whether this process was forked and has not started a program of its own since."""
    try:
        status = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
        return bool(int(status.rpartition(")")[2].split()[6]) & _FORKED)
    except (OSError, ValueError, IndexError):  # another system; the process number tells there
        return False


@intrinsic  # type: ignore[untyped-decorator]
def _in_region(
    typing: Any,
    entries: Any,
    threads: Any,
    function: Any,
    arguments: Any,
    units: Any,
    counters: Any,
) -> Any:
    """Call `function(*arguments, first, last)` over all units in a region of OpenMP threads.

    Thread t starts with the t-th share of the units, a range at a time, so that rows stay in the
    cache of the core that wrote them; then it helps with the others' shares. `counters` [t, 8]
    are zeros: the next range of each share, a cache line apart.
    """
    number = types.int64
    called = typing.resolve_function_type(function, (*arguments.types, number, number), {})

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        addresses, count, _, packed, all_units, places = values
        overload = function.dispatcher.overloads[tuple(called.args)]
        context.add_linking_libs([overload.library])
        data = context.make_array(counters)(context, builder, places).data
        enter, thread_number = (builder.extract_value(addresses, k) for k in range(2))
        shared = (data, all_units, count, thread_number, _I32(0), packed)
        job = ir.LiteralStructType([value.type for value in shared])
        body = _body(context, builder.module, overload.fndesc, job)
        record = cgutils.alloca_once(builder, job)
        for index, value in enumerate(shared):
            builder.store(value, builder.gep(record, [_I32(0), _I32(index)]))
        kind = ir.FunctionType(ir.VoidType(), [body.type, _BYTES, _I32, _I32])
        region = builder.inttoptr(enter, kind.as_pointer())
        size = builder.trunc(count, _I32)
        builder.call(region, [body, builder.bitcast(record, _BYTES), size, _I32(0)])
        failed = builder.load(builder.gep(record, [_I32(0), _I32(_FAILED)]))
        with builder.if_then(builder.icmp_signed("!=", failed, _I32(0)), likely=False):
            # The compiled functions raise nothing else: no memory for their buffers.
            context.call_conv.return_user_exc(builder, MemoryError, ())
        return context.get_dummy_value()

    pair = types.UniTuple(number, 2)
    return types.void(pair, number, function, arguments, number, counters), generate


_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_FAILED = 4  # where a job says that a call failed
_LINE = 8  # numbers in a cache line
RANGES = 16  # of a share: enough to even out rows of unequal length


def _body(context: Any, module: Any, called: Any, job: Any) -> Any:
    """What every thread of a region runs, as a function of the address of what they share."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES])
    body = ir.Function(module, kind, module.get_unique_name("agnn_region"))
    body.linkage = "internal"
    start, share, take, work, done = (
        body.append_basic_block(name) for name in ("start", "share", "take", "work", "done")
    )
    builder = ir.IRBuilder(start)
    base = builder.bitcast(body.args[0], job.as_pointer())
    places = [builder.gep(base, [_I32(0), _I32(index)]) for index in range(len(job))]
    counters, units, threads, thread_number, _, packed = map(builder.load, places)
    arguments = [builder.extract_value(packed, k) for k in range(len(packed.type))]
    ask = builder.inttoptr(thread_number, ir.FunctionType(_I32, []).as_pointer())
    own = builder.sext(builder.call(ask, []), _I64)
    ranges = builder.mul(threads, _I64(RANGES))
    builder.branch(share)

    builder.position_at_end(share)
    passed = builder.phi(_I64)  # shares that this thread has seen the end of
    passed.add_incoming(_I64(0), start)
    place = builder.srem(builder.add(own, passed), threads)
    counter = builder.gep(counters, [builder.mul(place, _I64(_LINE))])
    more = builder.add(passed, _I64(1))
    builder.cbranch(builder.icmp_signed("<", passed, threads), take, done)

    builder.position_at_end(take)
    taken = builder.atomic_rmw("add", counter, _I64(1), "monotonic")
    passed.add_incoming(more, take)
    builder.cbranch(builder.icmp_signed("<", taken, _I64(RANGES)), work, share)

    builder.position_at_end(work)
    current = builder.add(builder.mul(place, _I64(RANGES)), taken)
    first, last = (
        builder.sdiv(builder.mul(units, boundary), ranges)
        for boundary in (current, builder.add(current, _I64(1)))
    )
    with builder.if_then(builder.icmp_signed("<", first, last)):
        function = context.declare_function(module, called)
        status, _ = context.call_conv.call_function(
            builder, function, called.restype, called.argtypes, [*arguments, first, last]
        )
        with builder.if_then(status.is_error, likely=False):
            builder.store(_I32(1), places[_FAILED])
    builder.branch(take)
    builder.position_at_end(done)
    builder.ret_void()
    return body


def _by_thread(entries: Any, threads: Any, units: Any, counters: Any, *arguments: Any) -> None:
    _in_region(entries, threads, FUNCTION, arguments, units, counters)  # type: ignore[name-defined]  # noqa: F821


@cache
def specialise(template: FunctionType, function: Any) -> Callable[..., None]:
    """Return `template` compiled for one `function`, which it calls FUNCTION.

    Compiled code is kept by file, line and name: here those of `function`, so that no two
    functions share an entry.
    """
    body = function.py_func
    name = f"{body.__name__}{template.__name__}"
    code = template.__code__.replace(
        co_filename=body.__code__.co_filename,
        co_firstlineno=body.__code__.co_firstlineno,
        co_name=name,
        co_qualname=name,
    )
    names = {**template.__globals__, "FUNCTION": function, "__name__": body.__module__}
    result: Callable[..., None] = jit(FunctionType(code, names, name))
    return result


def run_in_region(
    entries: tuple[int, int], function: Any, arguments: tuple[Any, ...], units: int, threads: int
) -> None:
    """Call `function(*arguments, first, last)` over all `units` in a region of `threads`."""
    counters = np.zeros((threads, _LINE), np.int64)
    specialise(_by_thread, function)(entries, threads, units, counters, *arguments)
