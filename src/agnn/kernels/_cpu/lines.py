"""States as compiled CPU code reads them: one line of numbers per replica, rows of whole vectors.

Small models spend their time between the kernels. NumPy costs a fraction of torch for handling a
small array, so torch appears here only at the two ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.kernels._cpu.simd import LANES


def as_lines(h: Tensor) -> tuple[NDArray[Any], int]:
    """`h` [R, n, d] as [R, n * D] with D the next multiple of 16, zeros behind; and D."""
    array = h.detach().numpy()
    replicas, n, width = array.shape
    surplus = -width % LANES
    if surplus:
        padded = np.zeros((replicas, n, width + surplus), array.dtype)
        padded[:, :, :width] = array
        array = padded
    return array.reshape(replicas, -1), width + surplus  # copies only what is not contiguous


def new_lines(replicas: int, rows: int, d: int, dtype: torch.dtype) -> Tensor:
    """Unwritten lines for `rows` rows; torch's memory starts at a cache line, NumPy's may not."""
    return torch.empty(replicas, rows * d, dtype=dtype)


def from_lines(lines: Tensor, rows: int, padded: int, d: int) -> Tensor:
    """The states [R, rows, d] out of lines of rows of `padded` numbers."""
    if padded == d:
        return lines.view(-1, rows, d)
    states = lines.numpy().reshape(-1, rows, padded)[:, :, :d]
    return torch.from_numpy(np.ascontiguousarray(states))


def start_lines(bias: Tensor | None, replicas: int, d: int, like: NDArray[Any]) -> NDArray[Any]:
    """What a sum starts from: the bias [R, k], or zeros; [R, d]."""
    start = np.zeros((replicas, d), like.dtype)
    if bias is not None:
        start[:, : bias.shape[1]] = bias.detach().numpy()
    return start
