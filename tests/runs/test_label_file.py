"""Labels in a file that only grows: nothing that was kept is lost, nothing hostile gets in."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.errors import DataError, InputError
from agnn.runs import LabelFile, labels_csv, read_labels
from agnn.runs._label_file import LabelEntry


def named(toy: NodeData, ids: list[Any] | None = None, classes: Any = None) -> NodeData:
    """The toy data under other names."""
    return NodeData.build(
        name="own", features=toy.features, labels=toy.labels, edges=toy.edges,
        class_names=classes or ("a", 'b, "c"', "=d"), node_ids=ids,
    )  # fmt: skip


@pytest.fixture
def data(toy: NodeData) -> NodeData:
    return named(toy)


def test_what_is_given_is_there_again_and_undone_is_gone(data: NodeData, tmp_path: Path) -> None:
    path = tmp_path / "run.labels.jsonl"
    with LabelFile(path, data) as file:
        file.give([5, 8, 5], 2)
        file.give(np.array([5]), 0)
        assert file.labels == {5: 0, 8: 2}
        file.give([7], 1)
        assert file.undo() == LabelEntry((7,), 1)
        sizes = [path.stat().st_size]
    with LabelFile(path, data) as file:
        assert file.labels == {5: 0, 8: 2}
        assert file.entries == [LabelEntry((5, 8), 2), LabelEntry((5,), 0)]
        file.undo()
        assert file.labels == {5: 2, 8: 2}
        sizes.append(path.stat().st_size)
    assert sizes == sorted(sizes), "lines are only ever appended"
    assert [*json.loads(path.read_text().splitlines()[1])] == ["label", "nodes"]
    with LabelFile(path, data) as file:
        file.undo()
        with pytest.raises(InputError, match="there is no label to undo"):
            file.undo()
        assert file.labels == {}


def test_a_line_that_was_cut_off_anywhere_is_left_out_and_the_rest_is_there(
    data: NodeData, tmp_path: Path
) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path, data) as file:
        file.give([1], 0)
        file.give([2, 3], 1)
    whole = path.read_bytes()
    ends = [k for k, byte in enumerate(whole) if byte == 10]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        lines = sum(end <= size for end in ends)
        with LabelFile(path, data) as file:
            assert len(file.entries) == max(0, lines - 1)
            file.give([9], 2)
        assert read_labels(path, data)[9] == 2, "and the next line begins on a line of its own"


def test_a_last_line_without_its_line_end_is_a_label(data: NodeData, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path, data) as file:
        file.give([1], 0)
        file.give([2], 1)
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))  # as some editors leave it
    assert read_labels(path, data) == {1: 0, 2: 1}
    with LabelFile(path, data) as file:
        file.give([3], 2)
    assert read_labels(path, data) == {1: 0, 2: 1, 3: 2}


@pytest.mark.parametrize("how", ["replace", "unlink", "rename"])
def test_labels_are_refused_once_the_file_was_replaced_or_deleted(
    data: NodeData, tmp_path: Path, how: str
) -> None:
    path, other = tmp_path / "labels.jsonl", tmp_path / "other"
    with LabelFile(path, data) as file:
        file.give([1], 0)
        before = path.read_bytes()
        if how == "replace":
            other.write_bytes(before)
            other.replace(path)
        elif how == "unlink":
            path.unlink()
        else:
            path.rename(other)
        for _ in range(2):
            with pytest.raises(DataError, match=r"not kept: another program replaced or deleted '"):
                file.give([2], 1)
        with pytest.raises(DataError, match="not kept: another program"):
            file.undo()
        assert file.labels == {1: 0}
        remaining = {"replace": path, "unlink": None, "rename": other}[how]
        assert remaining is None or remaining.read_bytes() == before
    with LabelFile(path, data) as file:
        file.give([3], 2)
    assert read_labels(path, data)[3] == 2


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_pipes_devices_and_folders_are_refused(data: NodeData, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "labels.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(InputError, match=r"cannot be kept in '.*': it is not a plain file"):
        LabelFile(path, data)
    with pytest.raises(InputError, match=r"labels.jsonl' is not a plain file"):
        read_labels(path, data)


def test_a_label_is_on_the_disk_before_it_is_given(
    data: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "labels.jsonl", []
    real = os.fsync

    def fsync(handle: int) -> None:
        if not Path(f"/proc/self/fd/{handle}").is_dir():
            synced.append(path.read_bytes())
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with LabelFile(path, data) as file:
        file.give([4], 1)
        assert synced[-1].endswith(b'"nodes": ["4"]}\n')
        file.undo()
        assert synced[-1].endswith(b'{"undo": true}\n')


def test_a_full_disk_keeps_nothing_and_says_so(
    data: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path, data) as file:
        file.give([1], 0)
        before = path.read_bytes()

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(DataError, match=r"could not be written to .*: No space left"):
                file.give([2], 0)
        assert path.read_bytes() == before
        assert file.labels == {1: 0}
        file.give([3], 2)
    assert read_labels(path, data) == {1: 0, 3: 2}


def test_two_programs_do_not_write_to_one_file(data: NodeData, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path, data) as file:
        with pytest.raises(InputError, match="is in use by another program that gives labels"):
            LabelFile(path, data)
        file.give([2], 1)
        assert read_labels(path, data) == {2: 1}, "reading is possible"
    LabelFile(path, data).close()


@pytest.mark.parametrize(
    ("nodes", "label", "words"),
    [
        ([], 0, "there is no node to give a class to"),
        ([1, 10**6], 0, "there is no node 1000000; there are 0 to"),
        ([-1], 0, "there is no node -1"),
        ([1], 3, "there is no class 3; there are 0 to 2"),
        ([1], -1, "there is no class -1"),
    ],
)
def test_a_wrong_node_or_class_is_refused_and_not_kept(
    data: NodeData, tmp_path: Path, nodes: list[int], label: int, words: str
) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path, data) as file:
        size = path.stat().st_size
        with pytest.raises(InputError, match=words):
            file.give(nodes, label)
        assert path.stat().st_size == size


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"label": "a", "nodes": ["nobody"]}', "line 2: 'own' has no node 'nobody'"),
        ('{"label": "z", "nodes": ["1"]}', "line 2: 'own' has no class 'z'; it has a, b"),
        ('{"label": ["a"], "nodes": ["1"]}', "line 2: 'own' has no class"),
        ('{"nodes": ["1"]}', "line 2 is not a label"),
        ('{"label": "a", "nodes": 1}', "line 2 is not a label"),
        ('{"label": "a", "nodes": [["1"]]}', "line 2: 'own' has no node"),
        ("[1]", "line 2 is not a label"),
        ("\x00\xff", "line 2 is not a label"),
        ("[" * 100_000, "line 2 is not a label"),
        ('{"undo": true}', "line 2: there is nothing to undo"),
    ],
)
def test_a_damaged_line_is_refused_in_one_sentence_and_left_as_it_is(
    data: NodeData, tmp_path: Path, line: str, words: str
) -> None:
    path = tmp_path / "labels.jsonl"
    LabelFile(path, data).close()
    with path.open("ab") as stream:
        stream.write(line.encode("latin-1") + b"\n")
    before = path.read_bytes()
    for opened in (lambda: LabelFile(path, data), lambda: read_labels(path, data)):
        with pytest.raises(DataError, match=words) as caught:
            opened()
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_file_for_other_data_is_refused(toy: NodeData, data: NodeData, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    LabelFile(path, data).close()
    with pytest.raises(DataError, match="line 1: the labels are for other data"):
        LabelFile(path, named(toy, classes=("x", "y", "z")))
    path.write_text("id,class\n1,a\n")
    with pytest.raises(DataError, match="line 1 is not a label"):
        LabelFile(path, data)
    path.write_bytes(b"one line of somebody else, without an end")
    with pytest.raises(DataError, match="is not a file of labels"):
        LabelFile(path, data)
    assert path.read_bytes() == b"one line of somebody else, without an end"
    with pytest.raises(InputError, match="labels cannot be kept in"):
        LabelFile(tmp_path / "no" / "labels.jsonl", data)


def test_a_table_of_labels_goes_round(toy: NodeData, tmp_path: Path) -> None:
    ids = [f"n, {k}\nx" if k % 2 else f"Ünïcode “{k}”" for k in range(toy.nodes)]
    data = named(toy, ids)
    labels = {3: 1, 0: 2, 8: 0}
    path = tmp_path / "labels.csv"
    path.write_text(labels_csv(data, labels), encoding="utf-8")
    assert path.read_text(encoding="utf-8").startswith("id,class\n")
    assert read_labels(path, data) == labels
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as spreadsheets write it
    assert read_labels(path, data) == labels


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "id,class\n1\n",
            "line 2: there is no second column. The first two columns are the id and",
        ),
        ("id,class\n1,a\n\n999999,a\n", "line 4: 'own' has no node '999999'"),
        ("id,class\n1,zzz\n", "line 2: 'own' has no class 'zzz'"),
        ("id,class\n1,\n", "correct the row or leave it out"),
        ("id,class\n1,a\n1,=d\n", "line 3: the node '1' is there twice, with two classes"),
        ("id,class\n", "has no labels"),
        ("1,a\n2,=d\n", "line 1 is a label; the first line must name the columns"),
        ("1,zzz\n2,=d\n", "line 1 is a label; the first line must name the columns"),
        ("nobody,a\n2,=d\n", "line 1 is a label; the first line must name the columns"),
        ("", "has no labels"),
    ],
)
def test_a_wrong_table_is_refused(data: NodeData, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_labels(path, data)
    path.write_bytes(b"id,class\n\xff\xfe,a\n")
    with pytest.raises(DataError, match="cannot be read as a table"):
        read_labels(path, data)
    with pytest.raises(InputError, match="does not exist"):
        read_labels(tmp_path / "none.csv", data)
