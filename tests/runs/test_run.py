"""A run predicts what the classifier predicts, finds nodes by id, computes what is asked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from agnn.data import NodeData
from agnn.errors import DataError, InputError
from agnn.estimator import NodeClassifier
from agnn.methods import get_method
from agnn.metrics import Calibration
from agnn.runs import KnownResults, Run, _predictor, evaluate
from agnn.runs._node_finder import NodeFinder
from opened_toys import saved_toy, zoo_run


@pytest.fixture(scope="module")
def opened(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return saved_toy(toy, tmp_path_factory.mktemp("opened") / "run", epochs=30, layers=2)


def test_its_confidence_is_the_classifiers(opened: Run) -> None:
    loaded = NodeClassifier.load(opened.folder)
    assert opened.probabilities == pytest.approx(loaded.predict_proba(), abs=1e-12)
    assert opened.ensemble.disagreement.tolist() == loaded.disagreement().tolist()
    assert opened.temperature != pytest.approx(1.0, abs=1e-3), "or nothing is compared"


def test_it_holds_the_run_its_data_and_the_first_split(opened: Run, toy: NodeData) -> None:
    assert opened.data.name == "toy"
    assert opened.data.fingerprint == toy.fingerprint
    assert opened.split == opened.splits[0]
    assert opened.replicas == 3
    assert opened.data is opened.data


def test_some_nodes_are_answered_as_all_are(opened: Run) -> None:
    nodes = [100, 3, 3, 57]
    found = replace(opened).ensemble_at(nodes)
    assert found.probabilities == pytest.approx(opened.probabilities[nodes], abs=1e-7)
    assert found.disagreement.tolist() == opened.ensemble.disagreement[nodes].tolist()


def test_a_large_graph_is_not_computed_for_a_few_nodes(
    opened: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_predictor, "_WHOLE_AT_ONCE", 10)
    fresh = replace(opened)
    few = fresh.ensemble_at([100, 3, 57])
    assert not fresh.has_scores
    assert few.probabilities == pytest.approx(opened.probabilities[[100, 3, 57]], abs=1e-6)


def test_a_run_in_memory_is_the_same_as_from_its_folder(toy: NodeData, opened: Run) -> None:
    run = evaluate(get_method("agnn")(epochs=30, layers=2), toy, "fixed", seeds=(0, 1, 2))
    assert run.probabilities == pytest.approx(opened.probabilities, abs=1e-12)
    assert run.folder is None


def test_a_folder_that_states_no_confidence_gets_one_fitted(opened: Run) -> None:
    silent = replace(opened, known=KnownResults())
    expected = Calibration.of(opened.scores, opened.data, opened.splits).temperature
    assert silent.temperature == expected


def test_a_method_without_a_network_answers_and_has_no_trained_model(
    toy: NodeData, tmp_path: Path
) -> None:
    opened = saved_toy(toy, tmp_path / "run", "label_propagation")
    assert opened.probabilities.shape == (120, 3)
    assert opened.ensemble_at([4, 5]).probabilities.tolist() == opened.probabilities[4:6].tolist()
    with pytest.raises(InputError, match=r"LP has no trained network, so it cannot be inspected"):
        _ = opened.network
    with pytest.raises(InputError, match=r"LP has no trained network, so it cannot predict nodes"):
        opened.predict_new("a.csv", "b.csv")


def test_answers_that_do_not_fit_the_data_are_refused(opened: Run) -> None:
    with pytest.raises(DataError, match=r"do not fit its data: \[3, 5, 3\]"):
        replace(opened, known=KnownResults(torch.zeros(3, 5, 3)))


def finder_of(ids: Sequence[Hashable], name: str) -> NodeFinder:
    data = NodeData.build(
        name=name,
        features=csr_array((len(ids), 1), dtype=np.float32),
        labels=np.zeros(len(ids), dtype=np.int64),
        edges=np.zeros((2, 0), dtype=np.int64),
        class_names=("only",),
        node_ids=ids,
    )
    return NodeFinder(data)


def test_a_node_is_found_by_its_id_and_by_the_ids_text() -> None:
    finder = finder_of(("a", 7, "12", 12, 2.5, ("x", 1)), "mixed")
    assert [finder.find(each) for each in ("a", 7, "7", "12", 12, "2.5", ("x", 1))] == [
        0, 1, 1, 2, 3, 4, 5,
    ]  # fmt: skip
    assert finder.find("('x', 1)") == 5


def test_numbers_of_numpy_are_found_too() -> None:
    finder = finder_of(tuple(np.array([30, 10, 20])), "numbers")
    assert (finder.find(10), finder.find("20"), finder.find(np.int64(30))) == (1, 2, 0)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("paper 14", r"'library' has no node 'paper 14'; near it: 'paper 114', 'paper 104'"),
        (14, r"has no node '14'; its ids look like 'paper 100'\."),
        (True, r"has no node 'True'"),
        ("", r"has no node ''; its ids look like"),
    ],
)
def test_a_wrong_id_is_answered_with_near_ones(wanted: object, words: str) -> None:
    finder = finder_of([f"paper {k}" for k in range(100, 120)], "library")
    with pytest.raises(InputError, match=words):
        finder.find(wanted)


def test_near_ids_in_a_large_graph_are_found_soon() -> None:
    finder = finder_of([str(k) for k in range(1, 300_000)], "large")
    with pytest.raises(InputError, match=r"near it: '29999[0-9]"):
        finder.find("299999x")


def test_opening_by_name_goes_by_the_datas_ids() -> None:
    opened = zoo_run("agnn", "path")
    assert opened.node("3") == 3
    with pytest.raises(InputError, match=r"'path' has no node '9'"):
        opened.node("9")
