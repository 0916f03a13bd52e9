"""A run on disk: all of it or nothing, loads back to the bit, and never surprises."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from agnn.choosing import Tuned
from agnn.data import NodeData, Split
from agnn.errors import DataError, InputError
from agnn.files import check_new_folder
from agnn.methods import get_method, method_names
from agnn.runs import Run, evaluate, load_run, save_run
from properties import assert_same_bits, fresh_python

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from agnn.data import load_dataset
from agnn.runs import load_run
from agnn.graph import SparseFeatures, Graph
from agnn.training import probabilities
run, cora = load_run(Path(sys.argv[1])), load_dataset("cora")
graph = Graph.from_edges(cora.edges, cora.nodes)
features = SparseFeatures.from_scipy(cora.scaled_features("sum"))
np.save(sys.argv[2], probabilities(run.model, features, graph).numpy())
"""


@pytest.fixture(scope="module")
def run(toy: NodeData) -> Run:
    return evaluate(get_method("agnn")(epochs=4, layers=2, first_beta=0.0), toy, "uniform", (2, 5))


@pytest.fixture
def saved(run: Run, tmp_path: Path) -> Path:
    save_run(run, tmp_path / "run")
    return tmp_path / "run"


def test_a_fresh_process_gives_the_same_probabilities_to_the_bit(cora, tmp_path):
    fresh = evaluate(get_method("agnn")(epochs=3, first_beta=0.5), cora, "fixed", (0, 1))
    save_run(fresh, tmp_path / "run")
    answer = tmp_path / "answer.npy"
    fresh_python(PROGRAM, tmp_path / "run", answer)
    assert_same_bits(torch.from_numpy(np.load(answer)), fresh.scores)


@pytest.mark.parametrize("name", method_names())
def test_everything_comes_back(name, toy, tmp_path):
    method = get_method(name)()
    short = {"epochs": 3, "label_batches": 3, "walk_batches": 3, "label_pretraining": 0.01}
    cuts = {field: count for field, count in short.items() if hasattr(method, field)}
    run = evaluate(method.with_fields(**cuts), toy, "uniform", (2, 5))
    save_run(run, tmp_path / "deep" / "run")
    back = load_run(tmp_path / "deep" / "run")
    assert (back.method, back.seeds, back.splits) == (run.method, run.seeds, run.splits)
    assert back.data.class_names == toy.class_names
    assert back.accuracy == run.accuracy
    assert back.versions == run.versions
    assert back.machine == run.machine != {}
    assert (back.scores - run.scores).abs().max() < 1e-5
    assert (back.model is None) == (run.model is None)
    if run.model is not None:
        for name, value in run.model.state_dict().items():
            assert_same_bits(back.model.state_dict()[name], value)
    assert back.is_trained_on(toy)


def test_a_tuned_run_comes_back_tuned_with_what_was_chosen(toy, tmp_path):
    method = Tuned(get_method("single_layer_perceptron")())
    run = evaluate(method, toy, "uniform", (2, 5))
    save_run(run, tmp_path / "run")
    back = load_run(tmp_path / "run")
    assert back.method == method
    assert back.method.configuration == "tuned"
    assert back.chosen == [dict(each) for each in run.chosen]
    assert back.model is None


def test_a_run_folder_holds_json_safetensors_plain_arrays_and_a_card(saved):
    assert {file.name for file in saved.iterdir()} == {
        "config.json",
        "data.npz",
        "history.safetensors",
        "model.safetensors",
        "README.md",
        "splits.json",
    }
    with np.load(saved / "data.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind in "fiuU" for name in archive.files)
    json.loads((saved / "config.json").read_text())
    json.loads((saved / "splits.json").read_text())
    assert saved.stat().st_mode & 0o777 == 0o755


def test_the_folder_appears_only_when_it_is_whole(run, tmp_path, monkeypatch):
    """A process that is killed while it writes runs no cleaning up."""
    seen = []

    def save_file(*_args: object, **_options: object) -> None:
        seen.append((tmp_path / "run").exists())

    monkeypatch.setattr("safetensors.torch.save_file", save_file)
    save_run(run, tmp_path / "run")
    assert seen == [False, False], "weights and history"


def test_a_split_shared_by_replicas_is_stored_once(toy, tmp_path):
    save_run(evaluate(get_method("gcn")(epochs=1), toy, "fixed", range(5)), tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "splits.json").read_text())
    assert len(stored["splits"]) == 1
    assert stored["of_replica"] == [0] * 5
    assert load_run(tmp_path / "run").splits == (toy.split("fixed"),) * 5


