"""Nodes that one model gets right and another gets wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from agnn.errors import InputError
from agnn.graph import hop_rings

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import Split
    from agnn.runs import Run

MOST_DRAWN: Final = 60  # nodes in a picture; more cannot be told apart
DRAWABLE: Final = range(5, MOST_DRAWN + 1)  # fewer show nothing


def find_contrasts(
    right: Run,
    wrong: Run,
    split: Split,
    count: int,
    *,
    hops: int = 2,
    sizes: range = DRAWABLE,
) -> list[int]:
    """Up to `count` test nodes that most replicas of `right` know and most of `wrong` do not.

    First those with `sizes` nodes within `hops`. Among them the clearest first: by the share of
    replicas that know it under `right` plus the share that do not under `wrong`, then by how much
    more probable the true class is under `right`, then by index. Test labels are read: this looks
    back at models that are finished.
    """
    if right.data.fingerprint != wrong.data.fingerprint:
        raise InputError(
            f"both models must have the same data; got '{right.data.name}' and "
            f"'{wrong.data.name}' with other nodes, labels, edges or splits."
        )
    test = torch.tensor(split.test)
    labels = torch.tensor(right.data.labels)[test]
    knows, misses = _share_right(right, test, labels), 1 - _share_right(wrong, test, labels)
    gain = _true_probability(right, test, labels) - _true_probability(wrong, test, labels)
    found = ((knows > 0.5) & (misses > 0.5)).nonzero().squeeze(1).tolist()

    def order(k: int) -> tuple[bool, float, float, int]:
        node = int(test[k])
        size = sum(ring.numel() for ring in hop_rings(right.graph, test[k], hops))
        return size not in sizes, -float(knows[k] + misses[k]), -float(gain[k]), node

    return [int(test[k]) for k in sorted(found, key=order)[:count]]


def _share_right(run: Run, nodes: Tensor, labels: Tensor) -> Tensor:
    """The share of replicas whose answer is right; [k] float64."""
    return (run.scores[:, nodes].argmax(-1) == labels).double().mean(0)


def _true_probability(run: Run, nodes: Tensor, labels: Tensor) -> Tensor:
    """The probability of the true class, averaged over the replicas; [k] float64."""
    mean = run.scores[:, nodes].double().mean(0)
    return mean.gather(1, labels[:, None]).squeeze(1)
