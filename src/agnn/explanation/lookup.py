"""Values by key, where some keys may be missing."""

from __future__ import annotations

import torch
from torch import Tensor


def values_at(values: Tensor, keys: Tensor, wanted: Tensor, missing: float) -> Tensor:
    """The values of the `wanted` keys [k], `missing` for those that are not there; [R, k].

    `values` [R, f] belong to the distinct `keys` [f], in any order.
    """
    if not keys.numel():
        return values.new_full((values.shape[0], wanted.numel()), missing)
    ascending, order = torch.sort(keys)
    place = torch.searchsorted(ascending, wanted).clamp(max=keys.numel() - 1)
    is_there = ascending[place] == wanted
    return torch.where(is_there, values[:, order[place]], missing)
