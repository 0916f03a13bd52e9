"""Memory that is used again and again by the kernels stays with the process."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_MEBIBYTE = 2**20


def hold_freed_memory() -> bool:
    """Ask the C library to keep freed memory for the next step; whether it listened.

    Every step of many replicas frees and takes some tens of megabytes. glibc hands them back to
    the system each time and gets them as fresh pages, which then costs a third of an epoch. Other
    C libraries are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    settings = (
        (_MMAP_THRESHOLD, 32 * _MEBIBYTE),  # the most that glibc takes
        (_TRIM_THRESHOLD, 512 * _MEBIBYTE),
        (_TOP_PAD, 64 * _MEBIBYTE),
    )
    return all(mallopt(ctypes.c_int(name), ctypes.c_int(value)) for name, value in settings)
