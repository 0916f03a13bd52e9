"""Hyper-parameters chosen on validation nodes, the same for every batch of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agnn.data import make_splits
from agnn.methods import Method, Task, Tuned
from agnn.runs import find_device

if TYPE_CHECKING:
    from agnn.experiments.plan import Work

_SEEDS: Final = (0, 1, 2)


def settled(work: Work, device: str, backend: str) -> tuple[Method, Method | None]:
    """What to run, and the candidate that was chosen for all runs of the work, if there is one.

    Where all seeds share a split, the choice is made by the first seeds whatever the batch: a
    tuned method left to itself would choose by the seeds that it is given. Where every seed has
    its own split, each makes its own choice.
    """
    if not isinstance(work.method, Tuned):
        return work.method, None
    seeds = work.seeds if len(work.seeds) == 1 else _SEEDS
    splits = make_splits(work.data, work.split, seeds)
    if len({id(split) for split in splits}) > 1 or len(splits) != len(seeds):
        return work.method, None
    chosen = work.method.choose(Task(work.data, splits, seeds, find_device(device), backend))
    return chosen, chosen
