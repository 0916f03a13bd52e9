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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from agnn.data import NodeData, Split
from agnn.data.splits import Stream, shuffled
from agnn.errors import AgnnError, InputError
from agnn.methods import Method, Task, method_names
from agnn.metrics import MEASURES, Summary, replica_values
from agnn.runs._class_weights import ClassWeight, class_weights
from agnn.runs._search_space import varied

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

AUTO: Final = "auto"
SECONDS: Final = 600.0  # to choose and to train, if nothing else is said

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
_VARIED, _VARIATIONS = 3, 3  # best methods that are varied after the first round, and how often
_SHARE: Final = 0.65  # of the time for choosing; the rest is for the training
_FEWEST_REPLICAS: Final = 3  # that the training of a candidate must leave time for
_MOST_OF_LEFT: Final = 0.5  # of the time left that one candidate may take
_PROBE: Final = 5  # epochs after which a training's length is judged
_TOO_SLOW: Final = "too slow"
_FEWEST_EPOCHS: Final = 30  # a training that is cut shorter says nothing
_SURE: Final = 0.9  # of the time left that is planned for more epochs than were tried

OnTried = Callable[["Tried", float], None]  # (what was tried, seconds left)


@dataclass
class Tried:
    """A candidate: a method with settings, and how it did on the inner splits."""

    method: Method
    changes: Mapping[str, Any]  # what differs from the method's defaults
    scores: list[float] = field(default_factory=list)  # one per inner split, higher is better
    seconds: float = 0.0
    remark: str = ""  # why it was not tried further
    is_beaten: bool = False  # in a round that it took part in
    all_epochs: int = 0  # of the method, where it was tried with fewer; otherwise 0

    @property
    def mean(self) -> float:
        """The mean score; minus infinity before there is one."""
        return Summary(self.scores).mean if self.scores else -math.inf

    @property
    def words(self) -> str:
        """The method and its changes."""
        changes = ", ".join(f"{name} {_short(value)}" for name, value in self.changes.items())
        return f"{self.method.title} ({changes})" if changes else self.method.title

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON values."""
        return {
            "method": self.method.name,
            "changes": dict(self.changes),
            "score": Summary(self.scores).to_dict() if self.scores else None,
            "seconds": self.seconds,
            "remark": self.remark,
        }


@dataclass(frozen=True, eq=False)
class Choice:
    """What was tried, what won, and by how much."""

    metric: str
    tried: tuple[Tried, ...]  # best first
    seconds: float
    nodes: int  # labelled nodes that were used: those for training and validation
    scoring: int  # of these, the nodes that score in an inner split
    method: Method  # the winner's, with as many epochs as there is time for
    wanted: int = 1  # replicas that were asked for
    replicas: int = 1  # those that there is time for

    @property
    def winner(self) -> Tried:
        """The best candidate, on the inner splits that it has in common with the others."""
        return self.tried[0]

    @property
    def lead(self) -> Summary | None:
        """How far the winner is ahead of the second, inner split by inner split."""
        if len(self.tried) < 2 or self.tried[1].remark:
            return None
        return Summary(_leads(self.winner, self.tried[1]))

    @property
    def lead_error(self) -> float | None:
        """The standard error of the lead; None for a single inner split.

        Inner splits share their nodes, so their scores vary together and more of them do not make
        the lead ever surer: the corrected resampled variance of Nadeau and Bengio 2003.
        """
        lead = self.lead
        if lead is None or lead.deviation is None:
            return None
        shared = self.scoring / (self.nodes - self.scoring)
        return lead.deviation * math.sqrt(1.0 / lead.n + shared)

    @property
    def words(self) -> str:
        """The choice in two or three sentences."""
        measure = MEASURES[self.metric]
        value = measure.shown(-self.winner.mean if measure.is_loss else self.winner.mean)
        methods = len({each.method.name for each in self.tried})
        found = (
            f"{self.winner.words} was chosen from {len(self.tried)} settings of {methods} methods "
            f"in {self.seconds:.0f} s: {measure.title} {value}{measure.unit} on validation nodes "
            f"of {len(self.winner.scores)} inner splits."
        )
        if self.lead is not None:
            error = self.lead_error
            spread = "" if error is None else f" ± {measure.shown(error)}"
            gap = f"{measure.shown(self.lead.mean)}{spread}"
            found += f" The second, {self.tried[1].words}, is {gap} behind."
        limits = []
        if self.replicas < self.wanted:
            limits.append(f"to train {self.replicas} of {self.wanted} replicas")
        if self.epochs is not None and self.epochs < self.winner.all_epochs:
            limits.append(f"for {self.epochs} of {self.winner.all_epochs} epochs")
        return found + (f" There was time {', '.join(limits)}." if limits else "")

    @property
    def epochs(self) -> int | None:
        """The most epochs of the training; None for a method without any."""
        return getattr(self.method, "epochs", None)

    def to_dict(self) -> dict[str, Any]:
        """The choice as JSON values; scores are such that higher is better."""
        lead = self.lead
        return {
            "metric": self.metric,
            "winner": self.winner.to_dict(),
            "lead_over_second": lead and {**lead.to_dict(), "standard_error": self.lead_error},
            "tried": [each.to_dict() for each in self.tried],
            "seconds": self.seconds,
            "labelled_nodes_used": self.nodes,
            "replicas_wanted": self.wanted,
            "replicas": self.replicas,
            "epochs": self.epochs,
            "words": self.words,
        }


def choose_method(
    prepared: Callable[[str, Mapping[str, Any]], Method],
    data: NodeData,
    split: Split,
    *,
    replicas: int,
    seconds: float,
    seed: int = 0,
    metric: str | None = None,
    device: str = "cpu",
    backend: str = "auto",
    class_weight: ClassWeight = None,
    on_tried: OnTried | None = None,
) -> Choice:
    """Choose a method and its settings by the training and validation nodes of `split`.

    `prepared` gives the method of a name with changes. In `seconds` the chosen one should also be
    trained with `replicas` replicas, or as many of them as there is time for: candidates that
    leave no time for three are left out.
    """
    search = _Halving(
        hidden(data, split), split, replicas, time.monotonic(), seconds, seed, metric, device,
        backend, class_weight, on_tried or (lambda *_: None),
    )  # fmt: skip
    candidates = []
    for name, changes in _ordered(CANDIDATES, search.data):
        if name not in method_names():
            continue
        method = prepared(name, changes)
        if class_weight is None or method.takes_class_weights:
            candidates.append(Tried(method, changes))
    return search.run(candidates)


def _ordered(
    candidates: Sequence[tuple[str, Mapping[str, Any]]], data: NodeData
) -> list[tuple[str, Mapping[str, Any]]]:
    """The candidates, with those for graphs whose neighbours differ early if this is one."""
    if not _joins_unlike(data):
        return list(candidates)
    places = dict.fromkeys(_CHEAP, 0) | dict.fromkeys(_FOR_UNLIKE, 1)
    return sorted(candidates, key=lambda candidate: places.get(candidate[0], 2))


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


def hidden(data: NodeData, split: Split) -> NodeData:
    """The data with the labels of `split`'s training and validation nodes, and no others."""
    known = np.concatenate([split.train, split.validation])
    labels = np.full(data.nodes, -1)
    labels[known] = data.labels[known]
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
    order = pool[shuffled(pool.size, seed, Stream.INNER)]
    train: list[NDArray[np.int64]] = []
    rest: list[NDArray[np.int64]] = []
    for label in np.unique(data.labels[pool]):
        members = order[data.labels[order] == label]
        # At least one node of a class is for training, as in every split that is drawn.
        count = max(1, int(np.count_nonzero(data.labels[split.train] == label)))
        train.append(members[:count])
        rest.append(members[count:])
    others = np.concatenate(rest)
    if others.size < 2:
        raise InputError(
            f"the split '{split.name}' has too few validation nodes for 'auto': {others.size} are "
            f"left beside the training nodes that every class needs. Use one with more."
        )
    return Split(f"inner-{seed}", np.concatenate(train), others[::2], others[1::2], seed)


