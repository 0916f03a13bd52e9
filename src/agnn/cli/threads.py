"""How many threads the program computes with."""

from __future__ import annotations

from agnn.errors import InputError


def use_threads(count: int | None) -> None:
    """Compute with this many threads; None leaves torch's choice."""
    if count is None:
        return
    if not 1 <= count <= 1024:
        raise InputError(f"`threads` must be from 1 to 1024; got {count}.")
    import torch

    torch.set_num_threads(count)
