"""Runs as text: the same bytes each time, back without loss, and checked on the way."""

from __future__ import annotations

import json

import pytest
from small_tables import stored_run

from agnn.errors import DataError
from agnn.studies import Store
from agnn.studies._works import RunSpec

SPEC = RunSpec.from_values({"method": "agnn", "split": "fixed"})
FOLDS = RunSpec.from_values({"method": "agnn", "split": "3-fold"})


@pytest.fixture
def filled(store):
    store.add(SPEC, [stored_run(spec=SPEC.hash, seed=seed) for seed in (2, 0, 1)])
    store.add(FOLDS, [stored_run(spec=FOLDS.hash, split="3-fold", betas=None)])
    return store


def test_what_is_exported_comes_back(filled, tmp_path):
    files = filled.export_rows(tmp_path)
    assert sorted(file.name for file in files) == ["3-fold.jsonl", "fixed.jsonl"]
    again = Store.in_memory()
    assert again.import_rows(tmp_path) == 4
    assert again.runs() == filled.runs()
    assert again.import_rows(tmp_path) == 0


def test_a_line_says_on_which_machine_its_runs_were_made(store, tmp_path):
    where = {"processor": "EPYC", "cores": 8, "threads": 4, "memory": None}
    store.add(SPEC, [stored_run(spec=SPEC.hash, machine=where), stored_run(spec=SPEC.hash, seed=1)])
    store.export_rows(tmp_path)
    lines = (tmp_path / "fixed.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["machine"] for line in lines] == [where, {}]
    again = Store.in_memory()
    again.import_rows(tmp_path)
    assert again.runs() == store.runs()


def test_a_line_holds_the_runs_of_one_cell_in_order(filled, tmp_path):
    filled.export_rows(tmp_path)
    (line,) = (tmp_path / "fixed.jsonl").read_text(encoding="utf-8").splitlines()
    values = json.loads(line)
    assert values["seed"] == [0, 1, 2]
    assert values["specification"] == SPEC.values


def test_a_second_export_gives_the_same_bytes_and_loses_nothing(filled, tmp_path):
    filled.export_rows(tmp_path)
    before = (tmp_path / "fixed.jsonl").read_bytes()
    filled.export_rows(tmp_path)
    assert (tmp_path / "fixed.jsonl").read_bytes() == before
    other = Store.in_memory()
    other.add(SPEC, [stored_run(spec=SPEC.hash, seed=9)])
    other.export_rows(tmp_path)
    assert Store.in_memory().import_rows(tmp_path) == 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"3-fold"', '"5-fold"', 2), "has the hash"),
        (lambda text: text[:-30], "line 1: not an exported run"),
        (lambda text: text.replace('"seed": [0]', '"seed": [0, 1]'), "line 1: not an exported run"),
        (lambda text: text.replace('"seed"', '"sede"'), "line 1: not an exported run"),
    ],
)
def test_a_line_that_was_changed_by_hand_is_refused(filled, tmp_path, change, said):
    filled.export_rows(tmp_path)
    file = tmp_path / "3-fold.jsonl"
    text = file.read_text(encoding="utf-8")
    file.write_text(change(text), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != text
    with pytest.raises(DataError, match=said):
        Store.in_memory().import_rows(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="is not a folder of exported runs"):
        Store.in_memory().import_rows(tmp_path / "none")