def one_line(caught: pytest.ExceptionInfo) -> bool:
    return "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "splits.json", "data.npz", "README.md"]
)
@pytest.mark.parametrize("damage", ["missing", "cut short", "empty", "noise"])
def test_a_damaged_file_is_one_clear_line(saved, file, damage):
    path, content = saved / file, (saved / file).read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        parts = {"cut short": content[: len(content) // 2], "empty": b"", "noise": b"\xff\x00" * 40}
        path.write_bytes(parts[damage])
    with pytest.raises(DataError, match="damaged") as caught:
        load_run(saved)
    assert one_line(caught)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "its format is 2, this version reads 1"),
        ({"seeds": None}, "damaged"),
        ({"data": {}}, "damaged"),
        ({"method": {"name": "agnn", "height": 3}}, "damaged"),
        ({"seeds": ["a", "b"]}, "damaged"),
        ({"seeds": [0]}, "damaged"),  # torch's own message has many lines
        ({"data": {"features": 7, "class_names": ["a", "b"]}}, "damaged"),
        ({"method": {"name": 5}}, "damaged"),
        ({"method": {"name": "agnm"}}, "damaged"),
        ({"method": {"name": "agnn", "layers": 0}}, "damaged"),
        ({"seeds": [-1, 0]}, "damaged"),
    ],
)
def test_a_config_that_does_not_fit_is_one_clear_line(saved, change, words):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(DataError, match=words) as caught:
        load_run(saved)
    assert one_line(caught)


def test_a_folder_that_is_not_there_is_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="is not a run folder") as caught:
        load_run(tmp_path / "nowhere")
    assert one_line(caught)


def test_an_existing_folder_is_refused_and_left_alone(run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"exists already; choose another path \(--out\)"):
        save_run(run, tmp_path / "run")
    assert [file.name for file in tmp_path.rglob("*")] == ["run", "mine.txt"]


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be created in '.*/file': not writable"):
        check_new_folder(tmp_path / "file" / "run")


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt("ctrl-c")])
@pytest.mark.parametrize("step", ["splits", "weights", "rename"])
def test_an_interrupted_write_leaves_nothing_behind(run, tmp_path, monkeypatch, step, error):
    def fail(*_args: object, **_options: object) -> None:
        raise error

    if step == "splits":
        monkeypatch.setattr(Split, "to_dict", fail)  # after config.json, before splits.json
    elif step == "weights":
        monkeypatch.setattr("safetensors.torch.save_file", fail)
    else:
        monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(type(error), match=r"disk full|ctrl-c"):
        save_run(run, tmp_path / "new" / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_may_be_given_as_text(run, tmp_path):
    save_run(run, str(tmp_path / "run"))
    assert load_run(str(tmp_path / "run")).seeds == run.seeds


def test_a_wrong_backend_is_the_callers_mistake_and_not_the_folders(saved):
    with pytest.raises(InputError, match="unknown backend 'nubma'"):
        load_run(saved, backend="nubma")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
@pytest.mark.parametrize("name", ["config.json", "splits.json", "model.safetensors", "README.md"])
def test_a_device_in_place_of_a_file_is_refused_and_not_read(saved: Path, name: str) -> None:
    (saved / name).unlink()
    (saved / name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match="is not a plain file"):
        load_run(saved)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("selected_epochs", lambda old: old.repeat(2)),
        ("selected_epochs", lambda old: old[None]),
        ("training_loss", lambda old: old.repeat(1, 2)),
        ("training_loss", lambda old: old.flatten()),
        ("betas", lambda old: old.repeat(1, 3, 1)),
    ],
)
def test_a_history_that_does_not_fit_its_replicas_is_refused(
    run: Run, tmp_path: Path, name: str, change: Callable[[Tensor], Tensor]
) -> None:
    assert run.history is not None
    new = change(getattr(run.history, name))
    save_run(replace(run, history=replace(run.history, **{name: new})), tmp_path / "run")
    with pytest.raises(DataError, match=f"{name} of shape .* does not fit"):
        load_run(tmp_path / "run")
