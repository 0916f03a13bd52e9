"""Curves over the epochs: the mean, the ends, the epochs kept."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.metrics import Summary
from agnn.report._charts import accuracy_curve, beta_curves, loss_curve
from agnn.report._model_facts import Curve, Training


def curve(*rows: list[float]) -> Curve:
    values = np.array(rows, dtype=float)
    return Curve(values.mean(1), values.min(1), values.max(1))


@pytest.fixture
def training() -> Training:
    accuracy = curve([20, 40], [60, 40], [50, 90])
    betas = (curve([0, 0], [0, 0], [0, 0]), curve([1, 1], [2, 4], [3, 5]))
    return Training(
        "validation", curve([2, 1], [1, 1], [1, 0]), accuracy, betas, Summary([2, 3]), (60.0, 90.0)
    )


def test_the_line_is_the_mean_and_the_band_goes_from_lowest_to_highest(training):
    axes = accuracy_curve(training, training.accuracy).axes[0]
    mean, kept = axes.lines
    assert mean.get_xdata() == pytest.approx([1, 2, 3])
    assert mean.get_ydata() == pytest.approx([30, 50, 70])
    corners = {tuple(corner) for corner in axes.collections[0].get_paths()[0].vertices.tolist()}
    assert {(1, 20), (1, 40), (2, 40), (2, 60), (3, 50), (3, 90)} <= corners
    assert list(zip(*kept.get_data(), strict=True)) == [(2, 60), (3, 90)]
    assert axes.get_title("left") == "Accuracy on validation nodes (%)"


def test_every_layer_has_a_line_that_is_told_apart_without_colour(training):
    axes = beta_curves(training).axes[0]
    assert [line.get_label() for line in axes.lines] == ["layer 1", "layer 2"]
    assert axes.lines[1].get_ydata() == pytest.approx([1, 3, 4])
    assert len({line.get_linestyle() for line in axes.lines}) == 2


def test_the_loss_starts_at_zero(training):
    axes = loss_curve(training).axes[0]
    assert axes.lines[0].get_ydata() == pytest.approx([1.5, 1.0, 0.5])
    assert axes.get_ylim()[0] == 0


def test_a_long_training_is_thinned_and_keeps_its_ends():
    values = np.arange(20_000.0)
    long = Training("test", Curve(values, values, values), None, (), Summary([1]), ())
    line = loss_curve(long).axes[0].lines[0]
    assert line.get_xdata().size == 500
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == (1, 20_000)
    np.testing.assert_array_equal(line.get_ydata(), line.get_xdata() - 1)
