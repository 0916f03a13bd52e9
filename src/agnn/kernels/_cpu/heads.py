"""Several heads side by side in one row of states, for compiled CPU code.

Column f K + k of a row is feature f of head k. With K = 1, 2, 4, 8 or 16 every vector of 16 lanes
then has the heads in the same order, lane l belonging to head l mod K: one vector holds what an
edge has for all its heads, and it multiplies every vector of the row.
"""

from __future__ import annotations

from typing import Any

from agnn.kernels._cpu.simd import add, inlined, turned_1, turned_2, turned_4, turned_8


@inlined
def by_head(vector: Any, heads: Any) -> Any:
    """In every lane the sum of the lanes that belong to its head."""
    if heads <= 8:
        vector = add(vector, turned_8(vector))
    if heads <= 4:
        vector = add(vector, turned_4(vector))
    if heads <= 2:
        vector = add(vector, turned_2(vector))
    if heads <= 1:
        vector = add(vector, turned_1(vector))
    return vector
