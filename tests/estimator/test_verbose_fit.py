"""`fit(verbose=...)`: progress where somebody watches, and Python warnings about the result."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from agnn import NodeClassifier, NodeData
from agnn.errors import ResultWarning
from agnn.methods import Majority


def issued(model: NodeClassifier, *data: Any, **options: Any) -> list[str]:
    """The warnings of a fit, as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data, **options)
    return [str(each.message) for each in caught if each.category is ResultWarning]


def test_every_warning_of_the_run_is_a_python_warning(toy: NodeData) -> None:
    model = NodeClassifier(Majority(), split="stratified")
    texts = issued(model, toy)
    assert texts == model.run_.warnings
    assert any("features without the graph" in text for text in texts)


def test_the_warning_points_to_the_line_that_fits(toy: NodeData) -> None:
    with pytest.warns(ResultWarning, match="than the features") as caught:
        NodeClassifier(Majority(), split="stratified").fit(toy)
    assert caught[0].filename == __file__


def test_a_quiet_fit_issues_no_warning_and_compares_with_nothing(toy: NodeData) -> None:
    model = NodeClassifier(Majority(), split="stratified")
    assert issued(model, toy, verbose=False) == []
    assert "baselines" not in vars(model.run_)


def test_indices_of_a_graph_are_fitted_quietly_unless_asked(toy: NodeData) -> None:
    model = NodeClassifier(Majority(), split="stratified", graph=toy)
    nodes = np.arange(toy.nodes)
    assert issued(model, nodes, toy.labels) == []
    assert issued(model, nodes, toy.labels, verbose=True) == model.run_.warnings


@pytest.mark.parametrize(
    ("verbose", "expected"), [(True, "Training GCN on toy, up to 3 epochs\n"), (None, "")]
)
def test_without_a_terminal_progress_is_shown_when_asked_for(
    toy: NodeData, capsys: pytest.CaptureFixture[str], verbose: bool | None, expected: str
) -> None:
    model = NodeClassifier("gcn", parameters={"epochs": 3}, replicas=1)
    model.fit(toy, verbose=verbose)
    assert capsys.readouterr().err == expected
    assert capsys.readouterr().out == ""
