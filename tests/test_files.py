"""Files are written completely or not at all, and JSON values are plain."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from agnn import files
from agnn.errors import DataError, InputError, UnavailableError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def write_half(writing, name: str) -> None:
    with writing as draft:
        (draft / name).write_text("half")
        raise RuntimeError("halfway")


def test_a_file_is_there_with_its_content_and_nothing_else_is(tmp_path):
    files.write_file(tmp_path / "a.txt", "text")
    assert (tmp_path / "a.txt").read_text() == "text"
    assert names(tmp_path) == ["a.txt"]


def test_an_existing_file_is_refused_or_replaced_on_request(tmp_path):
    path = tmp_path / "a.txt"
    files.write_file(path, "old")
    with pytest.raises(InputError, match="exists already"):
        files.write_file(path, "new")
    assert path.read_text() == "old"
    files.write_file(path, "new", replace=True)
    assert path.read_text() == "new"


@pytest.mark.parametrize("replace", [False, True])
def test_after_an_error_the_folder_is_as_before(tmp_path, replace):
    path = tmp_path / "a.txt"
    if replace:
        path.write_text("old")
    with pytest.raises(RuntimeError, match="halfway"):
        write_half(files.writing_file(path, replace=replace), "")
    assert names(tmp_path) == (["a.txt"] if replace else [])


def test_a_file_that_came_into_being_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "a.txt"
    writing = files.writing_file(path)
    writing.__enter__().write_text("mine")
    path.write_text("theirs")
    with pytest.raises(FileExistsError, match="File exists"):
        writing.__exit__(None, None, None)
    assert path.read_text() == "theirs"


def test_a_file_system_without_hard_links_still_gets_the_file(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    files.write_file(tmp_path / "a.txt", "text")
    assert (tmp_path / "a.txt").read_text() == "text"


KILLED = """
import os, sys
from agnn import files
with files.writing_folder(sys.argv[1]) as draft:
    (draft / "half").write_text("half")
    os.kill(os.getpid(), 9)
"""


def kill_a_writer(target: Path) -> None:
    code = subprocess.run([sys.executable, "-c", KILLED, target], check=False).returncode  # noqa: S603
    assert code == -signal.SIGKILL


def test_what_killed_writers_left_is_removed_by_the_next_one_of_the_same_target(tmp_path):
    for name in ("run", "run", "other"):
        kill_a_writer(tmp_path / name)
    left = names(tmp_path)
    assert len([name for name in left if name.startswith(".run-")]) == 1  # the second removed one
    mine = tmp_path / ".run-notes"
    mine.mkdir()
    with files.writing_folder(tmp_path / "run"):
        pass
    assert [name.partition("-")[0] for name in names(tmp_path)] == [".other", ".run", "half", "run"]
    assert mine.is_dir()


def test_a_draft_in_use_is_not_removed(tmp_path):
    with files.writing_folder(tmp_path / "run") as first:
        (first / "a").write_text("mine")
        with pytest.raises(RuntimeError, match="halfway"):
            write_half(files.writing_folder(tmp_path / "run"), "b")
    assert names(tmp_path) == ["a", "run"]


def test_a_path_is_claimed_by_one_process_until_it_ends(tmp_path):
    path = tmp_path / "a"
    kill_a_writer(path)
    assert not files.is_claimed(path)
    with files.claim(path):
        assert files.is_claimed(path)
        assert not files.is_claimed(tmp_path / "b")
        with pytest.raises(InputError, match="another process is writing"), files.claim(path):
            pass
        files.write_file(path, "of the one that claims it", replace=True)
        assert files.is_claimed(path)
    assert not files.is_claimed(path)
    assert names(tmp_path) == ["a"]


def test_a_folder_is_there_complete_or_not_at_all(tmp_path):
    with files.writing_folder(tmp_path / "x" / "y") as draft:
        (draft / "a").write_text("1")
    assert names(tmp_path) == ["a", "x", "y"]
    with pytest.raises(RuntimeError, match="halfway"):
        write_half(files.writing_folder(tmp_path / "p" / "q"), "a")
    assert names(tmp_path) == ["a", "x", "y"]
    with pytest.raises(InputError, match="exists already"):
        files.check_new_folder(tmp_path / "x")


def test_all_files_and_folders_have_the_mode_that_the_umask_gives(tmp_path):
    before = os.umask(0o027)
    try:
        with files.writing_folder(tmp_path / "run") as draft:
            (draft / "a.json").write_text("{}")
            files.write_tensors({"w": torch.zeros(2)}, draft / "w.safetensors")
        files.write_file(tmp_path / "b.txt", "x")
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}
    assert modes == {"run": 0o750, "a.json": 0o640, "w.safetensors": 0o640, "b.txt": 0o640}


def test_tensors_round_trip(tmp_path):
    files.write_tensors({"w": torch.arange(6).reshape(2, 3).T}, tmp_path / "w")
    assert torch.equal(load_file(tmp_path / "w")["w"], torch.tensor([[0, 3], [1, 4], [2, 5]]))


@pytest.mark.parametrize(("words", "number"), [
    ("I/O error: No space left on device (os error 28)", errno.ENOSPC),
    ("Error while serializing: I/O error: File too large (os error 27)", errno.EFBIG),
    ("something else", errno.EIO),
])  # fmt: skip
def test_a_full_disk_is_the_same_error_for_tensors_as_for_any_file(
    tmp_path, monkeypatch, words, number
):
    from safetensors import SafetensorError

    def fail(*_, **__):
        raise SafetensorError(words)

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(OSError, match="w") as caught:
        files.write_tensors({"w": torch.zeros(1)}, tmp_path / "w")
    assert caught.value.errno == number
    assert caught.value.filename == str(tmp_path / "w")


def test_a_disk_with_too_little_space_is_named_before_the_work(tmp_path):
    files.check_space(tmp_path / "x" / "y", 1)
    with pytest.raises(UnavailableError, match=r"needs about 1,000,000,000.0 MB, but its disk has"):
        files.check_space(tmp_path / "x" / "y", 10**15)


def test_values_become_plain_json():
    value = {
        1: np.float64("nan"), "id": np.int64(7), "list": (np.array([1.5, np.inf]), {3, 2}),
        "path": Path("a/b"), "none": None, "flag": np.bool_(True), "tensor": torch.tensor([1]),
    }  # fmt: skip
    assert json.loads(files.json_text(value)) == {
        "1": None, "id": 7, "list": [[1.5, None], [2, 3]], "path": "a/b", "none": None,
        "flag": True, "tensor": [1],
    }  # fmt: skip


@pytest.mark.parametrize(("own", "shown"), [
    (np.int64(3), 3), ("a", "a"), (np.str_("a"), "a"), (2.5, 2.5), (float("nan"), "nan"),
    (True, "True"), ((1, 2), "(1, 2)"), (None, "None"),
])  # fmt: skip
def test_ids_become_text_or_numbers(own, shown):
    assert files.plain_id(own) == shown
    assert type(files.plain_id(own)) is type(shown)


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe{}", b"[" * 200_000, b"", b'{"a": 1} x'])
def test_damaged_json_is_one_clear_line(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.json does not hold valid JSON"):
        files.read_json(path)


def test_a_checksum_changes_with_one_bit(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"abd")
    assert files.checksum(tmp_path / "a") != files.checksum(tmp_path / "b")
    assert files.checksum(tmp_path / "a").startswith("ba7816bf")
