"""Checkpoints: a training that was stopped ends with the same bits as one that was not."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from agnn.data import NodeData
from agnn.errors import AgnnError, DataError, InputError, StoppedError
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


def test_the_folder_is_there_before_the_first_epoch(toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "runs" / "july" / "toy.checkpoint"
    folders = []
    checkpoints = Checkpoints(file)
    trained(toy, checkpoints=checkpoints, progress=lambda *_: folders.append(file.parent.is_dir()))
    assert folders == [True] * EPOCHS
    stopped_at(3, toy, "agnn", file, resume=False)
    assert file.is_file()


def test_a_folder_that_cannot_be_written_is_refused_before_the_first_epoch(
    toy: NodeData, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("a file")
    epochs = []
    with pytest.raises(
        InputError, match=r"cannot be written to '.*runs/july': Not a directory; .*--out"
    ):
        trained(
            toy, checkpoints=Checkpoints(tmp_path / "runs" / "july" / "toy.checkpoint"),
            progress=lambda *done: epochs.append(done),
        )  # fmt: skip
    assert epochs == []


def test_a_folder_that_is_removed_meanwhile_is_created_again(toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "runs" / "toy.checkpoint"
    checkpoints = Checkpoints(file, every=0)

    def progress(done: int, _: int) -> None:
        if done == 4:
            shutil.rmtree(file.parent)

    expected = trained(toy)
    assert_same_bits(trained(toy, progress=progress, checkpoints=checkpoints), expected)
    assert_same_bits(trained(toy, checkpoints=Checkpoints(file, resume=True)), expected)


@pytest.mark.parametrize("kept", [0, 100, -100])
def test_a_damaged_file_is_refused(kept: int, toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"is damaged .*; delete it and start again"):
        trained(toy, checkpoints=Checkpoints(file, resume=True))


def rewrite(file: Path, changed: Callable[[dict[str, str], dict[str, Any]], None]) -> None:
    """Change a checkpoint as somebody would who knows how its checksum is computed."""
    with safe_open(file, "pt") as stream:
        facts = stream.metadata()
        tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    del facts["sha256"]
    changed(facts, tensors)
    save_file(tensors, file, {**facts, "sha256": _checkpoint._digest(tensors, facts)})


@pytest.mark.parametrize("byte", [3, 1000, 5000, -1])
def test_a_changed_bit_is_refused(byte: int, toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    content = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")  # of the tensors, after the header
    content[byte if byte < 0 else start + byte] ^= 0x10
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"content has changed since .*; delete it and start again"):
        trained(toy, checkpoints=Checkpoints(file, resume=True))


def test_a_changed_header_is_refused(toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    content = file.read_bytes()
    assert b'"epoch":"3"' in content
    file.write_bytes(content.replace(b'"epoch":"3"', b'"epoch":"9"'))
    with pytest.raises(DataError, match="content has changed since"):
        trained(toy, checkpoints=Checkpoints(file, resume=True))


@pytest.mark.parametrize(("name", "value"), [
    ("epoch", None), ("epoch", "soon"), ("epoch", "-5"), ("epoch", "0"), ("epoch", "1000"),
    ("epoch", "9" * 5000), ("seconds", None), ("seconds", "nan"), ("seconds", "-1"),
    ("seconds", "inf"), ("about", None), ("about", "[" * 100_000), ("about", "[]"),
    ("format", "agnn checkpoint 1"),
])  # fmt: skip
def test_an_invalid_header_is_refused(
    name: str, value: str | None, toy: NodeData, tmp_path: Path
) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)

    def change(facts: dict[str, str], _: dict[str, Any]) -> None:
        del facts[name]
        if value is not None:
            facts[name] = value

    rewrite(file, change)
    with pytest.raises(DataError, match=r"toy.checkpoint' .*; delete it and start again"):
        trained(toy, checkpoints=Checkpoints(file, resume=True))


def test_states_that_are_no_numbers_end_as_any_diverged_training(
    toy: NodeData, tmp_path: Path
) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)

    def spoil(_: dict[str, str], tensors: dict[str, Any]) -> None:
        for tensor in tensors.values():
            if tensor.is_floating_point():
                tensor.fill_(torch.nan)

    rewrite(file, spoil)
    with pytest.raises(AgnnError, match="diverged"):
        trained(toy, checkpoints=Checkpoints(file, resume=True))


def test_a_pipe_in_place_of_a_checkpoint_is_refused(toy: NodeData, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "toy.checkpoint")
    with pytest.raises(DataError, match="is not a plain file"):
        trained(toy, checkpoints=Checkpoints(tmp_path / "toy.checkpoint", resume=True))


def full_disk(*given: Any) -> None:
    given[1].write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_checkpoint_that_cannot_be_written_warns_once_and_training_goes_on(
    toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "toy.checkpoint"
    stopped_at(3, toy, "agnn", file, resume=False)
    before = file.read_bytes()
    monkeypatch.setattr(_checkpoint, "write_tensors", full_disk)
    with pytest.warns(UserWarning, match="cannot be written") as caught:
        run = trained(toy, checkpoints=Checkpoints(file, every=0, resume=True))
    assert [str(warning.message) for warning in caught] == [
        f"the checkpoint '{file}' cannot be written (No space left on device); the training goes "
        f"on. The one after epoch 3 is still there; --resume (`resume=True`) continues it."
    ]
    assert_same_bits(run, trained(toy))
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("has_earlier", [False, True])
def test_a_stop_says_what_is_kept_where_the_last_checkpoint_cannot_be_written(
    has_earlier: bool, toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "toy.checkpoint"
    if has_earlier:
        stopped_at(3, toy, "agnn", file, resume=False)
    monkeypatch.setattr(_checkpoint, "write_tensors", full_disk)
    checkpoints = Checkpoints(file, every=1e9, resume=has_earlier)
    checkpoints.on_warning = lambda _: None
    checkpoints.request_stop()
    words = "after epoch 3 is in .* --resume" if has_earlier else "and nothing is kept"
    with pytest.raises(StoppedError, match=rf"cannot be written \(No space left.*{words}"):
        trained(toy, checkpoints=checkpoints)


def test_two_trainings_do_not_share_a_checkpoint(toy: NodeData, tmp_path: Path) -> None:
    file = tmp_path / "toy.checkpoint"
    refused = []

    def start_another(done: int, _: int) -> None:
        if done == 3:
            with pytest.raises(InputError, match=r"another process is writing '.*; wait until"):
                trained(toy, checkpoints=Checkpoints(file, resume=True))
            refused.append(done)
            Checkpoints(file).remove()  # as one that has ended meanwhile
            assert file.exists()

    trained(toy, progress=start_another, checkpoints=Checkpoints(file, every=0))
    assert refused == [3]
    Checkpoints(file).remove()
    assert list(tmp_path.iterdir()) == []


def test_only_long_trainings_have_checkpoints_of_their_own_accord(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(_checkpoint.time, "monotonic", lambda: clock[0])
    state = {"weights": torch.zeros(2)}
    for epochs, is_long in ((59, False), (61, True)):
        checkpoints = Checkpoints(tmp_path / f"{epochs}.checkpoint")
        clock[0] = 0.0
        checkpoints.begin(state, epochs, device=torch.device("cpu"))
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
