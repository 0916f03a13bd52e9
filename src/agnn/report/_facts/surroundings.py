"""A few nodes worth looking at, with their surroundings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agnn.explanation import DRAWABLE, MOST_DRAWN, neighbourhood, weighed_neighbourhood
from agnn.metrics import SURE, UNSURE
from agnn.report._facts.absent import Absent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.data import Split
    from agnn.explanation import Neighbourhood
    from agnn.report._facts.certainty import Certainty, NodeAnswer
    from agnn.runs import Run


@dataclass(frozen=True, eq=False)
class Surroundings:
    """One node, why it was chosen, and who is around it."""

    why: str
    answer: NodeAnswer
    around: Neighbourhood

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it: the nodes shown, the most attended first."""
        shown = self.around
        order = (-shown.shares).argsort(kind="stable").tolist()
        nodes = [
            {
                "id": shown.ids[k],
                "hops": int(shown.hops[k]),
                "share": float(shown.shares[k]),
                "contribution": float(shown.contributions[k]),
            }
            for k in order
        ]
        return {
            "why": self.why, **self.answer.to_dict(), "nodes": nodes, "left_out": shown.left_out,
        }  # fmt: skip


def surroundings(
    run: Run,
    split: Split,
    tested: Certainty | Absent,
    unlabelled: Certainty | Absent,
    title: str,
    each: int = 2,
) -> tuple[Surroundings, ...] | Absent:
    """For each kind of node, `each` of them: right, wrong and least sure.

    They are test nodes, or where there are none nodes without a label.
    """
    found = unlabelled if isinstance(tested, Absent) else tested
    if isinstance(found, Absent):
        return Absent("There is neither a test node nor one without a label to look at.")
    if run.network.unexplained is not None:
        return Absent(f"What reaches a node cannot be read off {title}: {run.network.unexplained}.")
    kinds: dict[str, Sequence[NodeAnswer]] = {
        "": [row for row in found.most if row.is_right is None],
        "right": [row for row in found.most if row.is_right],
        "wrong": found.mistakes,
        "least sure": found.least,
    }
    chosen: list[Surroundings] = []
    for kind, rows in kinds.items():
        taken = {one.answer.node for one in chosen}
        new = [row for row in rows if row.node not in taken]
        chosen += [
            Surroundings(_why(kind, row), row, around)
            for row, around in _drawable(run, split, new, each)
        ]
    return tuple(chosen) or Absent("There is no node to look at.")


def _why(kind: str, row: NodeAnswer) -> str:
    """Say why a node was chosen; it is sure or unsure by the rule of the explorer's cohorts."""
    if kind == "least sure":
        return "unsure" if row.lead < UNSURE else kind
    if row.lead < SURE:
        return kind or "the surest"
    return f"sure and {kind}" if kind else "sure"


def _drawable(
    run: Run, split: Split, rows: Sequence[NodeAnswer], count: int
) -> list[tuple[NodeAnswer, Neighbourhood]]:
    """The first `count` rows that can be drawn, filled up with the first that cannot.

    A node with nobody around shows nothing, and a crowd cannot be told apart.
    """
    good: list[tuple[NodeAnswer, Neighbourhood]] = []
    rest: list[tuple[NodeAnswer, Neighbourhood]] = []
    for row in rows:
        around = neighbourhood(run, row.node, split, limit=MOST_DRAWN)
        fits = around.nodes.size + around.left_out in DRAWABLE
        (good if fits else rest).append((row, around))
        if len(good) == count:
            break
    return [
        (row, weighed_neighbourhood(run, row.node, split, limit=MOST_DRAWN))
        for row, _ in [*good, *rest][:count]
    ]
