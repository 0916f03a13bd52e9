"""The addends of a lead: nodes, groups of nodes, and the sentence that names them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.files import plain_id
from agnn.tables import enumeration, shown_text, signed_number

SMALL: Final = 0.005  # less than this is shown as 0.00
_NAMED: Final = 3  # addends that the sentence names for the prediction
_NAMED_AGAINST: Final = 2
_MOST: Final = 0.5  # of all that speaks for the prediction: less is not "mostly"
_LARGE: Final = 0.05  # of the same: a node that adds less is shown in its group
_OWN: Final = "its own features"
_LONGEST: Final = 48  # letters of a name in the sentence


class NodeFeature(NamedTuple):
    """A feature that a node has, and what it adds to the margin at a target."""

    column: int  # in the data's features
    name: str
    value: float


class Step(NamedTuple):
    """One addend of the margin."""

    kind: str  # "constant", "itself", "node", "group" or "rest"
    value: float
    nodes: int = 1  # how many nodes it stands for
    node: int | None = None  # index in the data
    id: Hashable | None = None  # the data's own
    title: str | None = None  # of a node, where the data has one; of a group always
    hops: int | None = None
    label: str | None = None  # of that node, where it is known
    features: tuple[NodeFeature, ...] = ()  # of that node, the largest addends first

    @property
    def name(self) -> str:
        """The node's title or id, or what the step stands for."""
        if self.kind in ("node", "group"):
            return self.title or str(self.id)
        if self.kind == "rest":
            return f"{self.nodes:,} other node{'' if self.nodes == 1 else 's'}"
        return {"constant": "constant", "itself": "the node itself"}[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON values."""
        return {
            **self._asdict(),
            "id": None if self.node is None else plain_id(self.id),
            "name": self.name,
            "features": [feature._asdict() for feature in self.features],
        }


def spread_over_many(constant: float, added: NDArray[np.float64], rows: Sequence[int]) -> bool:
    """Return whether the addends that a sentence would name are less than half of those in favour.

    `rows` are those of the nodes with the largest addends, and of the node itself.
    """
    in_favour = max(constant, 0.0) + float(added[added > 0].sum())
    largest = sorted((constant, *added[list(rows)].tolist()))[-_NAMED:]
    return bool(sum(value for value in largest if value > 0) < _MOST * in_favour)


def is_large(value: float, added: NDArray[np.float64]) -> bool:
    """Return whether a node stands out among nodes that share the reasons."""
    return abs(value) >= max(_LARGE * float(added[added > 0].sum()), SMALL)


def group_steps(
    added: NDArray[np.float64],
    hops: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: tuple[tuple[int, int], Sequence[str]],
    *,
    is_rest: bool = False,
) -> list[Step]:
    """Return nodes [k] as one addend per group: neighbours and farther nodes, by label.

    `classes` are the predicted class and the second, and the names of all. The labels of any other
    class are one group, so that there are eight groups at most. With `is_rest` some nodes have a
    step of their own, and the groups are of the others.
    """
    (answer, second), names = classes
    of_label = {
        f"labelled {names[answer]}": labels == answer,
        f"labelled {names[second]}": (labels == second) & (labels != answer),
        "of other classes": (labels >= 0) & (labels != answer) & (labels != second),
        "without a label": labels < 0,
    }
    steps = []
    for is_near in (True, False):
        for which, is_member in of_label.items():
            members = is_member & ((hops == 1) == is_near)
            if count := int(members.sum()):
                noun = f"{'neighbour' if is_near else 'farther node'}{'' if count == 1 else 's'}"
                title = f"{count:,} {'other ' if is_rest else ''}{noun} {which}"
                value = float(added[members].sum())
                steps.append(Step("group", value, count, title=title, hops=1 if is_near else 2))
    return sorted(steps, key=lambda step: -step.value)


def reasons_text(steps: Sequence[Step], largest: Step | None) -> str:
    """Return what speaks for the prediction and what against it, to follow the prediction itself.

    Parts are called the main reasons where they are at least half of all that speaks for it. Else
    the steps have groups of nodes, and the text says so; `largest` is the largest single node.
    """
    groups = [step for step in steps if step.kind == "group"]
    named = sorted((step for step in steps if step.kind != "rest"), key=lambda step: -step.value)
    pro = [step for step in named[:_NAMED] if step.value > SMALL]
    con = [step for step in named[: -_NAMED_AGAINST - 1 : -1] if step.value < -SMALL]
    text = ""
    if groups:
        count = sum(step.nodes for step in steps if step.kind in ("node", "group"))
        text = f"; the reasons are spread over {count:,} nodes"
        if pro:
            text += f": {enumeration([_reason(step) for step in pro])}"
        if largest is not None and largest.node not in [step.node for step in pro]:
            text += f"; the largest single one is {_reason(largest)}"
    elif pro:
        text = f", mostly because of {enumeration([_reason(step) for step in pro])}"
    if con:
        is_plural = len(con) > 1 or con[0].kind == "itself" or con[0].nodes > 1
        speak = "speak" if is_plural else "speaks"
        sign = ";" if text else ","
        text += f"{sign} {enumeration([_reason(step) for step in con])} {speak} most against it"
    return text


def _reason(step: Step) -> str:
    names = {"itself": _OWN, "constant": "the model's constant"}
    name = names.get(step.kind) or shown_text(step.name, _LONGEST)
    return f"{name} ({signed_number(step.value)})"
