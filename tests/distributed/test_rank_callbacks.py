"""Callbacks and --track on ranks: the calls of one process, and all ranks do what is answered."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_ranks import start
from test_rows import made, task_of
from thread_ranks import on_ranks

from agnn.data import NodeData
from agnn.distributed._division import parts_of
from agnn.distributed._ranks import Ranks
from agnn.distributed._rows import RowsTask, train_rows
from agnn.methods import Outcome
from agnn.networks import AGNN
from agnn.runs import Training
from agnn.training import Callback, EpochReport

METHOD = AGNN(layers=2, hidden=8, epochs=7)


class Recorder(Callback):
    def __init__(self, last: int = 10**9, every: int = 1) -> None:
        self.last = last
        self.every = every
        self.calls: list[Any] = []
        self.lock = threading.Lock()  # cannot be sent to another process

    def start(self, about: Mapping[str, Any]) -> None:
        self.calls.append(about["method"])

    def epoch(self, report: EpochReport) -> bool:
        self.calls.append(
            deepcopy(report)
        )  # in one process it shows what the training goes on with
        return report.epoch >= self.last

    def finish(self, run: Any) -> None:
        self.calls.append(run)

    @property
    def reports(self) -> list[EpochReport]:
        return [call for call in self.calls if isinstance(call, EpochReport)]


def assert_same_calls(recorder: Recorder, expected: Recorder) -> None:
    assert [type(call) for call in recorder.calls] == [type(call) for call in expected.calls]
    for report, other in zip(recorder.reports, expected.reports, strict=True):
        assert vars(report).keys() == vars(other).keys()
        for name, value in vars(report).items():
            if isinstance(value, torch.Tensor):
                assert torch.equal(value, getattr(other, name)), name
            else:
                assert value == getattr(other, name), name


def test_processes_of_ranks_make_the_calls_of_one_process(toy: NodeData) -> None:
    training = Training(data=toy, method=METHOD, split="fixed", seeds=(3, 8))
    recorders = [Recorder(last=5), Recorder(every=2)]
    others = [Recorder(last=5), Recorder(every=2)]
    run = replace(training, ranks=2, divide="rows", callbacks=recorders).run()
    alone = replace(training, ranks=1, divide="rows", callbacks=others).run()
    assert [report.epoch for report in recorders[0].reports] == [1, 2, 3, 4, 5]
    assert [report.epoch for report in recorders[1].reports] == [2, 4]
    assert len(run.history.training_loss) == 5, "it ended when a callback said so"
    for recorder, other in zip(recorders, others, strict=True):
        assert_same_calls(recorder, other)
        assert (recorder.calls[0], recorder.calls[-1]) == ("agnn", run)
    assert torch.equal(run.scores, alone.scores)
    plain = Recorder(last=5)
    replace(training, callbacks=[plain]).run()
    for report, other in zip(recorders[0].reports, plain.reports, strict=True):
        assert report.means() == pytest.approx(other.means(), rel=1e-5)
        assert report.best() == pytest.approx(other.best(), rel=1e-5)


def test_a_callback_that_fails_ends_all_ranks_with_its_own_error(toy: NodeData) -> None:
    class Failing(Callback):
        def epoch(self, report: EpochReport) -> None:
            raise LookupError(f"in epoch {report.epoch}")

    with pytest.raises(LookupError, match="in epoch 1"):
        Training(data=toy, method=METHOD, ranks=2, divide="rows", callbacks=[Failing()]).run()


@pytest.mark.parametrize("whose", [(0,), (1,), (0, 1)], ids=str)
def test_the_callbacks_of_rank_0_are_called_and_end_the_training_of_all(
    whose: tuple[int, ...],
) -> None:
    recorders = [Recorder(last=3), Recorder(last=2)]  # of rank 0 and of rank 1
    task = task_of(made())

    def train(ranks: Ranks) -> Outcome:
        part = parts_of(METHOD, task, 2)[ranks.rank]
        callbacks = (recorders[ranks.rank],) if ranks.rank in whose else ()
        return train_rows(RowsTask.of(METHOD, task), part, ranks, callbacks=callbacks)

    first, second = on_ranks(2, train)
    epochs = 3 if 0 in whose else 7
    assert len(first.history.training_loss) == len(second.history.training_loss) == epochs
    called = [[report.epoch for report in recorder.reports] for recorder in recorders]
    assert called == [[1, 2, 3] if 0 in whose else [], []]


def test_rank_0_of_torchrun_tracks_the_training(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="pip install agnn[test]")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    words = ["train", "cora", "--method", "gcn", "--epochs", "4", "--track", "tensorboard:logs"]
    process = start(tmp_path, *words, "--out", "run", program=torchrun)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    files = list((tmp_path / "logs").iterdir())
    assert len(files) == 2, "one of the epochs and one of the result, as of one process"
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    assert [event.step for event in events.Scalars("training_loss")] == [1, 2, 3, 4]
