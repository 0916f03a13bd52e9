"""Acting on a class: the probability from which it is worth it, by precision, recall or costs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agnn.decisions._held_out import find_judges
from agnn.decisions._shares import Share, check_share
from agnn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.runs import Predictions, Run

_PARTS: Final = 10  # of the labels; each is judged by the threshold that the others choose


class Costs(NamedTuple):
    """What a mistake costs, in any unit."""

    false_alarm: float  # acting on a node of another class
    miss: float  # not acting on a node of the class


@dataclass(frozen=True, eq=False)
class Threshold:
    """The probability of a class from which to act; `choose_threshold` makes it.

    Precision and recall are measured on labelled nodes, each judged by replicas that were not
    trained on it and by a threshold that was chosen without it.
    """

    class_name: str
    goal: str  # "precision", "recall" or "costs"
    wanted: float | Costs
    probability: float
    precision: Share
    recall: Share

    @property
    def column(self) -> str:
        """The name of the column that says whether to act."""
        return f"act_on_{'_'.join(self.class_name.split())}"

    @property
    def sentence(self) -> str:
        """The threshold and what it reaches on labels that did not choose it, in a sentence."""
        return (
            f"Act on '{self.class_name}' from a probability of {self.probability:.3f}: precision "
            f"{self.precision.text}, recall {self.recall.text}."
        )

    @property
    def warning(self) -> str | None:
        """A sentence if the wanted precision or recall is not certain to be reached; else None."""
        if isinstance(self.wanted, Costs):
            return None
        reached = self.precision if self.goal == "precision" else self.recall
        low = 0.0 if reached.interval is None else reached.interval.low
        if low >= 100.0 * self.wanted:
            return None
        return (
            f"the {self.goal} of '{self.class_name}' may be as low as {low:.1f} % (wanted: "
            f"{100.0 * self.wanted:g} %); more labels narrow the interval."
        )

    def acts_on(self, predictions: Predictions) -> NDArray[np.bool_]:
        """Return whether the class has at least this probability; [k]."""
        label = predictions.class_names.index(self.class_name)
        return np.asarray(predictions.probabilities[:, label] >= self.probability)

    def apply(self, predictions: Predictions) -> Predictions:
        """Return the predictions with a column that says whether to act, such as `act_on_fraud`."""
        return predictions.with_columns(**{self.column: self.acts_on(predictions).tolist()})

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "class": self.class_name,
            "goal": self.goal,
            "wanted": self.wanted._asdict() if isinstance(self.wanted, Costs) else self.wanted,
            "probability": self.probability,
            "precision": self.precision.to_dict(),
            "recall": self.recall.to_dict(),
            "column": self.column,
            "warning": self.warning,
        }


def choose_threshold(
    run: Run,
    class_name: str,
    *,
    precision: float | None = None,
    recall: float | None = None,
    costs: tuple[float, float] | None = None,
    calibrate_on: str | Sequence[Hashable] | None = None,
) -> Threshold:
    """Return the probability from which to act on a class, chosen on labels that chose nothing.

    Args:
        run: a trained run, best a cross-fitted one.
        class_name: the class to act on.
        precision: the share of correct ones among the nodes that are acted on. The lowest
            probability that reaches it is chosen.
        recall: the share of the class that is acted on. The highest probability that reaches it is
            chosen.
        costs: of a false alarm and of a miss. The probability with the least cost is chosen.
        calibrate_on: see `calibrate_sets`.
    """
    goal, target = _goal(precision, recall, costs)
    names = run.data.class_names
    if class_name not in names:
        raise unknown_name("class", class_name, names)
    label = names.index(class_name)
    nodes, probabilities = _out_of_fold(run, calibrate_on)
    values = probabilities[:, label]
    is_class = run.data.labels[nodes] == label
    if not is_class.any():
        raise InputError(f"no label of class '{class_name}' is left to choose a threshold by.")
    threshold = _best(values, is_class, goal, target)
    if threshold is None:
        raise InputError(_unreachable(class_name, goal, values, is_class, target))
    acted = np.zeros(nodes.size, dtype=bool)
    part = np.random.Generator(np.random.PCG64(0)).permutation(nodes.size) % _PARTS
    for number in range(_PARTS):
        is_other = part != number
        cut = _best(values[is_other], is_class[is_other], goal, target) if is_other.any() else None
        acted[~is_other] = cut is not None and values[~is_other] >= cut
    right = int((acted & is_class).sum())
    return Threshold(
        class_name,
        goal,
        target,
        threshold,
        precision=Share(right, int(acted.sum())),
        recall=Share(right, int(is_class.sum())),
    )


def _goal(
    precision: float | None, recall: float | None, costs: tuple[float, float] | None
) -> tuple[str, float | Costs]:
    """Return the one goal that is given, checked."""
    values: dict[str, Any] = {"precision": precision, "recall": recall, "costs": costs}
    goals = [name for name, value in values.items() if value is not None]
    if len(goals) != 1:
        raise InputError(
            f"a threshold has one goal: `precision`, `recall` or `costs`; got "
            f"{' and '.join(goals) or 'none'}."
        )
    (goal,) = goals
    if costs is not None:
        try:
            numbers = Costs(*map(float, costs))
        except (TypeError, ValueError):
            numbers = Costs(np.nan, np.nan)
        if not (np.isfinite(numbers).all() and min(numbers) >= 0.0 and max(numbers) > 0.0):
            raise InputError(
                f"`costs` are two numbers from 0, of a false alarm and of a miss, and not both 0; "
                f"got {costs}."
            )
        return goal, numbers
    check_share(goal, values[goal], example=0.95, may_be_all=True)
    return goal, float(values[goal])


def _out_of_fold(
    run: Run, calibrate_on: str | Sequence[Hashable] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nodes that may calibrate, and their probabilities at the run's temperature."""
    allowed = np.concatenate([judge.nodes for judge in find_judges(run, calibrate_on)])
    nodes, ensemble = run.out_of_fold
    is_allowed = np.isin(nodes, allowed)
    return nodes[is_allowed], ensemble.probabilities[is_allowed]


