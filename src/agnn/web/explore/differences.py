"""The nodes to which two runs give different answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation import OpenedRun

MOST: Final = 500  # that are listed: nobody walks through more


class Differences(NamedTuple):
    """Where the answers differ, the clearest first."""

    nodes: NDArray[np.int64]  # [k] at most MOST
    right: NDArray[np.int64]  # [k] which of the two is right: 0, 1, or -1 for neither or unknown
    total: int  # all of them


def differences(first: OpenedRun, second: OpenedRun) -> Differences:
    """The nodes whose most probable classes differ, the largest difference of probabilities first.

    The difference is the total variation, half the sum over classes. True labels are read, those
    of test nodes too: this looks back at runs that are finished.
    """
    one, two = first.probabilities, second.probabilities
    answers = np.stack([one.argmax(1), two.argmax(1)])
    nodes = np.flatnonzero(answers[0] != answers[1])
    variation = 0.5 * np.abs(one[nodes] - two[nodes]).sum(1)
    order = nodes[np.argsort(-variation, kind="stable")][:MOST]
    is_right = answers[:, order] == first.data.labels[order]
    right = np.where(is_right[0], 0, np.where(is_right[1], 1, -1))
    return Differences(order, right, nodes.size)
