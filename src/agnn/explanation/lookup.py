"""Values by key, where some keys may be missing."""

from __future__ import annotations

import torch
from torch import Tensor


class Lookup:
    """Where distinct keys [f], in any order, stand; sorted once for all questions."""

    def __init__(self, keys: Tensor) -> None:
        self._ascending, self._order = torch.sort(keys)

    def values(self, values: Tensor, wanted: Tensor, missing: float) -> Tensor:
        """The values of the `wanted` keys [k], `missing` where there is none; [R, k] float64.

        `values` [R, g] belong to the first g keys; those behind them have none.
        """
        if not values.shape[1]:
            return torch.full((values.shape[0], wanted.numel()), missing, dtype=torch.float64)
        last = self._ascending.numel() - 1
        near = torch.searchsorted(self._ascending, wanted).clamp(max=last)
        place = self._order[near]
        is_there = (self._ascending[near] == wanted) & (place < values.shape[1])
        found = values[:, torch.where(is_there, place, 0)].double()
        return torch.where(is_there, found, missing)
