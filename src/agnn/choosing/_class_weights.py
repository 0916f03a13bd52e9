"""Class weights: how much a training node counts, by its class; and what to say of rare ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.errors import InputError, unknown_name
from agnn.methods import Method, get_method, method_names
from agnn.metrics import MEASURES

ClassWeight = Literal["balanced"] | Mapping[str, float] | None
_RARE: Final = 0.05  # share of the labelled nodes below which a class is rare


def class_weights(
    class_weight: ClassWeight, method: Method, data: NodeData, splits: Sequence[Split]
) -> NDArray[np.float64] | None:
    """The class weights [R, c] of every replica; None if all nodes count the same.

    "balanced" gives every class of a replica's training nodes the same total; a mapping gives
    the weight by class name, and 1 for the other classes.
    """
    if class_weight is None:
        return None
    if not method.takes_class_weights:
        able = [name for name in method_names() if get_method(name).takes_class_weights]
        raise InputError(f"{method.name} does not take class weights; {', '.join(able)} do.")
    if isinstance(class_weight, Mapping):
        return np.tile(_weights_by_name(class_weight, data.class_names), (len(splits), 1))
    if class_weight != "balanced":
        raise InputError(f"`class_weight` must be 'balanced' or a mapping; got {class_weight!r}.")
    counts = [np.bincount(data.labels[split.train], minlength=data.classes) for split in splits]
    return np.stack([count.sum() / np.maximum(count, 1) for count in counts])


def _weights_by_name(
    by_name: Mapping[str, float], class_names: Sequence[str]
) -> NDArray[np.float64]:
    weights = np.ones(len(class_names))
    for name, weight in by_name.items():
        if name not in class_names:
            raise unknown_name("class in `class_weight`", str(name), class_names)
        if not (math.isfinite(weight) and weight > 0):
            raise InputError(f"the weight of class '{name}' must be above 0; got {weight}.")
        weights[class_names.index(name)] = weight
    return weights


def fitting_metric(data: NodeData) -> str:
    """The metric to judge by if none is asked for: accuracy, unless a class is rare."""
    if not _rare_classes(data).size:
        return "accuracy"
    return "auc" if data.classes == 2 else "balanced_accuracy"


def rare_class_warning(data: NodeData) -> str | None:
    """Which class is rare and which metric is better than accuracy; None if no class is rare."""
    rare = _rare_classes(data)
    if not rare.size:
        return None
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes)
    least = rare[counts[rare].argmin()]
    more = "" if rare.size == 1 else f" ({rare.size} classes are rare)"
    name = fitting_metric(data)
    return (
        f"Class '{data.class_names[least]}' has {100 * counts[least] / counts.sum():.1f} % of the "
        f"labelled nodes{more}, so accuracy says little about it. Judge by "
        f'{MEASURES[name].title}: `--metric {name}` (`metric="{name}"`) chooses by it.'
    )


def _rare_classes(data: NodeData) -> NDArray[np.int64]:
    """The classes that under 5 % of the labelled nodes have.

    With more than ten classes one is rare only if it also has less than half of an equal share.
    """
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes)
    limit = min(_RARE, 0.5 / max(data.classes, 1))
    return np.flatnonzero((counts > 0) & (counts / max(counts.sum(), 1) < limit))
