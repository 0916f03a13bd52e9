"""A tuned row chooses once, by its first seeds, and every batch runs what was chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch

import agnn.studies._executor as executor
from agnn.choosing import Tuned
from agnn.methods import Method, Outcome, Task
from agnn.studies._batches import Batch, method_choice, share_data
from agnn.studies._executor import execute
from agnn.studies._works import Work


@dataclass(frozen=True)
class Guess(Method):
    """Answers one class everywhere; which one is tuned."""

    name: ClassVar[str] = "guess"
    title: ClassVar[str] = "Guess"
    cites: ClassVar[str] = "nobody"
    grid = {"answer": (0, 1, 2)}  # noqa: RUF012 (as the methods have it)
    seen: ClassVar[list[tuple[int, tuple[int, ...]]]] = []
    backends: ClassVar[set[str]] = set()

    answer: int = 0

    def run(self, task: Task) -> Outcome:
        self.seen.append((self.answer, task.seeds))
        self.backends.add(task.backend)
        scores = torch.zeros(len(task.seeds), task.data.nodes, task.data.classes)
        scores[:, :, self.answer] = 1.0
        return Outcome(scores)


@pytest.fixture
def work(toy):
    Guess.seen.clear()
    return Work("t", "Guess", Tuned(Guess()), toy, "fixed", None, tuple(range(4)))


def best(toy) -> int:
    labels = toy.labels[toy.split("fixed").validation]
    return int(torch.bincount(torch.tensor(labels)).argmax())


def test_the_choice_is_made_once_and_kept_with_every_run(work, toy, store):
    assert execute([work], store).new == 4
    choosing, running = Guess.seen[:3], Guess.seen[3:]
    assert choosing == [(answer, (0, 1, 2)) for answer in (0, 1, 2)]
    assert running == [(best(toy), (seed,)) for seed in range(4)]
    assert {run.extra["chosen"]["answer"] for run in store.runs(work.key)} == {best(toy)}


def test_every_operation_may_choose_its_backend_while_a_row_is_tuned_and_run(work, store):
    Guess.backends.clear()
    execute([work], store, backend="auto")
    assert Guess.backends == {"auto"}


def batch_of(work: Work) -> Batch:
    return Batch(work, share_data(work.data), "auto", "auto", work.seeds)


def test_a_method_without_chance_chooses_by_its_one_seed(toy):
    Guess.seen.clear()
    work = Work("t", "Guess", Tuned(Guess()), toy, "fixed", None, (0,))
    chosen, _ = method_choice(batch_of(work))
    assert chosen == Guess(best(toy))
    assert {seeds for _, seeds in Guess.seen} == {(0,)}


def test_with_a_split_for_every_seed_each_makes_its_own_choice(toy):
    work = Work("t", "Guess", Tuned(Guess()), toy, "uniform", None, (0, 1))
    assert method_choice(batch_of(work)) == (work.method, None)


@pytest.mark.parametrize("size", [1, 2])
def test_every_fold_s_own_choice_is_kept_with_its_trial(toy, store, monkeypatch, size):
    own = iter(range(100))

    def chosen_by_fold(_, task):
        outcome = Guess(0).run(task)
        return replace(outcome, chosen=tuple({"answer": next(own)} for _ in task.seeds))

    monkeypatch.setattr(Tuned, "run", chosen_by_fold)
    monkeypatch.setattr(executor, "_batch_size", lambda *_: size)
    work = Work("t", "Guess", Tuned(Guess()), toy, "3-fold-nested", None, (0, 1))
    execute([work], store)
    kept = [[each["answer"] for each in run.extra["chosen"]] for run in store.runs(work.key)]
    assert kept == [[0, 1, 2], [3, 4, 5]]
