"""Vectors inside compiled code: four sums at once are those of each alone."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.kernels._cpu.simd import fence, jit, load, pick, store, total, totals

U = np.uint64


@jit
def sums(numbers, one_by_one, together, picked):
    """The sums of four runs of 16 numbers, and the first number of each."""
    rows = (load(numbers, U(0)), load(numbers, U(16)), load(numbers, U(32)), load(numbers, U(48)))
    for k in range(4):
        one_by_one[k] = total(rows[k])
    store(together, U(0), fence(totals(rows[0], rows[1], rows[2], rows[3])))
    store(picked, U(0), pick(numbers, U(0), U(16), U(32), U(48)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_four_sums_at_once_are_those_of_each_alone(dtype):
    numbers = np.random.default_rng(0).standard_normal(64).astype(dtype)
    one_by_one, together, picked = np.full((3, 4), np.nan, dtype)
    sums(numbers, one_by_one, together, picked)
    np.testing.assert_allclose(together, numbers.reshape(4, 16).sum(1), rtol=1e-5)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-5)
    assert picked.tolist() == numbers[::16].tolist()
