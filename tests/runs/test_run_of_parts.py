"""A run on a folder of parts: the same figures as without parts, and nothing whole in memory."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from agnn.cli import main
from agnn.data import NodeData, Split
from agnn.data.tables import read_tables
from agnn.distributed import PartsFolder, partition
from agnn.errors import DataError, InputError, UnknownNodeError
from agnn.hub import push
from agnn.methods import get_method
from agnn.runs import KnownResults, Run, Training, load_run
from agnn.runs._parts import PartsData

METHOD = get_method("gcn")(epochs=4)


@pytest.fixture(scope="module")
def parts(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "toy"
    partition(toy, folder, 3, order="given")  # dropout goes by position
    return folder


def train(data: NodeData | Path, split: str = "fixed", **options: object) -> Run:
    source = str(data) if isinstance(data, Path) else data
    divided = {"ranks": 1, "divide": "rows"}
    settings = {"method": METHOD, "replicas": 3, **divided, **options}
    training = Training(data=source, split=split, **settings)
    return training.run()


@pytest.fixture(scope="module")
def saved(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(parts, out=str(folder))
    return folder


@pytest.fixture(scope="module")
def whole(toy: NodeData) -> Run:
    return train(toy)


@pytest.mark.parametrize("split", ["fixed", "uniform", "3-fold-cross-fit"])
def test_figures_are_those_of_the_training_without_parts(
    split: str, toy: NodeData, parts: Path, tmp_path: Path
) -> None:
    # Parts have their split as masks, so it is ascending.
    given = toy.split("fixed")
    ascending = Split("fixed", *(np.sort(nodes) for nodes in given.parts.values()))
    plain = train(replace(toy, splits={"fixed": ascending}), split)
    run = train(parts, split, out=str(tmp_path / "run"))
    loaded = load_run(tmp_path / "run")
    for other in (run, loaded):
        assert other.accuracy == plain.accuracy
        assert other.measures == plain.measures
        assert other.calibration.to_dict() == plain.calibration.to_dict()
        assert other.temperature == plain.temperature
        assert other.interval == plain.interval
        assert other.result.least_found == plain.result.least_found
        assert other.splits == plain.splits
        assert [each.to_dict() for each in other.baselines] == [
            each.to_dict() for each in plain.baselines if each.baseline == "most_frequent_class"
        ]
        predictions = other.predict()
        np.testing.assert_array_equal(predictions.probabilities, plain.predict().probabilities)
        assert [*map(str, predictions.ids)] == [*map(str, plain.predict().ids)]
        assert predictions.to_dict().keys() == plain.predict().to_dict().keys()
        assert predictions.labels == plain.predict().labels
        tested = other.predict_out_of_fold()
        expected = plain.predict_out_of_fold()
        np.testing.assert_array_equal(tested.probabilities, expected.probabilities)
        assert [*map(str, tested.ids)] == [*map(str, expected.ids)]
        torch.testing.assert_close(other.scores, plain.scores)


def test_a_temperature_that_does_not_help_is_left_out_of_the_files(
    toy: NodeData, parts: Path
) -> None:
    plain = train(toy, seed=2)
    assert plain.temperature == 1.0
    predictions = train(parts, seed=2).predict()
    np.testing.assert_array_equal(predictions.probabilities, plain.predict().probabilities)


def test_nothing_of_the_graph_is_read_before_it_is_needed(saved: Path, tmp_path: Path) -> None:
    run = load_run(saved)
    run.save(tmp_path / "copy")
    assert run.measures
    assert run.result.lines
    assert run.warnings is not None
    assert len(run.predict()) == run.data.nodes
    assert not {"features", "edges", "_whole"} & vars(run.data).keys()
    assert run.data.edges.shape[1] == run.data.edge_count
    assert "_whole" in vars(run.data)


def test_parts_in_another_order_give_the_predictions_of_their_nodes(
    toy: NodeData, tmp_path: Path
) -> None:
    partition(toy, tmp_path / "parts", 3, order="streaming")
    run = train(tmp_path / "parts")
    predictions = run.predict()
    by_row = np.asarray(PartsFolder(tmp_path / "parts").positions())
    assert not np.array_equal(by_row, np.arange(toy.nodes))
    assert [*map(str, predictions.ids)] == [str(toy.node_ids[row]) for row in by_row]
    names = np.array([*toy.class_names, None])
    assert predictions.labels == tuple(names[toy.labels[by_row]])
    assert np.array_equal(run.data.labels, toy.labels[by_row])
    np.testing.assert_allclose(predictions.probabilities, run.probabilities, atol=1e-6)


def test_a_node_is_explained_as_without_parts(saved: Path, whole: Run) -> None:
    run = load_run(saved)
    for node in (0, 17):
        one = run.explain(run.data.node_ids[node])
        other = whole.explain(whole.data.node_ids[node])
        assert one.prediction == other.prediction
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-6)


@pytest.fixture
def _surroundings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where the whole graph is read, and compute no scores of all nodes, as in a large one."""
    monkeypatch.setattr(
        PartsData, "_whole", property(lambda _: pytest.fail("the whole graph is not needed"))
    )
    monkeypatch.setattr("agnn.runs._predictor._WHOLE_AT_ONCE", 0)


