"""How many labels are enough: accuracy against the labels that a run is trained with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agnn.data import Split, make_splits
from agnn.errors import InputError
from agnn.metrics import Interval, Summary
from agnn.runs import seeds_of_replicas, train_again
from agnn.tables import Column, ResultTable, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data import NodeData
    from agnn.runs import Run
    from agnn.training import Progress

_SHARES: Final = (0.125, 0.25, 0.5, 0.75)  # of the labels; the run itself has all of them
_FEWEST_POINTS: Final = 3
_FACTORS: Final = (2, 4)  # times the labels of the run, for the extrapolation
_EXPONENTS: Final = np.linspace(0.1, 2.0, 39)  # c of a - b / m^c
_DRAWS: Final = 200  # of the measured points within their errors
_Z: Final = 1.96  # standard errors that a 95 % interval has on either side
# Beside the seed: a synthetic graph may have drawn its classes with the same small number.
_STREAM: Final = (7, 32)
_MOST_REPEATS: Final = 100


class CurvePoint(NamedTuple):
    """The accuracy with some number of labels."""

    labels: int  # that each model is trained with, on average
    accuracy: Summary  # percent, over the repeats
    interval: Interval  # 95 %, for the draws of the labels and the number of tested nodes

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "labels": self.labels,
            "accuracy": self.accuracy.mean,
            "low": self.interval.low,
            "high": self.interval.high,
            "repeats": self.accuracy.n,
        }


class Extrapolation(NamedTuple):
    """What a fitted curve says about more labels than there are."""

    labels: int
    accuracy: float  # percent
    interval: Interval  # 95 %, for the errors of the measured points alone

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "labels": self.labels,
            "accuracy": self.accuracy,
            "low": self.interval.low,
            "high": self.interval.high,
        }


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Accuracy against the number of labels, measured and extrapolated."""

    points: tuple[CurvePoint, ...]  # by the number of labels; the last is the run itself
    extrapolations: tuple[Extrapolation, ...]  # none where so many nodes do not exist

    @cached_property
    def table(self) -> ResultTable:
        """A row per number of labels; extrapolations say so."""
        columns = (
            Column("labels", ("labels",), is_number=True),
            Column("accuracy", ("accuracy",), " (%)", 1, is_number=True),
            Column("from", ("low",), " (%)", 1, is_number=True),
            Column("to", ("high",), " (%)", 1, is_number=True),
            Column("", ("kind",)),
        )
        measured = [
            Row((point.labels, point.accuracy.mean, *point.interval, "measured"))
            for point in self.points
        ]
        fitted = [
            Row((point.labels, point.accuracy, *point.interval, "extrapolated"))
            for point in self.extrapolations
        ]
        return ResultTable(columns, (*measured, *fitted), "Accuracy against labels")

    @property
    def sentences(self) -> list[str]:
        """What the last labels have brought, and what more of them may bring."""
        *_, before, last = self.points
        gain = last.accuracy.mean - before.accuracy.mean
        sentences = [
            f"From {before.labels:,} to {last.labels:,} training labels the accuracy changed by "
            f"{gain:+.1f} points, to {last.accuracy.mean:.1f} % (95 % interval "
            f"{last.interval.low:.1f} to {last.interval.high:.1f})."
        ]
        for point in self.extrapolations[:1]:
            more = point.accuracy - last.accuracy.mean
            sentences.append(
                f"Extrapolation: {point.labels:,} training labels may give {point.accuracy:.1f} % "
                f"({point.interval.low:.1f} to {point.interval.high:.1f}), {more:+.1f} points. It "
                f"takes the curve to go on as it did; nothing was measured there."
            )
        if before.accuracy.n == 1:
            sentences.append(
                "Every number of labels was drawn once: the intervals cover the number of tested "
                "nodes alone, not which labels are drawn (--repeats 3)."
            )
        if not self.extrapolations:
            sentences.append("There is no extrapolation: the graph has no nodes for more labels.")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "measured": [point.to_dict() for point in self.points],
            "extrapolated": [point.to_dict() for point in self.extrapolations],
        }

    def _repr_html_(self) -> str:
        return str(self.table.html())

    def __repr__(self) -> str:
        points = ", ".join(f"{point.labels}: {point.accuracy.mean:.1f} %" for point in self.points)
        return f"LearningCurve({points})"


