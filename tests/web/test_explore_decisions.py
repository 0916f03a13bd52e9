"""What the explorer says for decisions: suspicious labels, prediction sets, what to label next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.data import with_labels
from agnn.decisions import audit, calibrate_sets, contradicted_labels, suggest
from agnn.runs import Run, load_run
from agnn.web._asgi import Application
from agnn.web.explore import Explorer, Labelling, explore_app
from explore_runs import FIRST_UNLABELLED, NODES, write_run

NAMES = ("cross-fitted", "fixed")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("decisions")
    splits = dict(zip(NAMES, ("3-fold-cross-fit", "fixed"), strict=True))
    return {name: write_run(folder / name, "gcn", split) for name, split in splits.items()}


@pytest.fixture(scope="module")
def run(folders: dict[str, Path]) -> Run:
    return load_run(folders["cross-fitted"])


@pytest.fixture
def get(folders: dict[str, Path], ask: Any) -> Callable[..., Any]:
    """Asks the explorer of a run for what is under /api."""
    apps = {name: explore_app(Explorer([load_run(folder)])) for name, folder in folders.items()}

    def got(name: str, status: int = 200, which: str = "cross-fitted", **parameters: Any) -> Any:
        response = ask(apps[which], "GET", f"/api/{name}", params=parameters)
        assert response.status_code == status, response.text
        return response.json()

    return got


@pytest.fixture
def labelling(folders: dict[str, Path], tmp_path: Path) -> Iterator[Labelling]:
    folder = folders["cross-fitted"]
    explorer = Explorer([load_run(folder)])
    made = Labelling(
        explorer, folder, tmp_path / "labels.jsonl", tmp_path / "new", trust_unchecked=False
    )
    yield made
    made.close()


def test_the_suspicious_labels_are_those_of_the_audit_with_their_reasons(
    get: Callable[..., Any], run: Run
) -> None:
    expected = audit(run).suspicious
    assert len(expected) > 3
    cohort = get("cohort", key="suspicious")
    assert cohort["nodes"] == [label.node for label in expected]
    assert cohort["ids"] == [str(label.id) for label in expected]
    names = run.data.class_names
    assert [names[k] for k in cohort["proposed"]] == [label.prediction for label in expected]
    for reason, label in zip(cohort["reasons"], expected, strict=True):
        assert label.reason in reason
        assert f"predict {label.prediction} ({label.probability:.0%})" in reason
    facts = {each["key"]: each for each in get("about")["cohorts"]}
    assert facts["suspicious"]["count"] == len(expected)
    assert "reasons" not in get("cohort", key="wrong")


def test_the_ranking_without_reasons_is_that_of_the_audit(run: Run) -> None:
    assert contradicted_labels(run).tolist() == [label.node for label in audit(run).suspicious]


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_the_set_of_a_node_is_the_run_s_own(
    get: Callable[..., Any], run: Run, coverage: float
) -> None:
    expected = run.predict_set(coverage)
    is_empty = []
    for node in range(0, NODES, 7):
        (found,) = get("set", node=str(run.data.node_ids[node]), coverage=coverage)["sets"]
        assert [run.data.class_names[k] for k in found["classes"]] == expected.sets[node]
        assert found["said"] == expected.rule.guarantee
        is_empty.append(not found["classes"])
    assert any(is_empty) == (coverage == 0.5)


def test_without_a_coverage_the_set_is_that_of_90_percent(
    get: Callable[..., Any], run: Run
) -> None:
    found = get("set", node="paper 100")
    assert found == get("set", node="paper 100", coverage=0.9)
    assert found["sets"][0]["said"] == calibrate_sets(run, 0.9).guarantee


def test_a_run_without_out_of_fold_predictions_says_what_to_do(get: Callable[..., Any]) -> None:
    (found,) = get("set", which="fixed", node="paper 100")["sets"]
    assert found["classes"] is None
    assert "no out-of-fold predictions" in found["said"]
    assert "--split cross-fit" in found["said"]


def test_too_few_labels_for_a_coverage_are_named_in_place_of_the_set(
    get: Callable[..., Any],
) -> None:
    (found,) = get("set", node="paper 100", coverage=0.999)["sets"]
    assert found["classes"] is None
    assert "coverage 0.999 needs at least 999 labels" in found["said"]


@pytest.mark.parametrize("coverage", ["0", "1", "-0.5", "90", "nan", "inf", "many", ""])
def test_a_coverage_that_is_no_share_is_refused(get: Callable[..., Any], coverage: str) -> None:
    assert "coverage" in get("set", 422, node="paper 100", coverage=coverage)["error"]


def test_the_set_of_an_unknown_node_is_refused(get: Callable[..., Any]) -> None:
    assert "nobody" in get("set", 404, node="nobody")["error"]


def test_the_batch_is_that_of_suggest_without_what_was_labelled_here(labelling: Labelling) -> None:
    data = labelling.run.data
    first = labelling.suggestions(5)
    expected = suggest(data, 5).nodes
    assert first["nodes"] == [suggestion.node for suggestion in expected]
    assert min(first["nodes"]) >= FIRST_UNLABELLED
    assert [reason.removeprefix("Suggested: ") for reason in first["reasons"]] == [
        f"{suggestion.reason}." for suggestion in expected
    ]
    predicted = labelling.run.probabilities[first["nodes"]].argmax(1)
    assert first["proposed"] == predicted.tolist()
    labelling.give(first["nodes"][:3], 1)
    second = labelling.suggestions(5)
    labelled = with_labels(data, dict.fromkeys(first["nodes"][:3], 1))
    assert second["nodes"] == [suggestion.node for suggestion in suggest(labelled, 5).nodes]
    assert not set(first["nodes"][:3]) & set(second["nodes"])


def test_a_batch_is_at_most_what_is_left_and_then_nothing(labelling: Labelling, ask: Any) -> None:
    app: Application = explore_app(labelling.explorer, labelling)

    def batch(status: int, **parameters: Any) -> Any:
        headers = {"authorization": f"Bearer {labelling.token}"}
        response = ask(app, "GET", "/api/suggestions", params=parameters, headers=headers)
        assert response.status_code == status, response.text
        return response.json()

    labelling.give(range(FIRST_UNLABELLED, NODES - 2), 0)
    assert set(batch(200)["nodes"]) <= {NODES - 2, NODES - 1}
    for count in ("0", "-3", "501", "many"):
        assert "count" in batch(422, count=count)["error"]
    labelling.give([NODES - 2, NODES - 1], 0)
    assert batch(422)["error"] == "every node of 'papers' has a label: there is nothing to suggest."
    assert ask(app, "GET", "/api/suggestions").status_code == 401


def test_without_label_mode_there_is_no_batch(get: Callable[..., Any]) -> None:
    assert "error" in get("suggestions", 404)
    assert "there is no cohort 'next'" in get("cohort", 422, key="next")["error"]


def test_confirmed_labels_are_still_tested_in_the_retrained_run(labelling: Labelling) -> None:
    """Without what the models contradict, the accuracy would be too good."""
    from agnn.runs import retrain

    nodes = contradicted_labels(labelling.run)[:3]
    labels = {int(node): int(labelling.run.data.labels[node]) for node in nodes}
    again = retrain(labelling.run, labels)
    tested = np.concatenate([split.test for split in again.splits])
    assert np.isin(nodes, tested).all()
