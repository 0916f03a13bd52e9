"""A run folder that was changed, added to or is absurd is one clear line, and soon."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from agnn.data import NodeData
from agnn.data.store import write_data
from agnn.data.tables import read_tables
from agnn.errors import DataError
from agnn.estimator import NodeClassifier
from agnn.files import checksum
from agnn.runs import Run, evaluate, load_run
from own_tables import write_tables


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("tampered")
    data = read_tables(*write_tables(folder), label="topic")
    return evaluate("agnn", data, "stratified", (0, 1), changes={"epochs": 2, "layers": 2})


@pytest.fixture
def saved(run: Run, tmp_path: Path) -> Path:
    run.save(tmp_path / "run")
    return tmp_path / "run"


def signed(folder: Path, change: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
    """Change the config and write all checksums again, as somebody with bad intentions would."""
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    change(config)
    own = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
    files = {p.name: checksum(p) for p in folder.iterdir() if p.name != "config.json"}
    config["sha256"] = {"config": own, "files": files}
    (folder / "config.json").write_text(json.dumps(config))


def refused(folder: Path) -> str:
    with pytest.raises(DataError, match=r"run folder|cannot read") as caught:
        load_run(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_writing_the_checksums_again_changes_nothing(saved: Path, run: Run) -> None:
    signed(saved)
    assert (load_run(saved).probabilities == run.probabilities).all()


def test_a_graph_that_is_added_to_a_run_on_bundled_data_is_refused(
    tmp_path: Path, cora: NodeData
) -> None:
    evaluate("gcn", cora, "fixed", (0,), changes={"epochs": 1}).save(tmp_path / "run")
    write_data(cora, tmp_path / "run" / "data.npz")
    assert "data.npz was added after it was written" in refused(tmp_path / "run")


def test_files_that_are_no_part_of_a_run_are_left_alone(saved: Path, run: Run) -> None:
    (saved / "notes.txt").write_text("mine")
    (saved / "figures").mkdir()
    assert load_run(saved).seeds == run.seeds


def test_other_ids_or_class_names_are_noticed(saved: Path, run: Run) -> None:
    turned = run.data.node_ids[::-1]
    (saved / "data.npz").unlink()
    write_data(NodeData.build(
        name=run.data.name, features=run.data.features, labels=run.data.labels,
        edges=run.data.edges, class_names=run.data.class_names, node_ids=turned,
        facts=run.data.facts, reading=run.data.reading,
    ), saved / "data.npz")  # fmt: skip
    signed(saved)
    assert "ids or class names" in refused(saved)


def test_a_folder_without_checksums_is_refused_unless_it_is_trusted(saved: Path, run: Run) -> None:
    config = json.loads((saved / "config.json").read_text())
    del config["sha256"]
    (saved / "config.json").write_text(json.dumps(config))
    assert "trust_unchecked=True (--allow-unchecked)" in refused(saved)
    assert load_run(saved, trust_unchecked=True).seeds == run.seeds


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b""])
@pytest.mark.parametrize("name", ["preprocessing.json", "splits.json"])
def test_damaged_json_is_one_line(saved: Path, name: str, content: bytes) -> None:
    (saved / name).write_bytes(content)
    signed(saved)
    refused(saved)


def test_a_preprocessing_for_another_number_of_features_is_refused(saved: Path) -> None:
    path = saved / "preprocessing.json"
    made = json.loads(path.read_text())
    made["blocks"].pop()
    path.write_text(json.dumps(made))
    signed(saved)
    assert "preprocessing.json gives" in refused(saved)


def change(*keys: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(config: dict[str, Any]) -> None:
        for key in keys[:-1]:
            config = config[key]
        config[keys[-1]] = to

    return apply


@pytest.mark.parametrize("made", [
    change("accuracy", to=None), change("accuracy", "values", to=[None]),
    change("accuracy", "values", to=[]), change("confidence", "temperature", to="warm"),
    change("confidence", to=[1]), change("confidence", "temperature", to=float("nan")),
    change("method", "layers", to=10**7), change("method", "layers", to=10**30),
    change("method", "hidden", to=-1), change("method", to="agnn"),
    change("seeds", to=list(range(200_000))), change("seeds", to=[True, 1]),
    change("data", "features", to=10**9), change("data", "class_names", to=["a", "b"]),
    change("seconds", to="long"), change("versions", to=3), change("machine", to=3),
    change("split", to=None),
])  # fmt: skip
def test_an_absurd_config_is_one_line_and_soon(saved: Path, made: Any) -> None:
    signed(saved, made)
    refused(saved)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (change("machine", to={"memory": "x"}), "config.json, machine."),
        (change("machine", "cores", to="x"), "config.json, machine.cores: "),
        (change("machine", "gpu", to=3), "config.json, machine.gpu: "),
        (change("chosen", to="abc"), "config.json, chosen: "),
        (change("chosen", to=["abc"]), "config.json, chosen.0: "),
        (change("choice", to=5), "config.json, choice: "),
        (change("choice", to={"words": 5}), "config.json, choice.words: "),
        (change("metric", to="evil"), "there is no metric 'evil'"),
        (change("metric", to=[]), "config.json, metric: "),
        (change("class_weight", to=[1]), "config.json, class_weight"),
        (change("notes", to="x"), "config.json, notes: "),
        (change("confidence", "temperature", to=-1), "config.json, confidence.temperature: "),
        (change("confidence", "temperature", to=0), "config.json, confidence.temperature: "),
        (change("confidence", "temperature", to=1e308), "config.json, confidence.temperature: "),
        (change("confidence", "temperature", to=True), "config.json, confidence.temperature: "),
        (change("method", "layers", to=100_000), "layers = 100000 does not fit its weights"),
    ],
)
def test_what_a_config_states_is_checked(saved: Path, made: Any, sentence: str) -> None:
    signed(saved, made)
    assert sentence in refused(saved)


def test_weights_of_another_shape_are_refused_before_anything_is_built(saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    name, some = next(iter(weights.items()))
    for shape in ([100_000, 0], [100_000, 1]):
        small = {key: torch.zeros(shape) for key in weights}
        save_file(small, saved / "model.safetensors")
        signed(saved, change("seeds", to=list(range(shape[0]))))
        stored = json.loads((saved / "splits.json").read_text())
        stored["of_replica"] = [0] * shape[0]
        (saved / "splits.json").write_text(json.dumps(stored))
        signed(saved)
        assert f"should have the shape [{shape[0]}, " in refused(saved)
    signed(saved, change("seeds", to=[0, 1]))
    (saved / "splits.json").write_text(json.dumps(stored | {"of_replica": [0, 0]}))
    save_file(weights | {"more": some.clone()}, saved / "model.safetensors")
    signed(saved)
    assert "'more' in model.safetensors is no weight of agnn" in refused(saved)
    del weights[name]
    save_file(weights, saved / "model.safetensors")
    signed(saved)
    assert f"'{name}' in model.safetensors is missing" in refused(saved)


def test_weights_that_are_not_finite_are_refused(saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    name = next(iter(weights))
    weights[name][0] = float("nan")
    save_file(weights, saved / "model.safetensors")
    signed(saved)
    assert "values that are not finite" in refused(saved)


def test_weights_for_other_replicas_are_refused_before_anything_is_built(saved: Path) -> None:
    weights = {
        name: torch.cat([t, t]) for name, t in load_file(saved / "model.safetensors").items()
    }
    save_file(weights, saved / "model.safetensors")
    signed(saved)
    assert "is not for 2 replicas" in refused(saved)


def test_a_file_that_may_not_be_read_is_not_called_damaged(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("agnn.runs._loading.checksum", forbidden)
    message = refused(saved)
    assert "Permission denied" in message
    assert "damaged" not in message


def test_notes_of_the_user_do_not_break_the_classifier(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run", notes={"author": "me", "classes": 3})
    assert load_run(tmp_path / "run").notes == {"author": "me", "classes": 3}
    model = NodeClassifier.load(tmp_path / "run", device="cpu")
    assert model.predict().shape == (run.data.nodes,)
    model.save(tmp_path / "again")
    assert load_run(tmp_path / "again").notes["author"] == "me"
    assert NodeClassifier.load(tmp_path / "again", device="cpu").replicas == 2


def test_all_files_have_one_mode(saved: Path) -> None:
    assert {path.stat().st_mode & 0o777 for path in saved.iterdir()} == {0o644}


def test_a_folder_that_was_copied_loads(saved: Path, run: Run, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "copy")
    assert load_run(tmp_path / "copy").seeds == run.seeds