def learning_curve(
    run: Run,
    *,
    repeats: int = 3,
    device: str = "auto",
    backend: str = "auto",
    progress: Progress | None = None,
) -> LearningCurve:
    """Train the run's method with an eighth to three quarters of its labels, and extrapolate.

    Every share is drawn `repeats` times, class by class; all models of a share are trained at once.
    With cross-fitting the drawn labels are divided into folds anew and choose the epoch among
    themselves; a model is tested on every label that it was not trained on. Otherwise a share of
    the training nodes is drawn, and validation and test nodes stay.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("gcn", cora, split="fixed", replicas=2, changes={"epochs": 5})
    >>> [point.labels for point in learning_curve(run, repeats=2).points]
    [14, 35, 70, 105, 140]
    """
    if not 1 <= repeats <= _MOST_REPEATS:
        raise InputError(f"`repeats` (--repeats) must be from 1 to {_MOST_REPEATS}; got {repeats}.")
    splits_by_share = [draw_splits(run, share, repeats) for share in _SHARES]
    usable = [splits for splits in splits_by_share if splits]
    if len(usable) + 1 < _FEWEST_POINTS:
        count = round(np.mean([split.train.size for split in run.splits]))
        raise InputError(
            f"{count} training labels are too few for a curve: half of them must be at least "
            f"{_fewest_labels(run)}. Label more nodes."
        )
    points = []
    for k, splits in enumerate(usable):
        scaled = None if progress is None else _part_of(progress, k, len(usable))
        points.append(_measure(run, splits, device, backend, scaled))
    points.append(_point(run, run.splits, run.accuracy))
    return LearningCurve(tuple(points), _extrapolate(points, run.data.nodes))


def draw_splits(run: Run, share: float, repeats: int) -> tuple[Split, ...]:
    """Return splits with a share of the labels, those of a repeat together; none if too few."""
    splits: list[Split] = []
    for repeat in range(repeats):
        if not run.is_cross_fitted:
            split = run.splits[repeat % run.replicas]
            train = _drawn_labels(run.data, split.train, share, repeat)
            if train.size < _fewest_labels(run):
                return ()
            name = f"{split.name}-{train.size}-labels-{repeat}"
            splits.append(Split(name, train, split.validation, split.test, repeat))
            continue
        labelled = _drawn_labels(run.data, run.data.labelled, share, repeat)
        if labelled.size < _fewest_labels(run):
            return ()
        labels = np.full(run.data.nodes, -1)
        labels[labelled] = run.data.labels[labelled]
        splits += make_splits(replace(run.data, labels=labels, splits={}), run.split_spec, [repeat])
    return tuple(splits)


def _fewest_labels(run: Run) -> int:
    """Return how many labels a point needs: two per fold and two per class that occurs."""
    classes = np.unique(run.data.labels[run.data.labelled]).size
    return 2 * max(classes, run.folds if run.is_cross_fitted else 1)


def _drawn_labels(
    data: NodeData, nodes: NDArray[np.int64], share: float, seed: int
) -> NDArray[np.int64]:
    """Return a share of the nodes of each class, at least one; those of a smaller share first."""
    order = np.random.default_rng((seed, *_STREAM)).permutation(nodes)
    drawn = []
    for label in np.unique(data.labels[nodes]):
        members = order[data.labels[order] == label]
        drawn.append(members[: max(1, round(share * members.size))])
    return np.sort(np.concatenate(drawn))


def _part_of(progress: Progress, part: int, parts: int) -> Progress:
    """Return what tells the epochs of one of several trainings as those of all."""

    def tell(done: int, total: int) -> None:
        if done:  # else settings are being tried
            progress(part * total + done, parts * total)

    return tell


