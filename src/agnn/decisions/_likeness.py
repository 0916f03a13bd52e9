"""Whether nodes that are asked about are like those that calibrate, as every guarantee assumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.data import SplitSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.decisions._held_out import AskedNodes, Judges
    from agnn.runs import Run

_LEVEL: Final = 0.01  # of the test
_LEAST_DISTANCE: Final = 0.05  # a smaller one moves the coverage by less than people care about
_FEWEST: Final = 20  # nodes of each kind to compare


def assumption_warnings(run: Run, judges: Sequence[Judges], asked: AskedNodes) -> list[str]:
    """Return why coverage, false alarms or precision may differ from what was calibrated."""
    warnings = []
    column = next((name for name in ("time", "group-0") if name in run.data.splits), None)
    if column is not None:
        of = "times" if column == "time" else "groups"
        warnings.append(
            f"the data has {of}: for nodes of other {of} than the labelled ones nothing is "
            f"guaranteed, and the figures are usually worse."
        )
    is_chosen = run.choice is not None or run.chosen is not None
    if is_chosen and SplitSpec.parse(run.split_spec).is_cross_fitted:
        warnings.append(
            "the labels that calibrate also chose the settings of the method; the figures may be a "
            "little too good."
        )
    distance = _distance(run, judges, asked)
    if distance is not None:
        warnings.append(
            f"the nodes asked about are not like the labelled ones (confidence is distributed "
            f"differently: Kolmogorov-Smirnov distance {distance:.2f}), so the figures may not "
            f"hold for them."
        )
    return warnings


def _distance(run: Run, judges: Sequence[Judges], asked: AskedNodes) -> float | None:
    """Return how far the asked nodes' confidence is from the labelled ones'; None if it is not.

    A two-sample Kolmogorov-Smirnov test. It needs no labels of the asked nodes, unlike the tests
    of exchangeability over a sequence of labelled examples.
    """
    from scipy.stats import ks_2samp

    rows = asked.rows
    if asked.is_known:
        used = [part for split in run.splits for part in split.parts.values()]
        rows = np.setdiff1d(rows, np.concatenate(used))
    labelled = [_confidence(judge, run.scores)[judge.nodes] for judge in judges]
    if rows.size < _FEWEST or sum(part.size for part in labelled) < _FEWEST:
        return None
    # Each asked node is judged by one of the groups, as the labelled ones are.
    groups = len(judges)
    confidences = [
        _confidence(judge, asked.scores)[rows[k::groups]] for k, judge in enumerate(judges)
    ]
    test = ks_2samp(np.concatenate(labelled), np.concatenate(confidences))
    is_far = test.pvalue < _LEVEL and test.statistic > _LEAST_DISTANCE
    return float(test.statistic) if is_far else None


def _confidence(judge: Judges, scores: Tensor) -> NDArray[np.float64]:
    return np.asarray(judge.probabilities(scores).max(1))
