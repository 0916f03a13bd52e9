"""A classifier of nodes: what it takes, what it answers, and that it can be kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings, strategies as st

from agnn import (
    DataError,
    InputError,
    NodeClassifier,
    NodeData,
    evaluate,
    from_pandas,
    get_method,
    read_tables,
)
from agnn.data import Split, changed_data
from agnn.data.tables import with_new_nodes
from agnn.graph import Graph, features_of
from agnn.methods import method_names
from agnn.networks import GCN
from agnn.runs import (
    save_run,
)
from agnn.runs._presets import suited_method
from agnn.training import probabilities
from own_tables import write_tables
from properties import fresh_python

LATER = """
import sys
import numpy as np
from agnn import NodeClassifier
model = NodeClassifier.load(sys.argv[1])
np.savez(sys.argv[2], p=model.predict_proba(), d=model.disagreement(), c=model.classes_.astype(str))
"""


def quick(*, epochs: int = 20, replicas: int = 2, **options: Any) -> NodeClassifier:
    return NodeClassifier("gcn", parameters={"epochs": epochs}, replicas=replicas, **options)


@pytest.fixture(scope="module")
def fitted(toy: NodeData) -> NodeClassifier:
    return quick(replicas=3).fit(toy)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> NodeData:
    tables = write_tables(tmp_path_factory.mktemp("people"))
    return read_tables(*tables, label="topic", text="motto")


@pytest.fixture(scope="module")
def kept(people: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "run"
    quick().fit(people).save(folder)
    return folder


def test_own_data_called_cora_does_not_get_the_preset_of_cora(toy: NodeData) -> None:
    impostor = replace(toy, name="cora")
    method = NodeClassifier("agnn", parameters={"epochs": 2}, replicas=1).fit(impostor).run_.method
    assert method == suited_method("agnn", "fixed", impostor).with_fields(epochs=2)
    assert method.scaling == "length"
    assert method != get_method("agnn").preset("fixed", "cora").with_fields(epochs=2)


def test_fitting_is_evaluate_with_the_same_words(fitted: NodeClassifier, toy: NodeData) -> None:
    run = evaluate("gcn", toy, "fixed", range(3), changes={"epochs": 20})
    assert torch.equal(fitted.run_.scores, run.scores)
    assert fitted.accuracy_.values == run.accuracy.values
    test = toy.split("fixed").test
    right = run.scores.mean(0).argmax(1).numpy()[test] == toy.labels[test]
    assert fitted.score(toy) == pytest.approx(right.mean())
    names = np.array(toy.class_names)
    assert (fitted.predict(toy) == names[run.scores.mean(0).argmax(1).numpy()]).all()


def test_arrays_give_what_the_same_data_gives(fitted: NodeClassifier, toy: NodeData) -> None:
    model = quick(replicas=3, split=toy.split("fixed"))
    model.fit(toy.features, toy.labels, edges=toy.edges)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba() == pytest.approx(fitted.predict_proba(), abs=1e-6)
    again = model.predict_proba(toy.features, edges=toy.edges)
    assert again == pytest.approx(model.predict_proba(), abs=1e-6)
    assert model.score(toy.features, toy.labels, edges=toy.edges) == pytest.approx(
        (model.predict() == toy.labels).mean()
    )


@pytest.mark.parametrize("blank", [-1, None, float("nan")])
def test_nodes_without_a_label_are_neighbours_only(toy: NodeData, blank: Any) -> None:
    labels = np.array([("x", "y", "z")[k] for k in toy.labels], dtype=object)
    labels[::4] = blank
    model = quick().fit(toy.features, labels, edges=toy.edges)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert (np.flatnonzero(model.run_.data.labels < 0) == np.arange(0, toy.nodes, 4)).all()
    assert set(model.predict().tolist()) <= {"x", "y", "z"}


@pytest.mark.parametrize("name", ["label_propagation", "agnn", "t_svm"])
def test_any_method_answers_by_name_and_is_kept(name: str, toy: NodeData, tmp_path: Path) -> None:
    assert name in method_names()
    parameters = {"epochs": 3} if name == "agnn" else None
    model = NodeClassifier(name, parameters=parameters, replicas=2).fit(toy)
    model.save(tmp_path / "run")
    back = NodeClassifier.load(tmp_path / "run")
    assert back.predict_proba() == pytest.approx(model.predict_proba(), abs=1e-7)
    assert back.method == model.run_.method
    assert back.score() == model.score()


def test_a_method_without_a_model_answers_for_its_own_nodes_only(
    toy: NodeData, people: NodeData
) -> None:
    model = NodeClassifier("label_propagation", replicas=1).fit(toy)
    with pytest.raises(InputError, match="LP has no trained network, so it cannot"):
        model.predict(people)


def test_another_number_of_features_is_refused(fitted: NodeClassifier, people: NodeData) -> None:
    with pytest.raises(InputError, match=r"'nodes' has \d+ features, but the model was trained on"):
        fitted.predict(people)


def test_hyper_parameters_reach_the_method(toy: NodeData) -> None:
    parameters = {"epochs": 2, "layers": 3, "window": 1}
    weights = {"red": 2.0}
    model = NodeClassifier("agnn", parameters=parameters, replicas=1, class_weight=weights).fit(toy)
    settings = model.run_.method.settings
    assert (settings["epochs"], settings["layers"], settings["window"]) == (2, 3, 1)
    assert model.run_.class_weight == {"red": 2.0}
    with pytest.raises(InputError, match=r"hyper-parameter of agnn 'widow'; did you mean 'window'"):
        NodeClassifier("agnn", parameters={"widow": 1}).fit(toy)
    with pytest.raises(InputError, match="unknown hyper-parameter of agnn_plus 'heads'"):
        NodeClassifier(parameters={"heads": 1}).fit(toy)
    with pytest.raises(InputError, match=r"`parameters` are hyper-parameters by name.*; got 32"):
        NodeClassifier(parameters=32).fit(toy)


def test_a_method_of_ones_own_is_trained_as_it_is(toy: NodeData) -> None:
    method = GCN(hidden=5, epochs=3)
    model = NodeClassifier(method, replicas=1).fit(toy)
    assert model.run_.method == method
    changed = NodeClassifier(method, parameters={"hidden": 7}, replicas=1).fit(toy)
    assert changed.run_.method == replace(method, hidden=7)
    assert method.hidden == 5


def test_a_fresh_process_gives_the_same_answers_to_the_bit(
    people: NodeData, kept: Path, tmp_path: Path
) -> None:
    model = quick().fit(people)
    fresh_python(LATER, kept, tmp_path / "answer.npz")
    with np.load(tmp_path / "answer.npz") as answer:
        assert (answer["p"] == model.predict_proba()).all()
        assert (answer["d"] == model.disagreement()).all()
        assert answer["c"].tolist() == list(people.class_names)


def test_everything_of_ones_own_data_comes_back(people: NodeData, kept: Path) -> None:
    back = NodeClassifier.load(kept).run_.data
    assert back.fingerprint == people.fingerprint
    assert (back.node_ids, back.class_names) == (people.node_ids, people.class_names)
    assert back.preprocessing == people.preprocessing


def test_whole_numbers_as_classes_and_indices_come_back(toy: NodeData, tmp_path: Path) -> None:
    labels = 10 * toy.labels
    model = quick(graph=toy, split="stratified").fit(np.arange(toy.nodes), labels)
    model.save(tmp_path / "run")
    back = NodeClassifier.load(tmp_path / "run")
    assert back.classes_.tolist() == [0, 10, 20]
    assert back.classes_.dtype == model.classes_.dtype
    assert (back.predict([5, 3]) == model.predict([5, 3])).all()


def test_new_nodes_get_what_the_model_says_on_the_larger_graph(
    people: NodeData, kept: Path
) -> None:
    import pandas as pd

    new = {
        "id": ["q1", "q2"],
        "age": [50, 51],
        "colour": ["red", "blue"],
        "motto": ["paint", "run"],
    }
    links = pd.DataFrame({"source": ["q1", "q2"], "target": ["p0", "q1"]})
    model = NodeClassifier.load(kept)
    data = with_new_nodes(model.run_.data, pd.DataFrame(new), links)
    graph = Graph.from_edges(data.edges, data.nodes)
    scores = probabilities(model.run_.model, features_of(data.scaled_features("sum")), graph)
    mean = scores.double().mean(0).log() / model.calibration_.temperature
    assert model.predict_proba(data) == pytest.approx(mean.softmax(-1).numpy(), rel=1e-5)
    assert model.predict(data).shape == (people.nodes + 2,)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "splits.json", "data.npz", "preprocessing.json", "README.md"]
)
def test_one_changed_byte_in_any_file_is_refused(kept: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(kept, tmp_path / "copy")
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=f"damaged .*{name} was changed after it was written"):
        NodeClassifier.load(folder)


def test_a_changed_config_is_refused(kept: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(kept, tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    config["accuracy"]["mean"] = 99.9
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match=r"config\.json was changed after it was written"):
        NodeClassifier.load(folder)


def test_a_config_cannot_name_files_elsewhere(kept: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(kept, tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    config["sha256"]["files"]["../other"] = "0" * 64
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="it names a file outside the folder"):
        NodeClassifier.load(folder)


def test_a_folder_of_the_program_loads_as_a_classifier(toy: NodeData, tmp_path: Path) -> None:
    run = evaluate(get_method("gcn")(epochs=5), toy, "stratified-5-fold", range(2))
    save_run(run, tmp_path / "run")
    model = NodeClassifier.load(tmp_path / "run")
    assert (model.replicas, model.seed, model.split) == (2, 0, "stratified-5-fold")
    assert model.classes_.tolist() == list(toy.class_names)
    assert len(model.run_.seeds) == 10


def test_the_card_says_what_was_trained_on_what_and_how_well(people: NodeData, kept: Path) -> None:
    card, model = (kept / "README.md").read_text(), quick().fit(people)
    assert people.fingerprint in card
    accuracy = model.accuracy_
    assert f"Test accuracy of one trial: {accuracy.mean:.2f} % (n = 1)." in card
    assert "Split: 3-fold-cross-fit; train, validation, test of the first trial: 33, 0, 17." in card
    low, high = model.run_.interval
    assert f"(50 nodes; 95 % interval {low:.1f} to {high:.1f})" in card
    assert f"Temperature {model.calibration_.temperature:.4f}" in card


def test_ids_that_json_cannot_hold_are_refused_and_nothing_is_left(
    toy: NodeData, tmp_path: Path
) -> None:
    ids = [(k,) for k in range(toy.nodes)]
    data = NodeData.build(
        name="odd", features=toy.features, labels=toy.labels, edges=toy.edges,
        class_names=toy.class_names, node_ids=ids,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"ids that are text or numbers can be saved; got \(0"):
        quick(epochs=1).fit(data).save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_data_and_labels_at_once_are_one_too_many(toy: NodeData) -> None:
    with pytest.raises(InputError, match="a NodeData holds its own labels and edges"):
        quick().fit(toy, toy.labels)


def test_a_split_of_ones_own_is_used(toy: NodeData) -> None:
    split = Split("mine", [10, 11, 12, 13, 14], [20, 21], [30, 31])
    assert quick(epochs=2, split=split).fit(toy).run_.splits == (split, split)


def test_the_probabilities_of_a_calibrated_ensemble_are_at_its_temperature(
    fitted: NodeClassifier,
) -> None:
    mean = fitted.run_.scores.double().mean(0).log() / fitted.calibration_.temperature
    assert fitted.predict_proba() == pytest.approx(mean.softmax(-1).numpy(), rel=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_renaming_nodes_renames_answers(fitted: NodeClassifier, toy: NodeData, draw: Any) -> None:
    order = np.array(draw.sample(range(toy.nodes), toy.nodes))  # the old node at each new place
    place = np.argsort(order)
    moved = NodeData.build(
        name="moved", features=toy.features[order], labels=np.full(toy.nodes, -1),
        edges=place[toy.edges], class_names=toy.class_names,
    )  # fmt: skip
    expected = fitted.predict_proba(toy)[order]
    assert fitted.predict_proba(moved) == pytest.approx(expected, abs=1e-5)


def two_rings(labels: Any) -> tuple[Any, Any, Any]:
    """Forty nodes in two rings; the labels alternate by ring, with gaps."""
    features = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    first = np.arange(20)
    ring = np.stack([first, (first + 1) % 20])
    return features, pd.Series(labels), np.concatenate([ring, ring + 20], axis=1)


KINDS = {
    "truth values and gaps": [False, False, None, True, np.nan] * 4 + [True, True, None, False] * 5,
    "whole numbers and gaps": [7, 7, None] * 6 + [7, 7] + [9, 9, None, 9] * 5,
    "text and gaps": ["no", "no", None, "no"] * 5 + ["yes", "yes", np.nan, "yes"] * 5,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_frame", [False, True])
def test_classes_and_predictions_equal_the_labels_that_were_given(
    kind: str, by_frame: bool, tmp_path: Path
) -> None:
    labels = pd.Series(KINDS[kind], dtype=object)
    features, y, edges = two_rings(labels)
    model = quick(split="stratified")
    if by_frame:
        nodes = pd.DataFrame({"id": range(40), "x": features[:, 0], "y": y})
        model.fit(from_pandas(nodes, pd.DataFrame(edges.T, columns=["u", "v"]), label="y"))
    else:
        model.fit(features, y, edges=edges)
    given = sorted(set(y.dropna()))
    assert model.classes_.tolist() == given
    assert {type(each) for each in model.classes_.tolist()} == {type(given[0])}
    predicted = model.predict()
    assert predicted.dtype == model.classes_.dtype
    known = y.notna().to_numpy()
    assert (predicted[known] == y[known].to_numpy()).mean() > 0.5
    assert model.score() == pytest.approx(model.calibration_.accuracy / 100)
    model.save(tmp_path / "kept")
    again = NodeClassifier.load(tmp_path / "kept")
    assert again.classes_.tolist() == given
    assert again.classes_.dtype == model.classes_.dtype


def test_a_run_of_the_command_line_gives_the_classes_of_its_table(tmp_path: Path) -> None:
    features, y, edges = two_rings(np.array(KINDS["whole numbers and gaps"], dtype=float))
    nodes = pd.DataFrame({"id": range(40), "x": features[:, 0], "y": y})
    data = from_pandas(nodes, pd.DataFrame(edges.T, columns=["u", "v"]), label="y")
    assert data.class_names == ("7", "9")
    save_run(evaluate("gcn", data, replicas=1, changes={"epochs": 2}), tmp_path / "run")
    model = NodeClassifier.load(tmp_path / "run")
    assert model.classes_.tolist() == [7.0, 9.0]
    other = changed_data(data, removed=[(0, 1)])
    known = data.labelled
    share = (model.predict(other)[known] == y.to_numpy()[known]).mean()
    assert model.score(other) == pytest.approx(share)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "string", "category"])
def test_the_types_of_pandas_keep_their_values(dtype: str) -> None:
    labels = {"boolean": [False, True], "Int64": [7, 9]}.get(dtype, ["no", "yes"])
    given = [labels[0]] * 15 + [None] * 10 + [labels[1]] * 15
    features, _, edges = two_rings(range(40))
    model = quick(epochs=2).fit(features, pd.Series(given, dtype=dtype), edges=edges)
    assert model.classes_.tolist() == labels
    assert {type(each) for each in model.classes_.tolist()} == {type(labels[0])}


def test_class_weights_are_named_as_the_labels_are() -> None:
    features, y, edges = two_rings(KINDS["truth values and gaps"])
    model = quick(class_weight={True: 2.0, False: 1.0}).fit(features, y, edges=edges)
    assert model.run_.class_weight == {"True": 2.0, "False": 1.0}


def test_nodes_are_predicted_by_their_ids(people: NodeData) -> None:
    model = quick().fit(people)
    chosen = ["p7", "p0"]
    assert model.predict(chosen).tolist() == model.predict()[[7, 0]].tolist()
    assert (model.predict_proba(pd.Series(chosen)) == model.predict_proba()[[7, 0]]).all()
    with pytest.raises(InputError, match="'nodes' has no node 'p700'; near it: 'p7'"):
        model.predict(["p700"])
    features, y, edges = two_rings(KINDS["text and gaps"])
    by_row = quick().fit(features, y, edges=edges)
    assert by_row.predict([5]).tolist() == by_row.predict()[[5]].tolist()
    with pytest.raises(InputError, match="'arrays' has no node '40'"):
        by_row.predict([40])
