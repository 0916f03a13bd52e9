"""The default method, unless labels that were held out clearly prefer another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final

import numpy as np

from agnn.choosing._choice import Choice, Tried
from agnn.choosing._class_weights import ClassWeight, class_weights, fitting_metric
from agnn.choosing._halving import OnTried, inner_split, without_other_labels
from agnn.choosing._scores import candidate_scores, held_out_scores
from agnn.errors import AgnnError
from agnn.methods import Method, NetworkMethod, Task
from agnn.metrics import MEASURES, wilson_interval

# What may be better than the default where edges join unlike nodes: AGNN, which has less to fit,
# blocks that keep a node's own state apart, and methods that weigh the neighbours less.
CHALLENGERS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("ridge", {}),
    ("agnn", {}),
    ("appnp", {}),
    ("separated", {"layers": 5}),
    ("separated", {"layers": 5, "dropout": 0.5, "weight_decay": 5e-3, "scaling": "length"}),
)
MARGIN: Final = 3.0  # points by which another method must be better
_ERRORS: Final = 1.0  # and this many standard errors of its lead
_ALIKE: Final = 0.4  # adjusted homophily from which nothing is compared
_INNER_SPLITS: Final = 5
# Enough to see differences of the margin's size; the chosen method is trained with its own.
_EPOCHS: Final = 100
_EPOCHS_IF_SMALL: Final = 300
_SMALL: Final = 20_000  # nodes and edges together
_WIDTH: Final = 32
_LABELS: Final = 30  # fewer show no lead beyond its standard error
_MOST_LINES: Final = 300_000  # nodes and edges that are compared within minutes on two cores
_GPU_LINES: Final = 50  # times as many


def can_challenge(task: Task) -> bool:
    """Return whether the labels and the size of a graph allow the comparison of `challenge`."""
    split = task.splits[0]
    lines = task.data.nodes + task.data.edges.shape[1]
    limit = _MOST_LINES * (1 if task.device == "cpu" else _GPU_LINES)
    has_labels = split.validation.size > 1 and split.train.size + split.validation.size >= _LABELS
    return has_labels and task.data.feature_count > 0 and lines <= limit


def has_like_neighbours(task: Task) -> bool:
    """Return whether the known labels say clearly that edges join nodes of one class.

    Adjusted homophily is 0 where both ends of an edge are drawn by degree and 1 where all edges
    are within classes. It must be at least 0.4 at the lower end of its 95 % interval, which a few
    edges between labelled nodes do not reach.
    """
    ends = without_other_labels(task.data, task.splits[0]).edge_labels
    if not ends.size:
        return False
    shares = np.bincount(ends.ravel()) / ends.size
    chance = float((shares**2).sum())
    within = int((ends[0] == ends[1]).sum())
    lowest = wilson_interval(within, ends.shape[1]).low
    return lowest - chance >= _ALIKE * (1.0 - chance)


def challenge(
    default: Method,
    prepare: Callable[[str, Mapping[str, Any]], Method],
    task: Task,
    class_weight: ClassWeight = None,
    on_tried: OnTried | None = None,
) -> Choice:
    """Compare the default method with a few others on held-out labels, and choose one.

    `task` has one split and one seed. Its training and validation nodes are divided anew, five
    times, into nodes to train on, nodes that choose the epoch and nodes that score; no other label
    is read. Networks are tried with few epochs and small widths. Another method replaces the
    default if its lead is at least three points and more than its standard error: the default is
    the best on average, and the labels are few. One without a network, which can predict no new
    nodes, must have that lead over the best network, too.
    """
    start = time.monotonic()
    metrics = _metrics(task, class_weight)
    visible = without_other_labels(task.data, task.splits[0])
    splits = tuple(
        inner_split(visible, task.splits[0], task.seeds[0] + k) for k in range(_INNER_SPLITS)
    )
    seeds = tuple(task.seeds[0] + k for k in range(_INNER_SPLITS))
    trial = replace(task, data=visible, splits=splits, seeds=seeds, metric=metrics[0], passes=())
    candidates = [Tried(default, {})]
    for name, changes in CHALLENGERS:
        method = prepare(name, changes)
        if class_weight is None or method.takes_class_weights:
            candidates.append(Tried(method, changes))
    scores = []
    for candidate in candidates:
        scores.append(_try(candidate, trial, metrics, class_weight))
        if on_tried is not None:
            on_tried(candidate, None)
    choice = Choice(
        metric=metrics[0],
        tried=tuple(candidates),
        seconds=0.0,
        nodes=task.splits[0].train.size + task.splits[0].validation.size,
        scoring=splits[0].test.size,
        method=default,
        default=default.title,
    )
    for metric in metrics:
        for candidate, by_metric in zip(candidates, scores, strict=True):
            candidate.scores = by_metric.get(metric, [])
        choice = _with_winner_first(replace(choice, metric=metric, tried=tuple(candidates)))
        if choice.winner is not candidates[0]:
            # With the settings that suit the data: what was tried is a small form of it.
            choice = replace(choice, method=prepare(choice.winner.method.name, {}))
            break
    return replace(choice, seconds=time.monotonic() - start)


def leave_out(method: Method, task: Task) -> tuple[Method, str]:
    """Return the method without what few labels may not carry, if held-out labels say so, and why.

    The default has a part that learns from unlabelled nodes. With few labels it can spread an
    early mistake over the whole graph, or add several points: it depends on the labels. Both
    forms are tried, small, on the folds of the task; the lower log loss wins. It sees what
    accuracies of a few dozen labels do not.
    """
    forms = (method, method.simplified)
    losses = [
        -fmean(candidate_scores(small_form(form, _EPOCHS_IF_SMALL), task, "log_loss"))
        for form in forms
    ]
    best = int(losses[1] < losses[0])
    settings = " and with ".join(form.settings_text(method.reduction) for form in forms)
    remark = (
        f"Labels are few, so {method.title} was tried on held-out labels with {settings}: log loss "
        f"{losses[0]:.3f} and {losses[1]:.3f}. The {('first', 'second')[best]} is trained."
    )
    return forms[best], remark


def _with_winner_first(choice: Choice) -> Choice:
    """Return a choice whose default is first with the winner there, then what it had to beat."""
    default = choice.tried[0]
    ranked = sorted(choice.tried, key=lambda tried: (bool(tried.remark), -tried.mean))
    winner = default
    networks = [tried for tried in ranked if isinstance(tried.method, NetworkMethod)]
    for tried in (*networks[:1], *ranked[:1]):
        if _is_ahead(replace(choice, tried=(tried, winner))):
            winner = tried
    others = [tried for tried in ranked if tried is not winner]
    if winner is not default:  # the comparison that counts comes second
        others.sort(key=lambda tried: tried is not default)
    return replace(choice, tried=(winner, *others))


def _is_ahead(choice: Choice) -> bool:
    """Return whether the first candidate is clearly better than the second."""
    lead = choice.lead
    if choice.winner is choice.tried[1] or choice.winner.remark or lead is None:
        return bool(choice.tried[1].remark) and not choice.winner.remark
    return lead.mean >= max(MARGIN, _ERRORS * (choice.lead_error or 0.0))


def _metrics(task: Task, class_weight: ClassWeight) -> tuple[str, ...]:
    """Return what the methods are compared by, in percent for the margin, one after the other.

    The area under the curve does not see where a model ranks two classes well and decides badly.
    Accuracy does not see what class weights are for.
    """
    if task.metric is not None and MEASURES[task.metric].unit:
        return (task.metric,)
    if task.data.classes > 2:
        return (fitting_metric(task.data),)
    return ("auc", "accuracy" if class_weight is None else "balanced_accuracy")


def _try(
    candidate: Tried, task: Task, metrics: Sequence[str], class_weight: ClassWeight
) -> dict[str, list[float]]:
    """Train a small form of the candidate; return its scores, or keep why there are none."""
    begun = time.monotonic()
    lines = task.data.nodes + task.data.edges.shape[1]
    method = small_form(candidate.method, _EPOCHS_IF_SMALL if lines <= _SMALL else _EPOCHS)
    method = method.simplified
    weights = class_weights(class_weight, method, task.data, task.splits)
    task = replace(task, data=method.usable(task.data), class_weights=weights)
    scores = {}
    try:
        scores = _scores_by_metric(method, task, metrics)
    except AgnnError as error:
        candidate.remark = str(error)
    else:
        candidate.scores = scores[metrics[0]]
    candidate.seconds += time.monotonic() - begun
    return scores


def _scores_by_metric(method: Method, task: Task, metrics: Sequence[str]) -> dict[str, list[float]]:
    """Train a method once and return its scores at the test nodes, by metric."""
    probabilities = method.run(task).scores
    return {metric: held_out_scores(probabilities, task, metric, "test") for metric in metrics}


def small_form(method: Method, epochs: int) -> Method:
    """Return the method with at most so many epochs and states of width 32."""
    if not isinstance(method, NetworkMethod):
        return method
    limits = {"epochs": epochs, "hidden": _WIDTH}
    smaller = {
        name: limit for name, limit in limits.items() if getattr(method, name, limit) > limit
    }
    return method.with_fields(**smaller)
