"""An explanation that shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from agnn.explanation import Explanation, Neighbourhood, explain
from agnn.report.explanation_page import explanation_fragment, surroundings_of

if TYPE_CHECKING:
    from agnn.explanation import OpenedRun


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownExplanation(Explanation):
    """The reasons for an answer, with the surroundings that are drawn."""

    around: Neighbourhood

    def _repr_html_(self) -> str:
        """What a notebook shows: the words, the picture, the neighbours."""
        return explanation_fragment(self, self.around)

    def __repr__(self) -> str:
        return self.in_words()


def shown_explanation(opened: OpenedRun, node: int, *, limit: int = 10) -> ShownExplanation:
    """The explanation of one node, ready to be looked at."""
    found = explain(opened, node, limit=limit)
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    return ShownExplanation(**values, around=surroundings_of(opened, node))
