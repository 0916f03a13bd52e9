"""A search for hyper-parameters: on validation nodes only, kept on disk, resumed."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from agnn.choosing import Search
from agnn.data import NodeData, make_splits
from agnn.errors import DataError, DivergedError, InputError, UnavailableError
from agnn.methods import Method, Outcome, Task, get_method

CALLS: list[dict[str, float]] = []


@dataclass(frozen=True)
class Peaked(Method):
    """As many validation nodes right as dropout is near 0.5; a test node is never right."""

    name: ClassVar[str] = "peaked"
    title: ClassVar[str] = "Peaked"
    cites: ClassVar[str] = ""

    dropout: float = 0.1
    layers: int = 2

    def run(self, task: Task) -> Outcome:
        CALLS.append(self.settings)
        scores = torch.zeros(len(task.seeds), task.data.nodes, task.data.classes)
        for r, split in enumerate(task.splits):
            wrong = torch.tensor((task.data.labels + 1) % task.data.classes)
            scores[r, torch.arange(task.data.nodes), wrong] = 1.0
            share = 1 - 2 * abs(self.dropout - 0.5)
            right = split.validation[: round(share * split.validation.size)].copy()
            scores[r, right] = 0.0
            scores[r, right, task.data.labels[right]] = 1.0
        return Outcome(scores)


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def task(data: NodeData, seeds: tuple[int, ...] = (0, 1)) -> Task:
    return Task(data, make_splits(data, "fixed", seeds), seeds)


def look(data: NodeData, file: Path, trials: int, **changes: object) -> Method:
    return Search(trials, file, **changes).choose(Peaked(), task(data))


@dataclass(frozen=True)
class Fragile(Peaked):
    """Diverges where dropout is below 0.5."""

    def run(self, task: Task) -> Outcome:
        if self.dropout < 0.5:
            raise DivergedError("diverged")
        return super().run(task)


def test_a_trial_that_diverges_loses_and_the_search_goes_on(toy: NodeData, tmp_path: Path) -> None:
    found = Search(12, tmp_path / "s.sqlite").choose(Fragile(), task(toy))
    assert found.dropout >= 0.5


def test_the_best_on_validation_nodes_is_found_and_the_start_is_tried_first(
    toy: NodeData, tmp_path: Path
) -> None:
    found = look(toy, tmp_path / "s.sqlite", 25)
    assert abs(found.dropout - 0.5) < 0.1
    assert CALLS[0] == {"dropout": 0.1, "layers": 2}
    assert len(CALLS) == 25


def test_a_search_goes_on_where_it_stopped(toy: NodeData, tmp_path: Path) -> None:
    look(toy, tmp_path / "s.sqlite", 4)
    look(toy, tmp_path / "s.sqlite", 6)
    assert len(CALLS) == 6
    again = look(toy, tmp_path / "s.sqlite", 6)
    assert len(CALLS) == 6
    best = max(CALLS, key=lambda each: -abs(each["dropout"] - 0.5))
    assert again.settings == best


def test_other_data_is_another_search_and_test_labels_do_not_matter(
    toy: NodeData, tmp_path: Path
) -> None:
    one = look(toy, tmp_path / "a.sqlite", 5)
    labels = toy.labels.copy()
    test = toy.split("fixed").test
    labels[test] = np.roll(labels[test], 1)
    other = look(replace(toy, labels=labels), tmp_path / "a.sqlite", 5)
    assert len(CALLS) == 10
    assert one == other


def test_what_the_user_set_stays(toy: NodeData, tmp_path: Path) -> None:
    look(toy, tmp_path / "s.sqlite", 4, fixed=frozenset({"layers"}))
    assert {each["layers"] for each in CALLS} == {2}


def test_a_network_is_searched_for_real(toy: NodeData, tmp_path: Path) -> None:
    base = get_method("gcn")(epochs=3)
    found = Search(2, tmp_path / "s.sqlite").choose(base, task(toy, (0,)))
    assert found.epochs == 3


def test_mistakes_are_one_line(toy: NodeData, tmp_path: Path) -> None:
    (tmp_path / "noise.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match=r"'.*noise\.sqlite' is not a search file"):
        look(toy, tmp_path / "noise.sqlite", 1)
    with pytest.raises(InputError, match="there is no folder"):
        look(toy, tmp_path / "no" / "s.sqlite", 1)
    with pytest.raises(InputError, match="must be at least 1; got 0"):
        look(toy, tmp_path / "s.sqlite", 0)
    with pytest.raises(InputError, match="peaked has nothing left to search over"):
        look(toy, tmp_path / "s.sqlite", 1, fixed=frozenset({"layers", "dropout"}))


@pytest.mark.parametrize("when", ["made", "used"])
def test_a_full_disk_is_not_called_damage(
    toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    file = tmp_path / "s.sqlite"
    if when == "used":
        look(toy, file, 2)

    class Full(sqlite3.Connection):
        def cursor(self, factory: Any = None) -> Any:
            return super().cursor(FullCursor)

    class FullCursor(sqlite3.Cursor):
        def execute(self, words: str, *rest: Any) -> Any:
            if words.lstrip().upper().startswith(("INSERT", "CREATE", "UPDATE")):
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return super().execute(words, *rest)

    real = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Full))
        patch.setattr("sqlite3.dbapi2.connect", sqlite3.connect)
        with pytest.raises(UnavailableError, match=r"cannot be used \(database or disk is full\)"):
            look(toy, file, 3)
    assert file.exists() == (when == "used")
    look(toy, file, 3)
    assert len(CALLS) >= 3


def spread(data: NodeData, file: Path, workers: int, trials: int = 25) -> Method:
    with ThreadPoolExecutor(workers) as pool:
        return Search(trials, file, executor=pool).choose(Peaked(), task(data))


def test_a_search_on_workers_does_not_depend_on_how_many(toy: NodeData, tmp_path: Path) -> None:
    found = []
    for workers in (1, 3):
        best = spread(toy, tmp_path / f"{workers}.sqlite", workers)
        found.append((best, sorted(each["dropout"] for each in CALLS)))
        CALLS.clear()
    assert found[0] == found[1]
    assert abs(found[0][0].dropout - 0.5) < 0.2
    spread(toy, tmp_path / "ten.sqlite", 3, trials=10)
    tried = sorted(each["dropout"] for each in CALLS)
    CALLS.clear()
    look(toy, tmp_path / "here.sqlite", 10)
    assert tried == sorted(each["dropout"] for each in CALLS), "the first ten know no result"


def test_a_worker_that_fails_ends_the_search_and_keeps_what_is_finished(
    toy: NodeData, tmp_path: Path
) -> None:
    @dataclass(frozen=True)
    class Failing(Peaked):
        def run(self, task: Task) -> Outcome:
            if len(CALLS) == 3:
                raise InputError("no more")
            return super().run(task)

    file = tmp_path / "s.sqlite"
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="no more"):
        Search(8, file, executor=pool).choose(Failing(), task(toy))
    before = len(CALLS)
    assert before == 3
    CALLS.clear()
    Search(8, file).choose(Peaked(), task(toy))
    assert len(CALLS) == 8 - before


def test_a_journal_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "s.journal").write_text('{"op_code": 99}\n')
    with pytest.raises(InputError, match=r"s\.journal': .* ends in \.sqlite\. --executor dask"):
        Search(3, tmp_path / "s.journal")


def test_a_pipe_is_no_search_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.sqlite")
    with pytest.raises(DataError, match=r"s\.sqlite is not a plain file"):
        Search(3, tmp_path / "s.sqlite")


@pytest.mark.parametrize(
    "name", ["s?x=1.sqlite", "s#1%20.sqlite", "s{0} é.sqlite", "file:s.sqlite"]
)
def test_a_search_is_kept_under_the_name_that_was_given(
    name: str, toy: NodeData, tmp_path: Path
) -> None:
    look(toy, tmp_path / name, 2)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    before = len(CALLS)
    look(toy, tmp_path / name, 2)
    assert len(CALLS) == before


def test_validation_nodes_that_others_test_make_a_search_optimistic(toy):
    fixed, drawn = (make_splits(toy, spec, range(4)) for spec in ("fixed", "stratified"))
    assert Search.optimism(fixed) is None
    assert "slightly optimistic" in Search.optimism(drawn)
    assert Search.optimism(make_splits(toy, "stratified", [0])) is None
    assert "slightly optimistic" in Search.optimism(make_splits(toy, "stratified-3-fold", [0]), 3)
