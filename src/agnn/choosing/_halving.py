"""The automatic choice of a method and its settings, by validation nodes within a time limit.

Successive halving: every method starts with its defaults on a few inner splits, the better half
goes on with more, joined by variations of the best. An inner split divides the training and
validation nodes of the one real split anew, into nodes to train on, nodes that choose the epoch
and nodes that score. All other labels are removed before anything is tried, so test nodes cannot
be read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from agnn.choosing._choice import Choice, Tried, leads
from agnn.choosing._class_weights import ClassWeight, class_weights
from agnn.choosing._scores import candidate_scores
from agnn.choosing._space import random_settings
from agnn.data import NodeData, Split, Stream
from agnn.errors import AgnnError, InputError
from agnn.methods import Method, Task, method_names
from agnn.metrics import MEASURES, Measure, Summary

# The candidates of the first round: a method and what differs from its defaults. Cheap ones first,
# then those that are best on most graphs, while there is time for all their epochs.
CANDIDATES: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("label_propagation", {}),
    ("ridge", {}),
    ("sgc", {}),
    ("gcn", {}),
    ("agnn_plus", {"strength": 0.0}),
    ("agnn_plus", {}),
    ("agnn", {}),
    ("appnp", {}),
    ("gat", {}),
    ("multilayer_perceptron", {}),
    ("boosting", {}),
    # As good as twice the width after as many epochs (minesweeper), in half the time.
    ("separated", {"layers": 10, "hidden": 32}),
    ("separated", {"layers": 5, "dropout": 0.5, "weight_decay": 5e-3, "scaling": "length"}),
    ("graphsage", {}),
    ("separated", {"layers": 5}),
)
_CHEAP: Final = ("label_propagation", "ridge", "sgc", "gcn")
_FOR_UNLIKE: Final = ("multilayer_perceptron", "boosting", "separated", "graphsage")
_UNLIKE: Final = 0.2  # of the way from chance to edges within classes only
_FEWEST_EDGES: Final = 10  # between nodes of known labels that say something
_ROUNDS: Final = (3, 6, 12, 24)  # inner splits that a candidate has been tried on after each round
_VARIED: Final = 3  # best methods that are varied after the first round
_VARIATIONS: Final = 3  # of each
_SHARE: Final = 0.65  # of the time for choosing; the rest is for the training
_FEWEST_REPLICAS: Final = 3  # that the training of a candidate must leave time for
_MOST_OF_LEFT: Final = 0.5  # of the time left that one candidate may take
_PROBE: Final = 5  # epochs after which a training's length is judged
_TOO_SLOW: Final = "too slow"
_FEWEST_EPOCHS: Final = 30  # a training that is cut shorter says nothing
_SURE: Final = 0.9  # of the time left that is planned for more epochs than were tried

# (what was tried, seconds left if they are limited)
OnTried = Callable[["Tried", float | None], None]


def choose_method(
    prepare: Callable[[str, Mapping[str, Any]], Method],
    task: Task,
    *,
    replicas: int,
    seconds: float,
    class_weight: ClassWeight = None,
    on_tried: OnTried | None = None,
) -> Choice:
    """Choose a method and its settings by the training and validation nodes of one split.

    `prepare` returns the method of a name with changes; `task` has the split and one seed. In
    `seconds` the chosen one should also be trained with `replicas` replicas, or as many of them as
    there is time for: candidates that leave no time for three are left out.
    """
    visible = without_other_labels(task.data, task.splits[0])
    halving = _Halving(
        task=task,
        visible=visible,
        replicas=replicas,
        start=time.monotonic(),
        seconds=seconds,
        class_weight=class_weight,
        notify=on_tried or (lambda *_: None),
    )
    candidates = []
    for name, changes in _by_promise(CANDIDATES, visible):
        if name not in method_names():
            continue
        method = prepare(name, changes)
        if class_weight is None or method.takes_class_weights:
            candidates.append(Tried(method, changes, task.metric or "accuracy"))
    return halving.run(candidates)


def _by_promise(
    candidates: Sequence[tuple[str, Mapping[str, Any]]], data: NodeData
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the candidates, those for unlike neighbours early where the known labels differ."""
    if not _joins_unlike(data):
        return list(candidates)
    ranks = dict.fromkeys(_CHEAP, 0) | dict.fromkeys(_FOR_UNLIKE, 1)
    return sorted(candidates, key=lambda candidate: ranks.get(candidate[0], 2))