def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of rows of features of every reading."""
    sizes: list[int] = []
    read = PartsFolder.feature_rows

    def counted(folder: PartsFolder, nodes: np.ndarray) -> object:
        sizes.append(nodes.size)
        return read(folder, nodes)

    monkeypatch.setattr(PartsFolder, "feature_rows", counted)
    return sizes


@pytest.mark.usefixtures("_surroundings_only")
@pytest.mark.parametrize("order", ["given", "streaming"])
@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("scaling", ["sum", "length", "standard", "none"])
@pytest.mark.parametrize("name", ["agnn", "gcn"])
def test_a_node_is_explained_from_its_surroundings_alone(
    name: str,
    scaling: str,
    is_dense: bool,
    order: str,
    toy: NodeData,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(0)
    if is_dense:
        toy = replace(toy, features=sparse.csr_array(draw.random((toy.nodes, 5), np.float32)))
    if name == "gcn":  # which uses weights
        weights = draw.uniform(0.5, 2.0, toy.edges.shape[1]).astype(np.float32)
        toy = replace(toy, edge_weights=weights)
    layers = {"layers": 1} if name == "agnn" else {}
    method = get_method(name)(epochs=3, scaling=scaling, **layers)
    partition(toy, tmp_path / "parts", 3, order=order)
    train(tmp_path / "parts", method=method, out=str(tmp_path / "run"))
    run = load_run(tmp_path / "run")
    whole = replace(run, data=toy, known=KnownResults(temperature=run.temperature))
    sizes = read_rows(monkeypatch)
    for node_id in (toy.node_ids[0], toy.node_ids[17]):
        one = run.explain(node_id, limit=toy.nodes)
        other = whole.explain(node_id, limit=toy.nodes)
        np.testing.assert_allclose(one.uncalibrated, other.uncalibrated, atol=1e-6)
        expected = {str(node.id): node for node in other.neighbours}  # the order may differ in ties
        assert {str(node.id) for node in one.neighbours} == expected.keys()
        for node in one.neighbours:
            there = expected[str(node.id)]
            assert node.confidence == pytest.approx(there.confidence, abs=1e-6)
            assert node.weight == pytest.approx(there.weight, abs=1e-6)
            assert node.toward_answer == pytest.approx(there.toward_answer, abs=1e-5)
        (prediction,) = run.predict([node_id]).probabilities
        np.testing.assert_allclose(prediction, one.probabilities, atol=1e-6)
    assert sizes
    assert max(sizes) < toy.nodes


@pytest.mark.usefixtures("_surroundings_only")
@pytest.mark.parametrize("prefix", ["user ", ""])
def test_new_nodes_of_parts_are_predicted_from_their_surroundings(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    ids = [f"{prefix}{7 * k}" for k in range(300)]
    kinds = draw.choice(["a", "b"], 300)
    colours = draw.choice(["red", "blue"], 300)
    columns = {"size": draw.random(300) + (kinds == "a"), "colour": colours}
    nodes = pd.DataFrame({"id": ids, "kind": kinds, **columns})
    ring = [*ids[1:], ids[0]]
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    pd.DataFrame({"source": ids, "target": ring}).to_csv(tmp_path / "edges.csv", index=False)
    tables = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv")]
    parts = ["--label", "kind", "--parts", "3", "--out", str(tmp_path / "parts")]
    assert main(["partition", *tables, *parts, "--quiet"]) == 0
    method = get_method("agnn")(epochs=3, layers=1)
    train(tmp_path / "parts", "uniform", method=method, out=str(tmp_path / "run"))
    run = load_run(tmp_path / "run")
    whole_data = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", label="kind")
    whole = replace(run, data=whole_data, known=KnownResults(temperature=run.temperature))
    new = nodes.iloc[:2].drop(columns="kind").assign(id=["new 1", "new 2"])
    edges = pd.DataFrame(
        {"source": ["new 1", "new 1", "new 2"], "target": [ids[4], ids[9], ids[4]]}
    )
    sizes = read_rows(monkeypatch)
    found = run.predict_new(new, edges)
    assert found.ids == ("new 1", "new 2")
    expected = whole.predict_new(new, edges)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)
    assert sizes == [2]
    with pytest.raises(DataError, match=r"is in .* already"):
        run.predict_new(new.assign(id=["new 1", ids[3]]), edges)
    with pytest.raises(UnknownNodeError, match="has no node 'user 8'"):
        run.node("user 8")


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_predict_writes_what_a_run_without_parts_does(
    end: str, saved: Path, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        PartsData, "_whole", property(lambda _: pytest.fail("the graph is not needed"))
    )
    monkeypatch.setattr("agnn.runs._part_results._ROWS_AT_ONCE", 7)  # in many pieces
    assert main(["predict", str(saved), "--out", str(tmp_path / f"parts.{end}")]) == 0
    whole.predict().save(tmp_path / f"whole.{end}")
    read = pd.read_csv if end == "csv" else pd.read_parquet
    found = read(tmp_path / f"parts.{end}")
    expected = read(tmp_path / f"whole.{end}")
    found["id"] = found["id"].astype(str)
    expected["id"] = expected["id"].astype(str)
    pd.testing.assert_frame_equal(found, expected)


def test_predict_unlabelled_of_parts(
    toy: NodeData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = toy.labels.copy()
    hidden = np.setdiff1d(
        np.arange(toy.nodes), np.concatenate([*toy.split("fixed").parts.values()])
    )
    labels[hidden] = -1
    partition(replace(toy, labels=labels), tmp_path / "parts", 2, order="given")
    train(tmp_path / "parts", out=str(tmp_path / "run"))
    out = tmp_path / "new.csv"
    words = ["predict", str(tmp_path / "run"), "--unlabelled", "--json", "--out", str(out)]
    capsys.readouterr()
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == hidden.size
    frame = pd.read_csv(out, dtype={"id": str})
    assert frame["id"].tolist() == [str(toy.node_ids[node]) for node in hidden]
    assert frame["label"].isna().all()


def test_several_ranks_write_the_same_predictions(parts: Path, saved: Path) -> None:
    run = train(parts, ranks=3)
    files = run.known.predictions
    assert files is not None
    assert [path.name for path in files.paths] == [f"predictions-0000{k}.parquet" for k in range(3)]
    np.testing.assert_array_equal(
        run.predict().probabilities, load_run(saved).predict().probabilities
    )
    folder = files.folder
    assert folder.is_dir()
    del run, files
    assert not folder.exists(), "nobody can ask for them any more"


def test_a_run_without_its_parts_is_refused_in_one_line(
    parts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "parts"
    shutil.copytree(parts, here)
    train(here, out=str(tmp_path / "run"))
    shutil.move(here, tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"trained on the folder of parts '.*', which is not there"):
        load_run(tmp_path / "run")
    assert main(["explain", str(tmp_path / "run"), "0"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: '")
    assert "which is not there" in line


def test_a_run_of_parts_is_not_pushed(saved: Path, parts: Path, tmp_path: Path) -> None:
    home = re.escape(f"'{parts}'")
    with pytest.raises(InputError, match=rf"in the folder of parts {home}; .* Copy both folders"):
        push(saved, str(tmp_path / "pushed"))
    assert not (tmp_path / "pushed").exists()


def test_a_run_whose_parts_were_made_anew_is_refused(toy: NodeData, tmp_path: Path) -> None:
    partition(toy, tmp_path / "parts", 3, order="given")
    train(tmp_path / "parts", out=str(tmp_path / "run"))
    shutil.rmtree(tmp_path / "parts")
    partition(toy, tmp_path / "parts", 2, order="given")
    with pytest.raises(DataError, match="was trained on other parts than those in"):
        load_run(tmp_path / "run")


def test_changed_or_added_predictions_are_refused(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "run")
    file = tmp_path / "run" / "predictions-00000.parquet"
    shutil.copy(file, tmp_path / "run" / "predictions-00001.parquet")
    with pytest.raises(DataError, match=r"predictions-00001.parquet was added"):
        load_run(tmp_path / "run")
    (tmp_path / "run" / "predictions-00001.parquet").unlink()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"predictions-00000.parquet was changed"):
        load_run(tmp_path / "run")


def test_a_copy_and_a_pickle_of_the_data_are_whole(saved: Path, toy: NodeData) -> None:
    data = load_run(saved).data
    again = pickle.loads(pickle.dumps(data))  # noqa: S301 (ours)
    assert isinstance(again, PartsData)
    assert again.fingerprint == data.fingerprint
    changed = replace(data, labels=np.zeros_like(data.labels))
    assert type(changed) is NodeData
    assert np.array_equal(changed.edges, toy.edges)
    assert (changed.features != toy.features).nnz == 0


KILLED_WHILE_WRITING = """
import os, signal, sys
from agnn.runs import Training
import agnn.runs._folder as folder
from agnn.methods import get_method
if __name__ == "__main__":
    folder.model_card = lambda run: os.kill(os.getpid(), signal.SIGKILL)
    parts, out = sys.argv[1:]
    Training(data=parts, method=get_method("gcn")(epochs=2), split="fixed", out=out).run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_while_writing_leaves_no_half_run(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = [sys.executable, "-c", KILLED_WHILE_WRITING, str(parts), str(out)]
    ended = subprocess.run(words, check=False)  # noqa: S603 (ours)
    assert ended.returncode == -signal.SIGKILL
    assert not out.exists()
    assert len(list(tmp_path.iterdir())) > 0, "what was begun, under other names"
    train(parts, out=str(out))
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "the next writer removes it"
    assert load_run(out).replicas == 3
