"""How much of what reaches a target crosses each edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation import Neighbourhood


def crossings(shown: Neighbourhood) -> NDArray[np.float64]:
    """The part of the target's answer that goes from j to i in each layer; [R, l, e].

    In layer t it is (P(l)...P(t+1)) at i, the part of the new state that is used, times P(t)[i, j].
    Zero where a layer's row does not bear on the target.
    """
    receivers = shown.edges[0]
    used = np.zeros_like(shown.weights)
    used[:, 0] = 1.0  # after the last layer there is the target alone
    found = []
    for layer in reversed(shown.layers):
        found.append(used[:, receivers] * np.nan_to_num(layer.attention))
        used = layer.reach
    return np.stack(found[::-1], axis=1)