def _joins_unlike(data: NodeData) -> bool:
    """Whether edges join nodes of one class hardly more often than chance, by the known labels.

    Chance is that both ends are drawn by degree. False where too few edges have known labels.
    """
    ends = data.edge_labels
    if ends.shape[1] < _FEWEST_EDGES:
        return False
    shares = np.bincount(ends.ravel()) / ends.size
    chance = float((shares**2).sum())
    return float((ends[0] == ends[1]).mean()) - chance < _UNLIKE * (1.0 - chance)


def without_other_labels(data: NodeData, split: Split) -> NodeData:
    """Return the data with the labels of `split`'s training and validation nodes, and no others."""
    nodes = np.concatenate([split.train, split.validation])
    labels = np.full(data.nodes, -1)
    labels[nodes] = data.labels[nodes]
    labels.setflags(write=False)
    return replace(data, labels=labels, splits={})


def inner_split(data: NodeData, split: Split, seed: int) -> Split:
    """The training and validation nodes of `split`, divided anew.

    Every class has as many training nodes as in `split`; of the others every second one chooses
    the epoch, and the rest score.
    """
    if split.validation.size < 2:
        raise InputError(
            f"'auto' chooses on validation nodes, and the split '{split.name}' has "
            f"{split.validation.size}; use one that has some, such as stratified."
        )
    pool = np.concatenate([split.train, split.validation])
    order = pool[Stream.INNER.order(pool.size, seed)]
    train: list[NDArray[np.int64]] = []
    others_by_class: list[NDArray[np.int64]] = []
    for label in np.unique(data.labels[pool]):
        members = order[data.labels[order] == label]
        # At least one node of a class is for training, as in every split that is drawn.
        count = max(1, int(np.count_nonzero(data.labels[split.train] == label)))
        train.append(members[:count])
        others_by_class.append(members[count:])
    others = np.concatenate(others_by_class)
    if others.size < 2:
        raise InputError(
            f"the split '{split.name}' has too few validation nodes for 'auto': {others.size} are "
            f"left beside the training nodes that every class needs. Use one with more."
        )
    return Split(f"inner-{seed}", np.concatenate(train), others[::2], others[1::2], seed)


