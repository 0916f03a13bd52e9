"""Sums over neighbourhoods in ONNX: gather at the senders, add up at the receivers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agnn.onnx.draft import Draft


@dataclass(frozen=True)
class Neighbourhoods:
    """Every node's neighbours and the node itself, as the names of values in a draft.

    Nodes are the first axis: ScatterND then needs one index an edge, not one a number.
    """

    draft: Draft
    count: str  # [1] n
    receivers: str  # [m + n]
    senders: str  # [m + n]
    places: str  # [m + n, 1] the receivers, as ScatterND reads them

    @classmethod
    def of(cls, draft: Draft, features: str, edge_index: str) -> Neighbourhoods:
        """Those of `edge_index` [2, m]; self-loops in it are left out, each node gets one."""
        count = draft.op("Shape", features, start=0, end=1)
        zero, one = draft.array(np.array(0)), draft.array(np.array(1))
        own = draft.op("Range", zero, draft.op("Squeeze", count), one)
        i, j = (draft.op("Gather", edge_index, end, axis=0) for end in (zero, one))
        kept = draft.op("Not", draft.op("Equal", i, j))
        receivers, senders = (
            draft.op("Concat", draft.op("Compress", end, kept, axis=0), own, axis=0)
            for end in (i, j)
        )
        places = draft.op("Unsqueeze", receivers, draft.integers(1))
        return cls(draft, count, receivers, senders, places)

    def at_receivers(self, values: str) -> str:
        """[n, ...] -> [m + n, ...]."""
        return self.draft.op("Gather", values, self.receivers, axis=0)

    def at_senders(self, values: str) -> str:
        """[n, ...] -> [m + n, ...]."""
        return self.draft.op("Gather", values, self.senders, axis=0)

    def sums(self, values: str, *sizes: int) -> str:
        """What arrives at each receiver, added up; [m + n, *sizes] -> [n, *sizes]."""
        return self._reduced(values, sizes, 0.0, "add")

    def maxima(self, values: str, *sizes: int) -> str:
        """The largest of what arrives at each receiver; [m + n, *sizes] -> [n, *sizes]."""
        return self._reduced(values, sizes, float(np.finfo(np.float32).min), "max")

    def _reduced(self, values: str, sizes: tuple[int, ...], start: float, how: str) -> str:
        shape = self.draft.op("Concat", self.count, self.draft.integers(*sizes), axis=0)
        base = self.draft.op("Expand", self.draft.number(start), shape)
        return self.draft.op("ScatterND", base, self.places, values, reduction=how)
