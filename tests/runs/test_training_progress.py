"""What is shown while a training runs: in a terminal, in a notebook and in a file."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from rich.console import Console

import agnn
from agnn.data import NodeData
from agnn.progress import EpochState, TrainingProgress, training_progress
from agnn.training import BestSoFar, Callback, EpochReport


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.perf_counter", made)
    return made


def told(clock: Clock, seconds: float, epochs: int, total: int, best: Any = None) -> list[str]:
    """The lines of a training whose epochs take so long."""
    file = io.StringIO()
    with training_progress(Console(file=file, width=300), "Training") as progress:
        for done in range(1, epochs + 1):
            progress._best = best
            progress(done, total)
            clock.now += seconds
    return file.getvalue().splitlines()


def test_after_the_first_epochs_a_long_training_says_how_long(clock: Clock) -> None:
    lines = told(clock, 2.0, 6, 1006)
    assert lines == ["Training, up to 1006 epochs", "up to 33 min to go"]


def test_where_an_epoch_is_long_two_of_them_say_how_long(clock: Clock) -> None:
    assert told(clock, 60.0, 2, 102) == ["Training, up to 102 epochs", "up to 1.7 h to go"]


def test_a_file_gets_a_line_now_and_then_and_ever_more_rarely(clock: Clock) -> None:
    lines = told(clock, 1.0, 1000, 1000, BestSoFar(0.69, 160, 610))
    assert lines[2] == (
        "epoch 16 of at most 1000; best held-out accuracy 69.0 % in epoch 160; stops at epoch 610 "
        "unless it improves, in about 9.9 min; at the latest at epoch 1000, in about 16 min"
    )
    epochs = [int(re.findall("epoch ([0-9]+)", line)[0]) for line in lines[2:]]
    assert epochs == [16, 46, 106, 226, 466, 706, 946]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (EpochState("", 3, 9), ""),
        (EpochState("", 3, 9, 10.0), "at the latest at epoch 9, in about 60 s"),
        (
            EpochState("", 3, 9, None, BestSoFar(-0.5, 2, 9), "log_loss"),
            "best held-out log loss 0.500 in epoch 2",
        ),
        (
            EpochState("", 3, 9, None, BestSoFar(0.5, 2, 7), "best"),
            "best held-out score 0.500 in epoch 2; stops at epoch 7 unless it improves",
        ),
    ],
)
def test_the_details_have_what_is_known(state: EpochState, expected: str) -> None:
    assert state.details == expected


def test_the_best_so_far_is_of_the_epochs_that_would_be_kept() -> None:
    curve = torch.zeros(101, 3)
    curve[4, 0] = 0.6
    curve[7, 1] = 0.8
    report = EpochReport(
        10, 100, torch.zeros(3), torch.zeros(3), curve[10],
        curve=curve,
        kept_epochs=torch.tensor([4, 7, 0]),  # the third has diverged at once
        patience_left=torch.tensor([14, 17, 3]),
    )  # fmt: skip
    best = report.best()
    assert best is not None
    assert best.score == pytest.approx(0.7)
    assert best[1:] == (7, 27)


@pytest.mark.parametrize("split", ["stratified", "cross-fit"])
def test_the_announced_end_is_where_a_training_without_progress_stops(
    toy: NodeData, split: str
) -> None:
    seen: list[BestSoFar | None] = []

    class Best(Callback):
        def epoch(self, report: EpochReport) -> None:
            seen.append(report.best())

    changes = {"epochs": 400, "stop_after": 15, "learning_rate": 0.1}
    run = agnn.evaluate("agnn", toy, split, replicas=3, changes=changes, callbacks=[Best()])
    assert run.history is not None
    last = seen[-1]
    assert last is not None
    epochs = len(run.history.training_loss)
    assert epochs < 400
    # All replicas have stopped; the loop asks every ten epochs.
    assert epochs - 10 <= last.ends <= epochs
    assert last.epoch == int(run.history.selected_epochs.max())


def test_a_terminal_shows_a_bar_with_the_best_score(toy: NodeData) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=200)
    with training_progress(console) as progress:
        agnn.evaluate("gcn", toy, replicas=2, changes={"epochs": 30}, progress=progress)
        progress._read = float("-inf")
        console.print("end")
    shown = file.getvalue()
    assert "Training GCN on toy" in shown
    assert "of at most 30" in shown
    assert "best held-out accuracy" in shown


class Display:
    """IPython's display of a cell's output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pages: list[str] = []
        for name in ("IPython", "IPython.display"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        sys.modules["IPython.display"].display = self.display  # type: ignore[attr-defined]

    def display(self, thing: Any, *, display_id: bool) -> Display:
        assert display_id
        self.update(thing)
        return self

    def update(self, thing: Any) -> None:
        self.pages.append(thing._repr_html_())


def test_a_notebook_cell_is_updated_and_keeps_the_last_state(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    cell = Display(monkeypatch)
    console = Console(file=io.StringIO(), force_jupyter=True)
    with training_progress(console, "Training <x>") as progress:
        for done in range(1, 5):
            progress(done, 40)
            clock.now += 0.3
    first, *_, last = cell.pages
    assert "Preparing" in first
    assert "Training &lt;x&gt;: epoch 4 of at most 40" in last
    assert '<progress value="4" max="40">' in last
    assert len(cell.pages) == 4  # at the start, epochs 1 and 3, and at the end


def test_candidates_of_a_choice_are_lines_before_the_training(toy: NodeData) -> None:
    file = io.StringIO()
    with training_progress(Console(file=file, width=200)) as progress:
        agnn.evaluate("auto", toy, "stratified", replicas=1, time_limit=1, progress=progress)
    first = file.getvalue().splitlines()[0]
    assert first.startswith("tried ")


def test_ranks_show_the_score_where_they_have_it_together(toy: NodeData) -> None:
    shown: list[EpochState] = []

    class View:
        def show(self, state: EpochState) -> None:
            shown.append(state)

        def say(self, line: str) -> None:
            raise AssertionError(line)

    progress = TrainingProgress(View(), "Training")
    training = agnn.runs.Training(
        method="gcn", data=toy, replicas=4, ranks=2, changes={"epochs": 2}
    )
    assert training.plan().task(progress).callbacks == (), "each of them trains some replicas"
    by_rows = replace(training, divide="rows")
    assert by_rows.plan().task(progress).callbacks == (progress,)
    alone = agnn.runs.Training(method="gcn", data=toy, replicas=4, changes={"epochs": 2})
    assert alone.plan().task(progress).callbacks == (progress,)
