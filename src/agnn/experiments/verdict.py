"""The one rule by which our figure and the paper's agree."""

from __future__ import annotations

import math
from typing import Literal

from agnn.experiments.spec import PaperFigure
from agnn.metrics import Summary

Verdict = Literal["reproduced", "above", "below", "not in the paper", "missing"]

RULE = (
    "reproduced: |ours - paper| ≤ 2 √(se_ours² + se_paper²) + tolerance, where a standard error "
    "that is not known counts as 0; above or below: the difference is larger; "
    "not in the paper: the paper's cell is empty; missing: no run yet."
)
# Rounding in the sum must not decide: 81.5 - 81.1 is above 0.4 by one part in 10^15.
_ROUNDING = 1e-9


def verdict(paper: PaperFigure | None, ours: Summary | None, tolerance: float) -> Verdict:
    """How our figure stands to the paper's."""
    if ours is None:
        return "missing"
    if paper is None:
        return "not in the paper"
    difference = ours.mean - paper.mean
    joint = math.hypot(ours.standard_error or 0.0, paper.error or 0.0)
    if abs(difference) <= 2 * joint + tolerance + _ROUNDING:
        return "reproduced"
    return "above" if difference > 0 else "below"
