"""A run as a model of MLflow predicts what `agnn predict` writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agnn
from agnn.cli import main
from agnn.errors import AgnnError, InputError, UnavailableError
from agnn.registry import log_model, save_model
from agnn.runs import Run
from own_tables import write_tables

# What MLflow warns of is not our concern.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    nodes, edges = write_tables(folder)
    data = agnn.read_tables(nodes, edges, label="topic")
    run = agnn.evaluate("gcn", data, "stratified", replicas=2, changes={"epochs": 5})
    run.save(folder / "run")
    return run


@pytest.fixture(scope="module")
def model(folder: Path, run: Run) -> Any:
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="pip install agnn[test]")
    assert run.replicas == 2
    save_model(folder / "run", folder / "model")
    return pyfunc.load_model(str(folder / "model"))


def written(folder: Path, line: str, name: str) -> pd.DataFrame:
    """The table that a command writes."""
    main(["predict", str(folder / "run"), *line.split(), "--out", str(folder / name)])
    return pd.read_parquet(folder / name)


def test_known_nodes_are_predicted_as_by_the_command(folder: Path, model: Any) -> None:
    table = written(folder, "", "known.parquet")
    asked = ["p7", "p3", "p59"]
    expected = table.set_index("id").loc[asked].reset_index()
    pd.testing.assert_frame_equal(model.predict(pd.DataFrame({"id": asked})), expected)
    pd.testing.assert_frame_equal(model.predict(pd.DataFrame({"id": []})), table)


def test_rows_with_neighbours_are_new_nodes(folder: Path, model: Any) -> None:
    new = pd.DataFrame(
        {"id": ["n1", "n2"], "age": [30, 40], "colour": ["red", "blue"], "motto": ["run", "draw"]}
    )
    new.to_csv(folder / "new.csv", index=False)
    links = "source,target\nn1,p1\nn1,p3\nn2,n1\n"
    (folder / "links.csv").write_text(links, encoding="utf-8")
    options = f"--nodes {folder / 'new.csv'} --edges {folder / 'links.csv'}"
    expected = written(folder, options, "new.parquet")
    frame = new.assign(neighbours=[["p1", "p3"], ["n1"]])
    pd.testing.assert_frame_equal(model.predict(frame), expected)


def test_a_registered_run_is_loaded_by_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="pip install agnn[test]")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    try:
        with mlflow.start_run():
            log_model(run, registered_model_name="teams")
        model = mlflow.pyfunc.load_model("models:/teams/1")
    finally:
        mlflow.set_tracking_uri(None)
    table = model.predict(pd.DataFrame({"id": ["p4"]}))
    assert table["prediction"].tolist() == run.predict(["p4"]).classes.tolist()


def test_a_frame_without_ids_and_a_folder_without_a_run_are_refused(
    model: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="the frame has no column of ids, 'id'"):
        model.predict(pd.DataFrame({"age": [3]}))
    with pytest.raises(AgnnError, match="is not a run folder"):
        save_model(tmp_path, tmp_path / "model")


def test_without_mlflow_it_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(UnavailableError, match=r"pip install 'agnn\[mlflow,tables\]'"):
        save_model(run, tmp_path / "model")