@dataclass
class _Halving:
    """One search, round by round."""

    data: NodeData
    split: Split
    replicas: int
    start: float
    seconds: float
    seed: int
    metric: str | None
    device: str
    backend: str
    class_weight: ClassWeight
    tell: OnTried

    @property
    def left(self) -> float:
        """Seconds left for choosing."""
        return self.start + _SHARE * self.seconds - time.monotonic()

    def run(self, candidates: list[Tried]) -> Choice:
        """Try the candidates, then fewer of them on more inner splits."""
        everything, alive = list(candidates), list(candidates)
        for number, count in enumerate(_ROUNDS):
            for candidate in alive:
                if self.left <= 0.0 and any(each.scores or each.remark for each in everything):
                    break
                self._try(candidate, count)
            alive = self._survivors(everything, count)
            if number == 0:
                extra = list(self._variations(alive))
                everything += extra
                for candidate in extra:
                    if self.left > 0.0:
                        self._try(candidate, count)
                alive = self._survivors(everything, count)
            if len(alive) < 2:
                break
        tried = [each for each in everything if each.scores or each.remark]
        # Ties go to the candidate with fewer changes: defaults were tested on more graphs.
        tried.sort(key=lambda t: (bool(t.remark), -len(t.scores), -t.mean, len(t.changes)))
        if tried[0].remark:
            self._raise_for(tried)
        winner = _winner([each for each in tried if not each.remark])
        tried.sort(key=lambda t: (t is not winner, bool(t.remark), _behind(winner, t)))
        known = self.split.train.size + self.split.validation.size
        scoring = inner_split(self.data, self.split, self.seed).test.size
        seconds = time.monotonic() - self.start
        if not winner.method.is_random:
            self.replicas = 1  # on the one split all others would be copies
        method, replicas = self._fitting(winner, self.seconds - seconds)
        return Choice(
            metric=self.metric or "accuracy",
            tried=tuple(tried),
            seconds=seconds,
            nodes=known,
            scoring=scoring,
            method=method,
            wanted=self.replicas,
            replicas=replicas,
        )

    def _fitting(self, winner: Tried, left: float) -> tuple[Method, int]:
        """What is trained in the seconds left: the method, and how many replicas.

        A candidate that was tried with fewer epochs gets them back, all if may be: the epoch is
        chosen by validation nodes, so that more of them do no harm. Rather fewer replicas than
        fewer epochs.
        """
        each = max(_seconds_each(winner), 1e-9)
        if not winner.all_epochs:
            return winner.method, min(self.replicas, max(_FEWEST_REPLICAS, int(left / each)))
        tried = winner.changes["epochs"]
        per_epoch, left = each / tried, _SURE * left
        fitting = int(left / (per_epoch * winner.all_epochs))
        replicas = min(self.replicas, max(_FEWEST_REPLICAS, fitting))
        affordable = int(left / (per_epoch * replicas))
        epochs = max(tried, min(winner.all_epochs, affordable))
        return winner.method.with_fields(epochs=epochs), replicas

    def _raise_for(self, tried: Sequence[Tried]) -> NoReturn:
        """Raise for candidates none of which could be trained."""
        slow = [each for each in tried if each.remark.startswith(_TOO_SLOW)]
        first = (slow or tried)[0]
        why = f"{first.words}: {first.remark.rstrip('.')}."
        if not slow:
            raise InputError(f"no method could be trained. {why}")
        raise InputError(
            f"the time limit of {self.seconds:g} s is too short for a single method; allow more "
            f"time. {why}"
        )

    def _survivors(self, everything: Sequence[Tried], count: int) -> list[Tried]:
        """The better half of those that have come so far, best first."""
        full = [each for each in everything if len(each.scores) >= count and not each.remark]
        full.sort(key=lambda each: (-each.mean, len(each.changes)))
        kept = max(2, math.ceil(len(full) / 2))
        for place, each in enumerate(full):
            each.is_beaten = place >= kept
        return full[:kept]

    def _variations(self, best: Sequence[Tried]) -> Iterator[Tried]:
        """Other settings of the best methods, drawn from the space of `searched`."""
        names: list[str] = []
        for each in best:
            if each.method.name not in names and len(names) < _VARIED:
                names.append(each.method.name)
                for k in range(_VARIATIONS):
                    changes = varied(each.method, self.seed + k)
                    if changes:
                        method = each.method.with_fields(**changes)
                        own = {**each.changes, **changes}
                        yield Tried(method, own, all_epochs=each.all_epochs)

    def _try(self, candidate: Tried, count: int) -> None:
        """Train on the inner splits up to `count` that are missing, and score."""
        if candidate.remark:
            return
        done, begun = len(candidate.scores), time.monotonic()
        if done and candidate.seconds / done * (count - done) > self.left:
            return
        splits = tuple(
            inner_split(self.data, self.split, self.seed + k) for k in range(done, count)
        )
        seeds = tuple(self.seed + k for k in range(done, count))
        try:
            weights = class_weights(self.class_weight, candidate.method, self.data, splits)
            task = Task(
                self.data, splits, seeds, self.device, self.backend, None, weights, self.metric
            )
            scores = self._trained(candidate, task)
            found = replica_values(self.metric or "accuracy", scores, self.data, splits)
        except _TooSlowError:
            candidate.remark = f"{_TOO_SLOW} for the time limit"
        except AgnnError as error:
            candidate.remark = str(error)
        else:
            measure = MEASURES[self.metric or "accuracy"]
            if measure.is_loss and not all(map(math.isfinite, found)):
                candidate.remark = f"its {measure.title} is not finite"
            else:
                candidate.scores += map(measure.as_score, found)
        candidate.seconds += time.monotonic() - begun
        fewest = min(self.replicas, _FEWEST_REPLICAS)
        left = self.start + self.seconds - time.monotonic()
        if candidate.scores and _seconds_each(candidate) * fewest > left:
            candidate.remark = f"{_TOO_SLOW} to train in the time left"
        self.tell(candidate, max(0.0, self.left))

    def _trained(self, candidate: Tried, task: Task) -> Tensor:
        """The scores of a run; the candidate has fewer epochs from now on if all take too long."""
        if candidate.scores:  # on other inner splits, and there is time for these
            return candidate.method.run(task).scores
        watch = _Watch(_MOST_OF_LEFT * max(self.left, 0.0))
        try:
            return candidate.method.run(replace(task, progress=watch)).scores
        except _TooSlowError:
            if watch.affordable < _FEWEST_EPOCHS or not hasattr(candidate.method, "epochs"):
                raise
        candidate.all_epochs = candidate.all_epochs or candidate.method.epochs
        candidate.method = candidate.method.with_fields(epochs=watch.affordable)
        candidate.changes = {**candidate.changes, "epochs": watch.affordable}
        return candidate.method.run(task).scores


