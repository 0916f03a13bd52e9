"""These tests need a GPU; elsewhere they are skipped and say why."""

from __future__ import annotations

import pytest
import torch

from agnn.kernels import obstacle


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = obstacle("triton")
    if reason is None:
        return
    for item in items:
        if "/gpu/" in item.nodeid or item.nodeid.startswith("gpu/"):
            item.add_marker(pytest.mark.skip(reason=f"no GPU to test on: {reason}"))


@pytest.fixture(autouse=True)
def exact_products() -> None:
    """The reference multiplies in full single precision."""
    torch.backends.cuda.matmul.allow_tf32 = False
