"""Time and memory on a GPU."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median

import torch

DEVICE = "cuda"
GIB = 2**30


def clock() -> float:
    """Seconds, once the device has done what it was given."""
    torch.cuda.synchronize()
    return time.perf_counter()


def peak_memory(action: Callable[[], object]) -> int:
    """Bytes that a call takes at its peak, on top of what is there before."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    action()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def bandwidth() -> float:
    """Bytes a second that a copy of one GiB reads and writes."""
    source = torch.empty(2**28, device=DEVICE)
    target = torch.empty_like(source)
    seen = []
    for _ in range(10):
        start = clock()
        for _ in range(10):
            target.copy_(source)
        seen.append((clock() - start) / 10)
    return 2 * source.numel() * source.element_size() / median(seen[1:])