def _seconds_each(tried: Tried) -> float:
    """What one inner split took, and about what a replica will take."""
    return tried.seconds / max(1, len(tried.scores))


def _leads(winner: Tried, other: Tried) -> list[float]:
    """How far the winner is ahead on each inner split that both have been tried on."""
    return [own - its for own, its in zip(winner.scores, other.scores, strict=False)]


def _behind(winner: Tried, other: Tried) -> float:
    """The mean of these leads; infinity where there are none."""
    leads = _leads(winner, other)
    return Summary(leads).mean if leads else math.inf


def _winner(tried: Sequence[Tried]) -> Tried:
    """The best of candidates that were tried, of which some had no time for all inner splits.

    `tried` is in the order of inner splits and mean. One with fewer of them that no round has
    beaten is ahead if it is better on those that both have.
    """
    best = tried[0]
    for each in tried[1:]:
        common = min(len(each.scores), len(best.scores))
        own, other = (Summary(scores[:common]).mean for scores in (each.scores, best.scores))
        if not each.is_beaten and own > other and len(each.scores) < len(best.scores):
            best = each
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
            each = (time.monotonic() - self.start) / (done - 1)
            self.affordable = int(self.limit / max(each, 1e-9))
            if self.affordable < total:
                raise _TooSlowError


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
