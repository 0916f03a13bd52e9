"""`agnn predict`: a saved model, old nodes and new ones, and a table that is whole or not there."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agnn import NodeClassifier, get_method, read_tables
from agnn.data.tables import with_new_nodes
from agnn.metrics import Ensemble
from agnn.runs import Predictions, evaluate, load_run, save_run
from agnn.tables import duration
from own_tables import PEOPLE, write_tables

NEW = "id,age,colour,motto\nq1,50,red,paint\nq2,51,blue,run and jump\n"
LINKS = "source,target\nq1,p0\nq2,q1\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predict")
    data = read_tables(*write_tables(folder), label="topic", text="motto")
    run = evaluate(get_method("gcn")(epochs=30), data, "stratified", range(3))
    save_run(run, folder / "run")
    return folder / "run"


@pytest.fixture
def place(here: Path, trained: Path) -> Path:
    shutil.copytree(trained, here / "run")
    (here / "new.csv").write_text(NEW)
    (here / "links.csv").write_text(LINKS)
    return here


def columns(model: NodeClassifier, data: Any, first: int) -> pd.DataFrame:
    """The table by its definition."""
    found = {"id": data.node_ids[first:], "prediction": model.predict(data)[first:]}
    if not first and data.labelled.size:
        labels = data.labels.tolist()
        found["label"] = [None if k < 0 else data.class_names[k] for k in labels]
        found["is_labelled"] = [k >= 0 for k in labels]
    for name, values in zip(model.classes_, model.predict_proba(data).T, strict=True):
        found[f"probability_of_{name}"] = values[first:]
    return pd.DataFrame(found | {"disagreement": model.disagreement(data)[first:]})


def same(path: Path, expected: pd.DataFrame) -> None:
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_only_nodes_without_a_label_can_be_asked_for(agnn: Any, here: Path, out: str) -> None:
    """The column of ids keeps its name, and titles have no spaces."""
    write_tables(here)
    nodes = pd.read_csv(here / "nodes.csv").rename(columns={"id": "person no"})
    nodes["topic"] = nodes["topic"].replace({"art": "fine art"})
    unknown = nodes["topic"].isna()
    nodes.to_csv(here / "nodes.csv", index=False)
    line = "train --nodes nodes.csv --edges edges.csv --label topic --epochs 2 --replicas 1 --quiet"
    assert agnn(f"{line} --out run --id", "person no").code == 0
    assert agnn("predict run --out all.csv").code == 0
    everything = pd.read_csv(here / "all.csv")
    assert list(everything) == [
        "person no", "prediction", "label", "is_labelled", "probability_of_fine_art",
        "probability_of_sport", "disagreement",
    ]  # fmt: skip
    assert 0 < unknown.sum() < len(unknown)
    assert (everything["is_labelled"] == ~unknown).all()
    assert (everything["label"].isna() == unknown).all()
    answer = agnn(f"predict run --unlabelled --out {out}")
    assert answer.out == f"{unknown.sum()} predictions written to {out}\n"
    read = pd.read_csv if out.endswith("csv") else pd.read_parquet
    table = read(here / out)
    assert table["person no"].tolist() == nodes["person no"][unknown].tolist()
    assert not table["is_labelled"].any()
    np.testing.assert_allclose(table["disagreement"], everything["disagreement"][unknown])


def test_without_an_unlabelled_node_there_is_nothing_to_predict(agnn: Any, here: Path) -> None:
    write_tables(here)
    nodes = pd.read_csv(here / "nodes.csv").fillna({"topic": "art"})
    nodes.to_csv(here / "nodes.csv", index=False)
    line = "train --nodes nodes.csv --edges edges.csv --label topic --epochs 2 --replicas 1 --quiet"
    assert agnn(f"{line} --out run").code == 0
    answer = agnn("predict run --unlabelled")
    assert (answer.code, answer.err) == (
        2, "error: every node has a label; leave out --unlabelled.\n",
    )  # fmt: skip
    answer = agnn("predict run --unlabelled --nodes new.csv --edges links.csv")
    assert "--unlabelled goes without --nodes" in answer.err


def test_ids_and_class_names_are_written_as_they_are(tmp_path: Path) -> None:
    """Also where a spreadsheet program would take them for formulas, as the page says."""
    ids, names = ("=1+1", "+2", "-3", "@x", "'quoted", 'a "b", c'), ("=A1", "-minus")
    shares = np.tile([0.75, 0.25], (6, 1))
    found = Predictions.of(ids, names, Ensemble(shares, np.zeros(6)))
    found.save(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == [
        "id", "prediction", "probability_of_=A1", "probability_of_-minus", "disagreement",
    ]  # fmt: skip
    assert [(row[0], row[1]) for row in rows] == [(each, "=A1") for each in ids]


def test_a_model_trained_on_numbered_nodes_takes_new_ones_from_csv(agnn: Any, here: Path) -> None:
    n = 40
    nodes = pd.DataFrame({"id": range(n), "x": [k / 3 for k in range(n)], "y": ["a", "b"] * 20})
    edges = pd.DataFrame({"source": range(n), "target": [*range(2, n), 0, 1]})
    nodes.to_parquet(here / "n.parquet")
    edges.to_parquet(here / "e.parquet")
    tables = "--nodes n.parquet --edges e.parquet --label y"
    line = f"train {tables} --method gcn --epochs 3 --replicas 1 --quiet --out run"
    assert agnn(line).code == 0
    (here / "new.csv").write_text("id,x\n100,2.5\n")
    (here / "links.csv").write_text("source,target\n100,3\n7,100\n")
    answer = agnn("predict run --nodes new.csv --edges links.csv --json")
    assert (answer.code, answer.err) == (0, "")
    (here / "new.csv").write_text("id,x\n7,2.5\n")
    answer = agnn("predict run --nodes new.csv --edges links.csv --json")
    assert answer.code == 2
    assert "the id '7' is in 'n' already; new nodes need new ids" in answer.err


def test_new_edges_may_have_their_weights_in_a_column_of_another_name(
    agnn: Any, here: Path
) -> None:
    n = 40
    nodes = {"id": range(n), "x": [k / 3 for k in range(n)], "y": ["a", "b"] * 20}
    weights = [1 + k % 3 for k in range(n)]
    edges = {"source": range(n), "target": [*range(2, n), 0, 1], "w": weights}
    pd.DataFrame(nodes).to_csv(here / "n.csv", index=False)
    pd.DataFrame(edges).to_csv(here / "e.csv", index=False)
    tables = "--nodes n.csv --edges e.csv --label y --edge-weight w"
    line = f"train {tables} --method gcn --epochs 3 --replicas 1 --quiet --out run"
    assert agnn(line).code == 0
    (here / "new.csv").write_text("id,x\n100,2.5\n101,0.5\n")
    (here / "links.csv").write_text("source,target,strength\n100,101,0.5\n101,100,2.5\n")
    line = "predict run --nodes new.csv --edges links.csv --json"
    answer = agnn(line)
    assert answer.code == 2
    assert "Name the column with `edge_weight` (--edge-weight)" in answer.err
    for more in ("", " --new-graph"):
        answer = agnn(f"{line}{more} --edge-weight strength")
        assert (answer.code, answer.err) == (0, "")
    model = NodeClassifier.load("run")
    found = model.predict_new(here / "new.csv", here / "links.csv", edge_weight="strength")
    answer = agnn(f"{line} --edge-weight strength")
    assert json.loads(answer.out)["predictions"] == found.to_dict()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_without_tables_every_node_of_the_training_data_is_answered(
    agnn: Any, place: Path, out: str
) -> None:
    answer = agnn(f"predict run --out {out}")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"60 predictions written to {out}\n"
    model = NodeClassifier.load("run")
    same(place / out, columns(model, model.run_.data, 0))


def test_new_nodes_are_answered_in_the_larger_graph(agnn: Any, place: Path) -> None:
    assert agnn("predict run --nodes new.csv --edges links.csv --out out.csv").code == 0
    model = NodeClassifier.load("run")
    data = with_new_nodes(model.run_.data, place / "new.csv", place / "links.csv")
    same(place / "out.csv", columns(model, data, PEOPLE))


def test_a_new_graph_stands_alone(agnn: Any, place: Path) -> None:
    (place / "links.csv").write_text("source,target\nq2,q1\n")
    line = "predict run --nodes new.csv --edges links.csv --new-graph --out out.csv"
    assert agnn(line).code == 0
    model = NodeClassifier.load("run")
    made = model.run_.data.preprocessing
    data = read_tables(place / "new.csv", place / "links.csv", preprocessing=made)
    same(place / "out.csv", columns(model, data, 0))


@pytest.mark.usefixtures("place")
def test_json_is_one_object_with_the_predictions_or_where_they_are(agnn: Any) -> None:
    answer = agnn("predict run --nodes new.csv --edges links.csv --json")
    assert answer.out.count("\n") == 1
    found = json.loads(answer.out)
    assert found["nodes"] == 2
    assert found["predictions"]["id"] == ["q1", "q2"]
    assert list(found["predictions"]) == [
        "id", "prediction", "probability_of_art", "probability_of_sport", "disagreement"
    ]  # fmt: skip
    found = json.loads(agnn("predict run --out out.csv --json").out)
    assert (found["nodes"], found["out"]) == (60, "out.csv")
    assert "predictions" not in found


@pytest.mark.usefixtures("place")
def test_people_see_the_first_few(agnn: Any) -> None:
    out = agnn("predict run").out
    assert "p9" in out
    assert "p10" not in out
    assert "and 50 more" in out


def test_ids_keep_their_kind_and_several_kinds_become_text() -> None:
    found = Ensemble(np.array([[0.25, 0.75]] * 2), np.zeros(2))
    for ids, expected in (([7, 3], [7, 3]), ([7, "q"], ["7", "q"]), ([np.int64(7), 3], [7, 3])):
        table = Predictions.of(ids, ("a", "b"), found).to_dict()
        assert table == {
            "id": expected, "prediction": ["b", "b"], "probability_of_a": [0.25, 0.25],
            "probability_of_b": [0.75, 0.75], "disagreement": [0.0, 0.0],
        }  # fmt: skip


@pytest.mark.parametrize(("seconds", "words"), [(7.2, "7.2 s"), (120, "2.0 min"), (9000, "2.5 h")])
def test_times_are_told_as_roughly_as_they_are_known(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("predict nowhere", "'nowhere' is not a run folder"),
        ("predict run --nodes new.csv", "--nodes goes with --edges"),
        ("predict run --edges links.csv", "--edges goes with --nodes"),
        ("predict run --new-graph", "--new-graph goes with --nodes and --edges"),
        ("predict run --id name", "--id goes with --nodes and --edges"),
        ("predict run --out out.txt", "'out.txt' must end in .csv or .parquet"),
        ("predict run --out new.csv", "'new.csv' exists already; choose another path (--out)"),
        ("predict run --out no/out.csv", "there is no folder 'no'"),
        ("predict run --nodes new.csv --edges none.csv --out out.csv", "none.csv"),
        ("predict run --nodes new.csv --edges links.csv --new-graph --out o.csv", "--drop-unknown"),
        ("predict run --nodes short.csv --edges links.csv --out o.csv", "has no column 'age'"),
        ("predict run --nodes twice.csv --edges links.csv --out o.csv", "the id 'p3' is in"),
        (
            "predict run --nodes far.csv --edges links.csv --out o.csv",
            "'far.csv', column 'age', row 2: the number is 6e+18 standard deviations from the mean",
        ),
        ("predict damaged --out out.csv", "model.safetensors was changed after it was written"),
        ("predict run --device tpu", "unknown device 'tpu'"),
    ],
)
def test_every_mistake_is_one_line_and_leaves_nothing_behind(
    agnn: Any, place: Path, line: str, words: str
) -> None:
    (place / "short.csv").write_text("id,colour,motto\nq1,red,x\nq2,red,x\n")
    (place / "far.csv").write_text(NEW.replace("51", "1e20"))
    (place / "twice.csv").write_text("id,age,colour,motto\np3,1,red,x\n")
    shutil.copytree(place / "run", place / "damaged")
    (place / "damaged" / "model.safetensors").write_bytes(b"x")
    before = sorted(place.rglob("*"))
    answer = agnn(line)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert words in answer.err
    assert sorted(place.rglob("*")) == before


def test_a_write_that_fails_leaves_nothing_behind(agnn: Any, place: Path, monkeypatch: Any) -> None:
    def fail(_frame: Any, path: Path, **_options: Any) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    before = sorted(place.rglob("*"))
    answer = agnn("predict run --out out.csv")
    assert answer.code == 2
    assert "No space left on device" in answer.err
    assert sorted(place.rglob("*")) == before


def test_class_weights_are_taken_by_train_and_kept(agnn: Any, here: Path) -> None:
    write_tables(here)
    line = "train --nodes nodes.csv --edges edges.csv --label topic --epochs 2 --replicas 2"
    answer = agnn(f"{line} --class-weight art=2.5 --out run")
    assert answer.code == 0
    assert "Training 3 replicas takes up to " in answer.out
    shown = " ".join(answer.out.split())
    assert "the 3 replicas together predict unlabelled nodes; calibration error" in shown
    assert "95 % interval " in shown
    assert NodeClassifier.load("run").class_weight == {"art": 2.5}
    for word, message in (("even", "'balanced' or NAME=WEIGHT; got 'even'"), ("at=1", "'art'?")):
        answer = agnn(f"{line} --class-weight {word}")
        assert (answer.code, answer.out) == (2, "")
        assert message in answer.err


@pytest.mark.usefixtures("place")
def test_out_of_fold_writes_the_tested_nodes_alone(agnn: Any, trained: Path) -> None:
    run = load_run(trained)
    tested = sorted({node for split in run.splits for node in split.test.tolist()})
    assert agnn("predict run --out-of-fold --out p.csv").code == 0
    table = pd.read_csv("p.csv")
    assert table["id"].tolist() == [run.data.node_ids[node] for node in tested]
    assert table["is_labelled"].all()
    answer = agnn("predict run --out-of-fold --unlabelled")
    assert answer.err == (
        "error: --out-of-fold is for labelled nodes of the run; leave out --unlabelled.\n"
    )
