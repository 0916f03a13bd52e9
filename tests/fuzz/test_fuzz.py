"""A short run of the fuzzer, and that each of its checks can fail."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import checkpoints
import http_requests
import label_files
import maps
import pytest
import queries
import searches
from folders import sign
from forked import Result
from inputs import wrong_probabilities
from mutants import changed_bytes, changed_json


def test_a_short_run_finds_nothing() -> None:
    counts = {
        "inputs": 32, "folders": 16, "maps": 6, "queries": 24, "labels": 8, "checkpoints": 16,
        "searches": 4, "configurations": 16, "kills": 2, "requests": 200, "seed": 1,
    }  # fmt: skip
    options = [word for name, n in counts.items() for word in (f"--{name}", str(n))]
    command = [sys.executable, str(Path(__file__).parent), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line[:14].strip() for line in done.stdout.splitlines()[-10:]]
    assert names == [
        "mutated inputs", "run folders", "maps", "queries", "label files", "checkpoints",
        "search files", "configurations", "kills", "requests",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        (Result(0, "fine", ""), None),
        (Result(2, "", "error: `x` must be y.\n"), None),
        (Result(2, "", "a warning\nerror: `x` must be y.\n"), None),
        (Result(1, "", "Traceback (most recent call last):\nKeyError: 3\n"), "traceback: KeyError"),
        (Result(2, "", ""), "no error in one line"),
        (Result(2, "", "error: one thing\nerror: another thing\n"), "no error in one line"),
        (Result(1, "", "error: `x` must be y.\n"), "exit code 1"),
        (Result(-signal.SIGXCPU, "", ""), "hang over 10 s"),
        (Result(-signal.SIGSEGV, "", ""), "exit code -11"),
    ],
)
def test_a_bad_end_of_a_command_is_noticed(result: Result, complaint: str | None) -> None:
    found = result.complaint()
    assert (found is None) if complaint is None else (found or "").startswith(complaint)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("p0,art,0.25,0.75,0.0", None),
        ("p0,art,nan,nan,0.0", "wrong load: probabilities"),
        ("p0,art,0.5,0.6,0.0", "wrong load: probabilities"),
        ("", "wrong load: no predictions"),
    ],
)
def test_wrong_probabilities_are_noticed(tmp_path: Path, rows: str, complaint: str | None) -> None:
    path = tmp_path / "p.csv"
    head = "id,prediction,probability_of_art,probability_of_sport,disagreement"
    path.write_text(f"{head}\n{rows}\n", encoding="utf-8")
    found = wrong_probabilities(path)
    assert (found is None) if complaint is None else (found or "").startswith(complaint)


@pytest.mark.parametrize(
    ("status", "content", "expected", "complaint"),
    [
        (200, b"yes", b"yes", None),
        (503, b'{"error": "busy"}', b"yes", None),
        (422, b'{"error": "no"}', None, None),
        (200, b"no", b"yes", "wrong answer"),
        (422, b'{"error": "no"}', b"yes", "a valid request got 422"),
        (500, b'{"error": "no"}', None, "status 500"),
        (422, b"no", None, "an error that is not JSON"),
        (422, b'{"detail": "no"}', None, "an error of another form"),
    ],
)
def test_a_wrong_answer_is_noticed(
    status: int, content: bytes, expected: bytes | None, complaint: str | None
) -> None:
    found = http_requests._wrong(status, content, expected)
    assert (found is None) if complaint is None else (found or "").startswith(complaint)


def test_a_strangers_map_on_the_page_is_noticed(tmp_path: Path) -> None:
    made, expected = tmp_path / "made.html", tmp_path / "expected.html"
    made.write_text("a")
    expected.write_text("a")
    check = maps._check(made, expected)
    assert check(Result(0, "", "")) is None
    assert "exit code 2" in (check(Result(2, "", "error: the map is damaged.\n")) or "")
    made.write_text("b")
    assert "a stranger's map" in (check(Result(0, "", "")) or "")


def test_what_a_query_writes_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    for name in ("people.sqlite", "stdout.txt", "stderr.txt"):
        (tmp_path / name).write_text("before")
    check = queries._check(path, b"before")
    assert check(Result(0, "", "")) is None
    path.write_text("after")
    assert check(Result(0, "", "")) == "a query changed the database"
    (tmp_path / "stolen.db").touch()
    assert "a query made files" in (check(Result(0, "", "")) or "")


def test_a_wrong_use_of_labels_is_noticed(tmp_path: Path) -> None:
    path, expected = tmp_path / "labels.csv", tmp_path / "expected.csv"
    path.write_text("id,class\n")
    head = "id,prediction,probability_of_art,probability_of_sport,disagreement"
    for name, share in (("predictions.csv", 0.25), ("expected.csv", 0.5)):
        (tmp_path / name).write_text(f"{head}\np0,art,{share},{1 - share},0.0\n")
    assert label_files._check(path, None)(Result(0, "", "")) is None
    same = label_files._check(path, expected)
    assert "other predictions" in (same(Result(0, "", "")) or "")
    assert "exit code 2" in (same(Result(2, "", "error: no labels in it.\n")) or "")
    (tmp_path / "new").mkdir()
    refused = Result(2, "", "error: no labels in it.\n")
    assert "half-written" in (label_files._check(path, None)(refused) or "")
    changed = label_files._check(path, None)
    path.write_text("id,class\n1,a\n")
    assert changed(Result(0, "", "")) == "the file of labels was changed"


def test_a_wrong_end_of_a_continued_training_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "model.safetensors").write_bytes(b"a")
    assert checkpoints._check(tmp_path, b"a")(Result(0, "", "")) is None
    assert checkpoints._check(tmp_path, None)(Result(0, "", "")) is None
    assert "another model" in (checkpoints._check(tmp_path, b"b")(Result(0, "", "")) or "")
    refused = Result(2, "", "error: the checkpoint is damaged.\n")
    for check in (checkpoints._check(tmp_path, None), searches._check(tmp_path)):
        assert "half-written" in (check(refused) or "")
    shutil.rmtree(tmp_path / "new")
    assert searches._check(tmp_path)(refused) is None
    assert "deleted the checkpoint" in (checkpoints._check(tmp_path, None)(refused) or "")
    (tmp_path / "new.checkpoint").touch()
    assert checkpoints._check(tmp_path, None)(refused) is None


def test_the_seed_fixes_the_mutants() -> None:
    document = {"a": [1, 2, {"b": None}], "c": "text"}
    for seed in range(50):
        one, two = random.Random(seed), random.Random(seed)  # noqa: S311
        assert changed_bytes(one, b"some bytes") == changed_bytes(two, b"some bytes")
        found = [json.dumps(changed_json(source, document)) for source in (one, two)]
        assert found[0] == found[1]
    assert document == {"a": [1, 2, {"b": None}], "c": "text"}


def test_a_signed_folder_has_the_checksums_of_its_files(tmp_path: Path) -> None:
    from agnn import evaluate, get_method, load_run, save_run
    from agnn.errors import DataError
    from explore_runs import explored_data

    run = evaluate(get_method("gcn")(epochs=2), explored_data(), "fixed", [0])
    save_run(run, tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    before = config.read_bytes()
    sign(tmp_path / "run")
    assert json.loads(config.read_bytes()) == json.loads(before)
    config.write_text(before.decode().replace('"seconds": ', '"seconds": 1'), encoding="utf-8")
    with pytest.raises(DataError, match="changed"):
        load_run(tmp_path / "run")
    sign(tmp_path / "run")
    load_run(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
