"""The C library's allocator: settings for processes that are ours, and memory handed back."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_MEBIBYTE: Final = 2**20
_SETTINGS: Final = {  # the numbers are those of glibc's malloc.h
    -3: 32 * _MEBIBYTE,  # M_MMAP_THRESHOLD, at the most that glibc takes
    -1: 512 * _MEBIBYTE,  # M_TRIM_THRESHOLD
    -2: 64 * _MEBIBYTE,  # M_TOP_PAD
}
_is_ours = False  # whether this process is the program `agnn` or a worker of it


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed memory for the next training step; whether it agreed.

    Every step of many replicas frees and takes tens of megabytes. By default glibc returns them
    to the system each time and gets them back as fresh pages, which costs up to a fifth of an
    epoch (docs/kernels.md, "Memory"). Other C libraries are left as they are.
    """
    global _is_ours
    _is_ours = True
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return all(
        mallopt(ctypes.c_int(name), ctypes.c_int(value)) for name, value in _SETTINGS.items()
    )


def return_freed_memory() -> bool:
    """Ask glibc to hand all freed memory back to the system; whether it could.

    It keeps freed blocks that others in use lie behind, which after many steps of changing sizes is
    more than one step needs. Only in a process that `keep_freed_memory` has made ours: the memory
    of a program that calls this package is its own affair.
    """
    if not _is_ours:
        return False
    if "pyarrow" in sys.modules:  # its own pool keeps them, too
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    return bool(trim(ctypes.c_size_t(0)))
