"""Memory born NaN: a kernel that forgets to write an entry cannot pass by luck."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def memory_born_nan() -> Iterator[None]:
    # In this mode torch.empty and its relatives are filled with NaN (the largest integer).
    was = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(was)
