"""Training a run's method again with more labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split, SplitSpec, with_labels
from agnn.errors import InputError
from agnn.metrics import NodeDifference, Summary
from agnn.runs._plan import Plan
from agnn.runs._result import trial_values
from agnn.runs._run import Run
from agnn.runs._training import Training
from agnn.training import Progress


def retrain(
    run: Run,
    labels: Mapping[int, int],
    *,
    device: str = "auto",
    backend: str = "auto",
    progress: Progress | None = None,
) -> Run:
    """The run's method with its settings and seeds, trained with further labels.

    `labels` has a class by node index. A node that is labelled here is a training node of every
    replica, also if it was a validation or test node; all others stay in their parts. With
    cross-fitting a label that is corrected stays in its fold.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("gcn", cora, split="fixed", replicas=1, changes={"epochs": 3})
    >>> again = retrain(run, {2000: 4})
    >>> again.split.train.size - run.split.train.size, int(again.data.labels[2000])
    (1, 4)
    """
    again = retrain_plan(run, labels, device=device, backend=backend).train(progress)
    assert again is not None  # noqa: S101 (in this process)
    return again


def retrain_plan(
    run: Run, labels: Mapping[int, int], *, device: str = "auto", backend: str = "auto"
) -> Plan:
    """Check everything that `retrain` needs, and return what it trains."""
    if not labels:
        raise InputError("there are no labels to train with.")
    data = with_labels(run.data, labels)
    nodes = np.array(sorted(labels), dtype=np.int64)
    if run.is_cross_fitted:
        # Labels are corrected where models contradict them. Without these nodes the test would be
        # too easy, and prediction sets would be calibrated on the nodes that the models get right.
        nodes = np.setdiff1d(nodes, np.concatenate([split.test for split in run.splits]))
    enlarged: dict[int, Split] = {}  # replicas that share a split go on sharing it
    splits = tuple(
        enlarged.setdefault(id(split), _with_training_nodes(split, nodes)) for split in run.splits
    )
    for split in splits:
        if not split.test.size:
            raise InputError("every test node has been labelled: none is left to score on.")
    return train_again(run, splits, run.seeds, data=data, device=device, backend=backend)


def train_again(
    run: Run,
    splits: tuple[Split, ...],
    seeds: Sequence[int],
    *,
    data: NodeData | None = None,
    device: str = "auto",
    backend: str = "auto",
) -> Plan:
    """Return the plan of a training like the run's, on other splits: one per replica, as `seeds`.

    `data` is the run's own, or has other labels.
    """
    return Training(
        data=run.data if data is None else data,
        method=run.method,
        split=run.split_spec,
        splits=splits,
        seeds=seeds,
        device=device,
        backend=backend,
        class_weight=run.class_weight,
        metric=run.metric,
    ).plan()


def accuracy_before_and_after(before: Run, after: Run) -> tuple[Summary, Summary]:
    """The accuracy of a run and of one retrained from it, both on the test nodes of the second.

    Neither was trained on the labels that judge it, so the two can be compared.
    """
    spec = SplitSpec.parse(after.split_spec)
    accuracy_before, accuracy_after = (
        Summary(trial_values("accuracy", run.scores, after.data, after.splits, spec, run.unusable))
        for run in (before, after)
    )
    return accuracy_before, accuracy_after


def accuracy_difference(before: Run, after: Run) -> NodeDifference | None:
    """How much more accurate a retrained run is than the first on the test nodes of the second.

    Paired by node, over the replicas that both can use; None if there are none.
    """
    usable = np.flatnonzero(~(before.unusable | after.unusable))
    splits = [after.splits[replica] for replica in usable]
    if not splits:
        return None
    return NodeDifference.between(
        "accuracy", after.scores[usable], before.scores[usable], after.data, splits
    )


def _with_training_nodes(split: Split, nodes: NDArray[np.int64]) -> Split:
    """Return the split with these nodes [k] for training."""
    return replace(
        split,
        train=np.union1d(split.train, nodes),
        validation=split.validation[~np.isin(split.validation, nodes)],
        test=split.test[~np.isin(split.test, nodes)],
    )
