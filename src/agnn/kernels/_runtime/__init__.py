"""What the kernels do beside computing, each with a switch: threads, compiled code, memory.

- `regions.py` ("openmp"): compiled code runs in torch's own OpenMP threads. Without it, in Python
  threads, which pay for long work only.
- `code_cache.py` ("code_cache"): compiled code is kept on disk. Without it, every process compiles
  what it calls.
- `memory.py` ("memory_pool"): trainings use the memory of large tensors again. Without it, torch
  allocates every tensor.

Each is for speed alone and reaches into what others may change: an OpenMP runtime's entry point,
numba's cache, the allocator. The environment variable AGNN_DISABLE, such as
`AGNN_DISABLE=openmp,memory_pool`, turns them off; results stay the same, bit for bit.
"""

from __future__ import annotations

import os
from typing import Final

from agnn.errors import InputError

VARIABLE: Final = "AGNN_DISABLE"
PARTS: Final = ("openmp", "code_cache", "memory_pool")


def is_disabled(part: str) -> bool:
    """Return whether the environment turns a part of the run time off."""
    value = os.environ.get(VARIABLE, "")
    names = {name.strip() for name in value.split(",") if name.strip()}
    if not names <= set(PARTS):
        raise InputError(f"{VARIABLE} takes some of {', '.join(PARTS)}; got '{value}'.")
    return part in names