@dataclass
class _Halving:
    """One search, round by round."""

    task: Task  # one replica on the split that is divided
    visible: NodeData  # without the labels of test nodes: what candidates are given
    replicas: int
    start: float  # of `time.monotonic`
    seconds: float
    class_weight: ClassWeight
    notify: OnTried

    @property
    def split(self) -> Split:
        """The split whose training and validation nodes are divided."""
        return self.task.splits[0]

    @property
    def seed(self) -> int:
        """The seed of the first inner split."""
        return self.task.seeds[0]

    @property
    def measure(self) -> Measure:
        """What candidates are compared by."""
        return MEASURES[self.task.metric or "accuracy"]

    @property
    def seconds_left(self) -> float:
        """Seconds left for choosing."""
        return self.start + _SHARE * self.seconds - time.monotonic()

    def run(self, candidates: list[Tried]) -> Choice:
        """Try the candidates, then fewer of them on more inner splits."""
        everything = list(candidates)
        alive = list(candidates)
        for number, count in enumerate(_ROUNDS):
            for candidate in alive:
                if self.seconds_left <= 0.0 and any(t.scores or t.remark for t in everything):
                    break
                self._try(candidate, count)
            alive = self._survivors(everything, count)
            if number == 0:
                extra = list(self._variations(alive))
                everything += extra
                for candidate in extra:
                    if self.seconds_left > 0.0:
                        self._try(candidate, count)
                alive = self._survivors(everything, count)
            if len(alive) < 2:
                break
        tried = [t for t in everything if t.scores or t.remark]
        # Ties go to the candidate with fewer changes: defaults were tested on more graphs.
        tried.sort(key=lambda t: (bool(t.remark), -len(t.scores), -t.mean, len(t.changes)))
        if tried[0].remark:
            self._raise_for(tried)
        winner = _winner([t for t in tried if not t.remark])
        tried.sort(key=lambda t: (t is not winner, bool(t.remark), _behind(winner, t)))
        nodes = self.split.train.size + self.split.validation.size
        scoring = inner_split(self.visible, self.split, self.seed).test.size
        seconds = time.monotonic() - self.start
        if not winner.method.is_random:
            self.replicas = 1  # on the one split all others would be copies
        method, replicas = self._fitting(winner, self.seconds - seconds)
        return Choice(
            metric=self.task.metric or "accuracy",
            tried=tuple(tried),
            seconds=seconds,
            nodes=nodes,
            scoring=scoring,
            method=method,
            wanted=self.replicas,
            replicas=replicas,
        )

    def _fitting(self, winner: Tried, seconds: float) -> tuple[Method, int]:
        """What is trained in these seconds: the method, and how many replicas.

        A candidate that was tried with fewer epochs gets them back, all if may be: the epoch is
        chosen by validation nodes, so that more of them do no harm. Rather fewer replicas than
        fewer epochs.
        """
        cost = max(_seconds_each(winner), 1e-9)
        if not winner.all_epochs:
            return winner.method, min(self.replicas, max(_FEWEST_REPLICAS, int(seconds / cost)))
        tried = winner.changes["epochs"]
        per_epoch = cost / tried
        seconds = _SURE * seconds
        fitting = int(seconds / (per_epoch * winner.all_epochs))
        replicas = min(self.replicas, max(_FEWEST_REPLICAS, fitting))
        affordable = int(seconds / (per_epoch * replicas))
        epochs = max(tried, min(winner.all_epochs, affordable))
        return winner.method.with_fields(epochs=epochs), replicas

    def _raise_for(self, tried: Sequence[Tried]) -> NoReturn:
        """Raise for candidates none of which could be trained."""
        slow = [candidate for candidate in tried if candidate.remark.startswith(_TOO_SLOW)]
        failure = (slow or tried)[0]
        why = f"{failure.words}: {failure.remark.rstrip('.')}."
        if not slow:
            raise InputError(f"no method could be trained. {why}")
        raise InputError(
            f"the time limit of {self.seconds:g} s is too short for a single method; allow more "
            f"time. {why}"
        )

    def _survivors(self, everything: Sequence[Tried], count: int) -> list[Tried]:
        """The better half of those that have come so far, best first."""
        full = [t for t in everything if len(t.scores) >= count and not t.remark]
        full.sort(key=lambda t: (-t.mean, len(t.changes)))
        count_kept = max(2, math.ceil(len(full) / 2))
        for rank, candidate in enumerate(full):
            candidate.is_beaten = rank >= count_kept
        return full[:count_kept]

    def _variations(self, best: Sequence[Tried]) -> Iterator[Tried]:
        """Other settings of the best methods, drawn from the search space."""
        names: list[str] = []
        for candidate in best:
            if candidate.method.name not in names and len(names) < _VARIED:
                names.append(candidate.method.name)
                for k in range(_VARIATIONS):
                    changes = random_settings(candidate.method, self.seed + k)
                    if changes:
                        method = candidate.method.with_fields(**changes)
                        combined = {**candidate.changes, **changes}
                        yield Tried(
                            method, combined, candidate.metric, all_epochs=candidate.all_epochs
                        )

    def _try(self, candidate: Tried, count: int) -> None:
        """Train on the inner splits up to `count` that are missing, and score."""
        if candidate.remark:
            return
        done = len(candidate.scores)
        begun = time.monotonic()
        if done and candidate.seconds / done * (count - done) > self.seconds_left:
            return
        splits = tuple(
            inner_split(self.visible, self.split, self.seed + k) for k in range(done, count)
        )
        try:
            task = replace(
                self.task,
                data=self.visible,
                splits=splits,
                seeds=tuple(self.seed + k for k in range(done, count)),
                class_weights=class_weights(
                    self.class_weight, candidate.method, self.visible, splits
                ),
            )
            scores = self._scores(candidate, task)
        except _TooSlowError:
            candidate.remark = f"{_TOO_SLOW} for the time limit"
        except AgnnError as error:
            candidate.remark = str(error)
        else:
            if all(map(math.isfinite, scores)):
                candidate.scores += scores
            else:
                candidate.remark = f"its {self.measure.title} is not finite"
        candidate.seconds += time.monotonic() - begun
        fewest = min(self.replicas, _FEWEST_REPLICAS)
        seconds_left = self.start + self.seconds - time.monotonic()
        if candidate.scores and _seconds_each(candidate) * fewest > seconds_left:
            candidate.remark = f"{_TOO_SLOW} to train in the time left"
        self.notify(candidate, max(0.0, self.seconds_left))

    def _scores(self, candidate: Tried, task: Task) -> list[float]:
        """Return a candidate's scores; it has fewer epochs from now on if all take too long."""
        if candidate.scores:  # on other inner splits, and there is time for these
            return candidate_scores(candidate.method, task, part="test")
        watch = _Watch(_MOST_OF_LEFT * max(self.seconds_left, 0.0))
        try:
            watched_task = replace(task, progress=watch)
            return candidate_scores(candidate.method, watched_task, part="test")
        except _TooSlowError:
            if watch.affordable < _FEWEST_EPOCHS or not hasattr(candidate.method, "epochs"):
                raise
        candidate.all_epochs = candidate.all_epochs or candidate.method.epochs
        candidate.method = candidate.method.with_fields(epochs=watch.affordable)
        candidate.changes = {**candidate.changes, "epochs": watch.affordable}
        return candidate_scores(candidate.method, task, part="test")