class _Cuts(NamedTuple):
    """What acting from each of some probabilities upwards would mean, from high to low."""

    values: NDArray[np.float64]  # [k] different ones
    acted: NDArray[np.int64]  # [k] nodes with at least this probability
    right: NDArray[np.int64]  # [k] of them, those of the class


def _cuts(values: NDArray[np.float64], is_class: NDArray[np.bool_]) -> _Cuts:
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    # Nodes of equal probability are acted on together: the last of them counts.
    is_last = np.append(ranked[1:] < ranked[:-1], True)
    acted = np.arange(1, ranked.size + 1)
    return _Cuts(ranked[is_last], acted[is_last], is_class[order].cumsum()[is_last])


def _best(
    values: NDArray[np.float64], is_class: NDArray[np.bool_], goal: str, target: float | Costs
) -> float | None:
    """Return the probability that suits the goal; None if none does."""
    cuts = _cuts(values, is_class)
    if isinstance(target, Costs):
        cost = target.false_alarm * (cuts.acted - cuts.right)
        cost += target.miss * (is_class.sum() - cuts.right)
        best = int(cost.argmin())
        return float(cuts.values[best]) if cost[best] < target.miss * is_class.sum() else None
    if goal == "recall":
        reached = np.flatnonzero(cuts.right >= target * is_class.sum() - 1e-9)
        return float(cuts.values[reached[0]]) if reached.size else None
    reached = np.flatnonzero(cuts.right >= target * cuts.acted - 1e-9)
    return float(cuts.values[reached[-1]]) if reached.size else None


def _unreachable(
    class_name: str,
    goal: str,
    values: NDArray[np.float64],
    is_class: NDArray[np.bool_],
    target: float | Costs,
) -> str:
    """Return why no probability suits the goal."""
    if isinstance(target, Costs):
        return f"with these costs it is cheapest never to act on '{class_name}'."
    cuts = _cuts(values, is_class)
    best = float((cuts.right / cuts.acted).max())
    return (
        f"no probability of '{class_name}' gives a {goal} of {target:g}; the highest on "
        f"{values.size:,} labels is {best:.3f}. Ask for less, or label more nodes."
    )
