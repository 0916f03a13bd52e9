"""The reliability diagram shows what was counted."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.metrics import Calibration
from agnn.metrics._ensemble import reliability
from agnn.report._charts import reliability_diagram
from agnn.report._rendering import svg


def test_bars_are_shares_of_right_answers_and_titles_have_the_errors():
    sure = np.array([0.7, 0.72, 0.95])
    before = reliability(np.stack([sure, 1 - sure], axis=1), np.array([0, 1, 0]), bins=10)
    after = reliability(np.stack([sure, 1 - sure], axis=1), np.array([0, 0, 0]), bins=10)
    figure = reliability_diagram(Calibration(0.5, 4, 3, 66.7, before, after))
    left, right = figure.axes
    assert [bar.get_height() for bar in left.patches] == pytest.approx([0.5, 1.0])
    assert [bar.get_x() + bar.get_width() / 2 for bar in left.patches] == pytest.approx(
        [0.75, 0.95]
    )
    assert [bar.get_height() for bar in right.patches] == pytest.approx([1.0, 1.0])
    assert left.get_title("left") == f"mean of the replicas: error {before.error:.3f}"
    assert right.get_title("left") == f"temperature 0.50: error {after.error:.3f}"
    assert "share of correct predictions" in svg(figure)