def _seconds_each(tried: Tried) -> float:
    """What one inner split took, and about what a replica will take."""
    return tried.seconds / max(1, len(tried.scores))


def _behind(winner: Tried, other: Tried) -> float:
    """Return the mean of the leads; infinity where there are none."""
    by_split = leads(winner, other)
    return Summary(by_split).mean if by_split else math.inf


def _winner(tried: Sequence[Tried]) -> Tried:
    """The best of candidates that were tried, of which some had no time for all inner splits.

    `tried` is in the order of inner splits and mean. One with fewer of them that no round has
    beaten is ahead if it is better on those that both have.
    """
    best = tried[0]
    for rival in tried[1:]:
        common = min(len(rival.scores), len(best.scores))
        mean, best_mean = (Summary(scores[:common]).mean for scores in (rival.scores, best.scores))
        if not rival.is_beaten and mean > best_mean and len(rival.scores) < len(best.scores):
            best = rival
    return best


class _TooSlowError(Exception):
    """A training that would take more than its share of the time."""


@dataclass
class _Watch:
    """Called after every epoch: stops a training that may take too long, after a few epochs."""

    limit: float  # seconds
    start: float = 0.0
    affordable: int = 0  # epochs within the limit

    def __call__(self, done: int, total: int) -> None:
        if done <= 1:  # the first epoch also compiles
            self.start = time.monotonic()
        elif done == _PROBE:
            per_epoch = (time.monotonic() - self.start) / (done - 1)
            self.affordable = int(self.limit / max(per_epoch, 1e-9))
            if self.affordable < total:
                raise _TooSlowError
