"""Checkpoints: a training that was stopped ends with the same bits as one that was not."""

from __future__ import annotations

import errno
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from agnn.data import NodeData
from agnn.errors import DataError, InputError, StoppedError
from agnn.runs import Run, evaluate
from agnn.training import Checkpoints, _checkpoint

EPOCHS = 12


def trained(toy: NodeData, method: str = "agnn", **how: Any) -> Run:
    changes = {"epochs": EPOCHS, "hidden": None if method == "dcnn" else 4}
    return evaluate(method, toy, "fixed", replicas=3, changes=changes, **how)


def stopped_at(epoch: int, toy: NodeData, method: str, file: Path, *, resume: bool) -> None:
    checkpoints = Checkpoints(file, every=1e9, resume=resume)

    def progress(done: int, _: int) -> None:
        if done == epoch:
            checkpoints.request_stop()

    with pytest.raises(StoppedError, match=f"after epoch {epoch} is in"):
        trained(toy, method, progress=progress, checkpoints=checkpoints)


def assert_same_bits(found: Run, expected: Run) -> None:
    assert found.model is not None
    assert expected.model is not None
    weights = found.model.state_dict()
    for name, tensor in expected.model.state_dict().items():
        assert torch.equal(weights[name], tensor), name
    for field in fields(expected.history):
        before, after = (getattr(run.history, field.name) for run in (expected, found))
        assert before is None or torch.equal(before, after), field.name
    assert torch.equal(found.scores, expected.scores)


# One method for each kind of state: selection rules, batch normalisation, versions, batches.
@pytest.mark.parametrize("method", ["agnn", "agnn_plus", "gcn", "grand", "dcnn"])
def test_a_training_stopped_twice_ends_with_the_same_bits(
    method: str, toy: NodeData, tmp_path: Path
) -> None:
    expected = trained(toy, method)
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, method, file, resume=False)
    stopped_at(7, toy, method, file, resume=True)
    found = trained(toy, method, checkpoints=Checkpoints(file, resume=True))
    assert_same_bits(found, expected)


def test_the_last_epoch_can_be_continued_too(toy: NodeData, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "toy.checkpoint", every=0)
    expected = trained(toy, checkpoints=checkpoints)
    found = trained(toy, checkpoints=Checkpoints(checkpoints.file, resume=True))
    assert_same_bits(found, expected)
    assert found.seconds > checkpoints.seconds_before
    checkpoints.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_time_before_a_stop_is_counted(toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(6, toy, "agnn", file, resume=False)
    again = Checkpoints(file, resume=True)
    run = trained(toy, checkpoints=again)
    assert 0 < again.seconds_before < run.seconds


def test_an_unfinished_training_is_not_overwritten(toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    with pytest.raises(InputError, match="unfinished training; continue it with --resume"):
        trained(toy, checkpoints=Checkpoints(file, every=0))
    assert file.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "gcn"}, 'method "agnn", not "gcn"'),
        ({"changes": {"epochs": EPOCHS, "hidden": 5}}, "hyper-parameters, hidden 4, not 5"),
        ({"seed": 7}, r"seeds \[0, 1, 2\], not \[7, 8, 9\]"),
        ({"split": "uniform"}, 'split "fixed", not "uniform"'),
        ({"backend": "reference"}, 'backend "numba", not "reference"'),
        ({"class_weight": "balanced"}, 'class weights null, not "balanced"'),
    ],
)
def test_the_checkpoint_of_another_training_is_refused(
    changes: dict[str, Any], words: str, toy: NodeData, tmp_path: Path
) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    usual = {
        "method": "agnn", "data": toy, "split": "fixed", "replicas": 3,
        "changes": {"epochs": EPOCHS, "hidden": 4},
    }  # fmt: skip
    with pytest.raises(InputError, match=f"of another training: .*{words}"):
        evaluate(**{**usual, **changes}, checkpoints=Checkpoints(file, resume=True))


def test_other_data_is_refused(toy: NodeData, toys: tuple[NodeData, ...], tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    with pytest.raises(InputError, match="of another training: other data"):
        trained(toys[1], checkpoints=Checkpoints(file, resume=True))


@pytest.mark.parametrize("kept", [0, 100, -100])
def test_a_damaged_file_is_refused(kept: int, toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(DataError, match="is damaged"):
        trained(toy, checkpoints=Checkpoints(file, resume=True))


def test_a_full_disk_leaves_the_checkpoint_before(
    toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    before = file.read_bytes()

    def full(*given: Any) -> None:
        given[1].write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_checkpoint, "write_tensors", full)
    with pytest.raises(OSError, match="No space left"):
        trained(toy, checkpoints=Checkpoints(file, every=0, resume=True))
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_only_long_trainings_have_checkpoints_of_their_own_accord(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(_checkpoint.time, "monotonic", lambda: clock[0])
    state = {"weights": torch.zeros(2)}
    for epochs, is_long in ((59, False), (61, True)):
        checkpoints = Checkpoints(tmp_path / f"{epochs}.checkpoint")
        clock[0] = 0.0
        checkpoints.begin(state, device=torch.device("cpu"))
        for epoch in range(1, 31):  # ten seconds each
            clock[0] = 10.0 * epoch
            checkpoints.after_epoch(lambda: state, epoch, epochs)
        assert checkpoints.is_active == is_long
        assert checkpoints.file.exists() == is_long


def test_a_short_training_that_is_stopped_writes_nothing(toy: NodeData, tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "toy.checkpoint")
    checkpoints.request_stop()
    with pytest.raises(StoppedError, match="nothing was written"):
        trained(toy, checkpoints=checkpoints)
    assert list(tmp_path.iterdir()) == []


def test_methods_without_a_loop_have_no_checkpoints(toy: NodeData, tmp_path: Path) -> None:
    for method in ("label_propagation", "semi_supervised_embedding"):
        with pytest.raises(InputError, match="no training that checkpoints could continue"):
            evaluate(method, toy, "fixed", checkpoints=Checkpoints(tmp_path / "x", every=0))


def test_a_negative_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must not be negative; got -1"):
        Checkpoints(tmp_path / "x", every=-1)