def _measure(
    run: Run,
    splits: tuple[Split, ...],
    device: str,
    backend: str,
    progress: Progress | None,
) -> CurvePoint:
    """Train on these splits, and return the accuracy."""
    data = run.data
    folds = run.folds if run.is_cross_fitted else 1
    seeds = seeds_of_replicas(range(len(splits) // folds), folds)
    trained = train_again(run, splits, seeds, device=device, backend=backend).train(progress)
    assert trained is not None  # noqa: S101 (in this process)
    answers = trained.scores.argmax(-1).numpy()
    shares = [
        100.0 * float((answers[replica][nodes] == data.labels[nodes]).mean())
        for replica, nodes in enumerate(_test_nodes(run, splits))
    ]
    trials = np.reshape(shares, (-1, folds)).mean(1)
    return _point(run, splits, Summary(trials.tolist()))


def _test_nodes(run: Run, splits: tuple[Split, ...]) -> list[NDArray[np.int64]]:
    """Return the nodes that test each replica: with cross-fitting all that it has not learned."""
    if not run.is_cross_fitted:
        return [split.test for split in splits]
    return [np.setdiff1d(run.data.labelled, split.train) for split in splits]


def _point(run: Run, splits: tuple[Split, ...], accuracy: Summary) -> CurvePoint:
    """Return the point of an accuracy, with its interval."""
    from scipy.stats import t

    tested = np.unique(np.concatenate(_test_nodes(run, splits))).size
    share = accuracy.mean / 100.0
    of_draws = (accuracy.standard_error or 0.0) ** 2
    variance = of_draws + 1e4 * share * (1.0 - share) / tested
    # Satterthwaite 1946: the spread of few draws is itself known badly.
    freedom = (accuracy.n - 1) * (variance / of_draws) ** 2 if of_draws else np.inf
    reach = t.ppf(0.975, freedom) * np.sqrt(variance)
    low = max(0.0, accuracy.mean - reach)
    high = min(100.0, accuracy.mean + reach)
    labels = round(float(np.mean([split.train.size for split in splits])))
    return CurvePoint(labels, accuracy, Interval(float(low), float(high)))


def _extrapolate(points: list[CurvePoint], nodes: int) -> tuple[Extrapolation, ...]:
    """Return what a - b / m^c, fitted to the points, gives for more labels m."""
    labels = np.array([point.labels for point in points], dtype=np.float64)
    values = np.array([point.accuracy.mean for point in points])
    errors = np.array([point.interval.high - point.interval.low for point in points]) / (2 * _Z)
    errors = np.maximum(errors, 0.1)  # a perfect accuracy has no error, and infinite weight
    counts = np.array([factor * labels[-1] for factor in _FACTORS])
    counts = counts[counts <= nodes]
    if not counts.size:
        return ()
    source = np.random.default_rng(0)
    best = fit_power_law(labels, values, errors, counts)
    draws = [
        fit_power_law(labels, source.normal(values, errors), errors, counts) for _ in range(_DRAWS)
    ]
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    return tuple(
        Extrapolation(int(count), float(value), Interval(float(lower), float(upper)))
        for count, value, lower, upper in zip(counts, best, low, high, strict=True)
    )


def fit_power_law(
    labels: NDArray[np.float64],
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a - b / m^c at m = `counts`, fitted to values at `labels` by weighted least squares.

    b is not below 0 and a not above 100: more labels never harm, and no accuracy is above 100 %.
    """
    weights = 1.0 / np.square(errors)
    weights /= weights.sum()
    mean = weights @ values
    smallest = np.inf
    forecast = np.full(counts.shape, mean)
    for exponent in _EXPONENTS:
        x = labels**-exponent
        centre = weights @ x
        spread = weights @ np.square(x - centre)
        b = max(0.0, -(weights @ ((x - centre) * (values - mean))) / spread)
        a = mean + b * centre
        if a > 100.0:
            a = 100.0
            b = max(0.0, weights @ (x * (a - values)) / (weights @ np.square(x)))
        loss = float(weights @ np.square(a - b * x - values))
        if loss < smallest:
            smallest = loss
            forecast = a - b * counts**-exponent
    return forecast
