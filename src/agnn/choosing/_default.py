"""The default method, unless labels that were held out clearly prefer another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from agnn.choosing._choice import Choice, Tried
from agnn.choosing._class_weights import ClassWeight, class_weights
from agnn.choosing._halving import OnTried, without_other_labels
from agnn.data import NodeData, SplitSpec, make_splits
from agnn.errors import AgnnError, DivergedError
from agnn.methods import Method, NetworkMethod, Task
from agnn.metrics import Interval, apply_temperature, held_out_predictions, helpful_temperature

Rival = tuple[str, Mapping[str, Any]]  # a method and what differs from its defaults

# With few labels, networks that have less to fit or no consistency may be better.
_SIMPLER: Final[tuple[Rival, ...]] = (("agnn", {}), ("appnp", {}))
# Where edges join unlike nodes, methods may be that keep a node's own state apart.
_FOR_UNLIKE: Final[tuple[Rival, ...]] = (
    ("ridge", {}),
    ("separated", {"layers": 5}),
    ("separated", {"layers": 5, "dropout": 0.5, "weight_decay": 5e-3, "scaling": "length"}),
)
# The rule and its limits were chosen on development graphs: docs/notes/defaults.md.
ERRORS: Final = 0.5  # standard errors of its lead by which another method must be ahead
_ALIKE: Final = 0.4  # adjusted homophily from which only few labels leave anything to compare
_FEW: Final = 100  # labels of a class
_FEWEST_LABELS: Final = 20  # fewer show nothing
_WIDTH: Final = 32
_SMALL: Final = 20_000  # nodes and edges together
_FOLDS: Final = (10, 5)  # of a small graph and of a larger one
_EPOCHS: Final = (300, 100)
_MOST_LINES: Final = 300_000  # nodes and edges that are compared within minutes on two cores
_GPU_LINES: Final = 50  # times as many
_MOST_ENTRIES: Final = 50_000_000  # of features, where words are standardised
_TINY: Final = 1e-12


def rivals(task: Task) -> tuple[Rival, ...]:
    """Return the methods that are worth comparing with the default; none where it is clear.

    `task` has one split, whose training and validation nodes are the known labels. None are
    compared where these are very few, without features, and on graphs where it would take long.
    """
    split = task.splits[0]
    known = split.train.size + split.validation.size
    if known < _FEWEST_LABELS or not task.data.feature_count or _lines(task) > _MOST_LINES:
        return ()
    if not has_like_neighbours(task):
        return (*_SIMPLER, *_FOR_UNLIKE)
    nodes = np.concatenate([split.train, split.validation])
    counts = np.bincount(task.data.labels[nodes], minlength=task.data.classes)
    return _SIMPLER if counts.min() < _FEW else ()


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
    lowest = Interval.wilson(within, ends.shape[1]).low
    return lowest - chance >= _ALIKE * (1.0 - chance)


def challenge(
    default: Method,
    prepare: Callable[[str, Mapping[str, Any]], Method],
    task: Task,
    class_weight: ClassWeight = None,
    on_tried: OnTried | None = None,
) -> Choice:
    """Compare the default method with its `rivals` on held-out labels, and choose one.

    `task` has one split and one seed. The labels of its training and validation nodes are
    cross-fitted, and no other label is read. Each method is tried in a small form, with few epochs
    and narrow states, and judged by the log loss of its predictions out of fold, at the
    temperature that suits them: it sees ranking, decisions and confidence, and with few labels
    more than accuracy does. Another method replaces the default if it leads by half a standard
    error. One without a network, which can predict no new nodes, must lead the best network, too.
    """
    start = time.monotonic()
    visible = without_other_labels(task.data, task.splits[0])
    is_large = _lines(task) > _SMALL
    spec = SplitSpec.of(SplitSpec.CROSS_FIT, visible, _FOLDS[is_large]).text
    splits = make_splits(visible, spec, task.seeds[:1])
    trial = replace(
        task,
        data=visible,
        splits=splits,
        seeds=tuple(task.seeds[0] + k for k in range(len(splits))),
        passes=SplitSpec.parse(spec).passes(len(splits)),
    )
    candidates = [Tried(default, {}, "log_loss")]
    for name, changes in rivals(task):
        method = prepare(name, changes)
        takes_weights = class_weight is None or method.takes_class_weights
        if takes_weights and not _is_much_denser(method, visible):
            candidates.append(Tried(method, changes, "log_loss"))
    for candidate in candidates:
        _try(candidate, trial, _EPOCHS[is_large], class_weight)
        if on_tried is not None:
            on_tried(candidate, None)
    choice = Choice(
        metric="log_loss",
        tried=tuple(candidates),
        seconds=time.monotonic() - start,
        nodes=visible.labelled.size,
        scoring=visible.labelled.size // len(splits),
        method=default,
        default=default.title,
    )
    choice = _with_winner_first(choice)
    if choice.winner is not candidates[0]:
        # With the settings that suit the data: what was tried is a small form of it.
        choice = replace(choice, method=prepare(choice.winner.method.name, {}))
    return choice


def _is_much_denser(method: Method, data: NodeData) -> bool:
    """Return whether a method makes a large dense table of sparse features."""
    if not isinstance(method, NetworkMethod):
        return False
    return method.input_entries(data) > max(_MOST_ENTRIES, data.features.nnz)


def _lines(task: Task) -> float:
    """Return the nodes and edges of a graph, as many as take a CPU as long."""
    lines = float(task.data.nodes + task.data.edges.shape[1])
    return lines if task.device == "cpu" else lines / _GPU_LINES


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
    return lead.mean > ERRORS * (choice.lead_error or 0.0)


def _try(candidate: Tried, task: Task, epochs: int, class_weight: ClassWeight) -> None:
    """Train a small form of the candidate; keep its score on every fold, or why it has none."""
    start = time.monotonic()
    method = small_form(candidate.method, epochs)
    weights = class_weights(class_weight, method, task.data, task.splits)
    task = replace(task, data=method.usable(task.data), class_weights=weights)
    try:
        candidate.scores = _fold_scores(method, task)
    except AgnnError as error:
        candidate.remark = str(error)
    candidate.seconds += time.monotonic() - start


def _fold_scores(method: Method, task: Task) -> list[float]:
    """Return minus the mean log loss on every fold, by the model that left it out."""
    nodes, probabilities = held_out_predictions(method.run(task).scores, task.splits, "test")
    if not np.isfinite(probabilities).all():
        raise DivergedError(f"{method.title} diverged.")
    labels = task.data.labels
    temperature = helpful_temperature(probabilities, labels[nodes])
    calibrated = apply_temperature(probabilities, temperature)
    of_label = np.zeros(task.data.nodes)
    of_label[nodes] = calibrated[np.arange(nodes.size), labels[nodes]]
    scores = []
    for replica, split in enumerate(task.splits):
        weights = None
        if task.class_weights is not None:
            weights = task.class_weights[replica, labels[split.test]]
        logarithms = np.log(np.maximum(of_label[split.test], _TINY))
        scores.append(float(np.average(logarithms, weights=weights)))
    return scores


def small_form(method: Method, epochs: int) -> Method:
    """Return the method with at most so many epochs and states of width 32."""
    if not isinstance(method, NetworkMethod):
        return method
    limits = {"epochs": epochs, "hidden": _WIDTH}
    smaller = {
        name: limit for name, limit in limits.items() if getattr(method, name, limit) > limit
    }
    return method.with_fields(**smaller)
