"""Calls on processes of this machine: results as they come, errors given, deaths made up for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import torch

from agnn.errors import InputError, UnavailableError
from agnn.executors import map_as_completed, open_executor, parse_executor


def square(number: int) -> int:
    if number < 0:
        raise InputError("negative")
    return number * number


def threads_here(_: int) -> tuple[int, int]:
    return os.getpid(), torch.get_num_threads()


def kill_own_process(marks: tuple[Path, int]) -> int:
    """Dies as often as is asked for, each time with one more file."""
    folder, deaths = marks
    found = len(list(folder.iterdir()))
    if found < deaths:
        (folder / str(found)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return found


@pytest.mark.parametrize("text", ["local:0", "local:x", "local:", "dask:", "ray", "", "local:1025"])
def test_an_unknown_executor_is_refused(text):
    with pytest.raises(InputError, match=r"unknown executor|takes from 1 to 1024 processes"):
        parse_executor(text)


def test_anything_else_than_an_executor_is_refused():
    with (
        pytest.raises(InputError, match="must be text, an executor or a Dask client; got 7"),
        open_executor(7),
    ):
        pass


def test_none_and_any_executor_are_taken_as_they_are():
    with open_executor(None) as none, ThreadPoolExecutor(2) as own:
        assert none is None
        with open_executor(own) as same:
            assert same is own
        found = dict(map_as_completed(own, square, deque([1, 2, -1, 3])))
    error = found.pop(-1)
    assert isinstance(error, InputError)
    assert str(error) == "negative"
    assert found == {1: 1, 2: 4, 3: 9}


def test_arguments_may_be_added_replaced_and_dropped_on_the_way():
    waiting, seen = deque([1, 2, 3]), []
    with ThreadPoolExecutor(1) as own:
        ready = {1: 10, 2: None}.get
        for argument, result in map_as_completed(own, square, waiting, lambda k: ready(k, k)):
            seen.append((argument, result))
            if argument == 3:
                waiting.append(4)
    assert sorted(seen) == [(3, 9), (4, 16), (10, 100)]


def test_an_error_that_is_not_ours_is_raised():
    with ThreadPoolExecutor(1) as own, pytest.raises(ZeroDivisionError, match="division"):
        list(map_as_completed(own, lambda k: 1 // k, deque([0])))


class AtOnce(Executor):
    """Calls are finished when they are submitted."""

    def submit(self, function, /, *given, **named):
        future = Future()
        try:
            future.set_result(function(*given, **named))
        except InputError as error:
            future.set_exception(error)
        return future


def test_what_finished_beside_an_error_comes_before_it() -> None:
    for waiting in 10 * [[-1, 2], [2, -1]]:  # sets of futures have no order
        found = list(map_as_completed(AtOnce(), square, deque(waiting)))
        assert found[0] == (2, 4)
        assert found[1][0] == -1
        assert isinstance(found[1][1], InputError)


@pytest.mark.slow
def test_processes_use_their_threads_and_survive_kills(tmp_path, monkeypatch):
    monkeypatch.setattr("agnn.executors._executors._ATTEMPTS", 2)
    with open_executor("local:1", threads=3) as workers:
        assert workers is not None
        ((_, (process, threads)),) = map_as_completed(workers, threads_here, deque([0]))
        assert (process != os.getpid(), threads) == (True, 3)
        ((_, answer),) = map_as_completed(workers, kill_own_process, deque([(tmp_path, 1)]))
        assert answer == 1, "the second attempt"
        ((_, given_up),) = map_as_completed(workers, kill_own_process, deque([(tmp_path, 99)]))
        assert isinstance(given_up, UnavailableError)
        assert str(given_up).startswith("2 workers died while working on it")
        assert len(list(tmp_path.iterdir())) == 1 + 2
        assert [r for _, r in map_as_completed(workers, square, deque([5]))] == [25], (
            "others still run"
        )
        begun = time.monotonic()
        workers.submit(time.sleep, 600)
        workers.__exit__(KeyboardInterrupt, None, None)
        assert time.monotonic() - begun < 300, "nobody waits for what is running"


CLIENT = """
import os, time
from agnn.executors import open_executor
if __name__ == "__main__":
    with open_executor("local:1", threads=1) as workers:
        print(workers.submit(os.getpid).result(), flush=True)
        workers.submit(time.sleep, 600).result()
"""


@pytest.mark.slow
def test_processes_end_with_a_client_that_is_killed(tmp_path):
    (tmp_path / "client.py").write_text(CLIENT)
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(tmp_path / "client.py")]
    with subprocess.Popen(  # noqa: S603 (ours)
        words, env=places, stdout=subprocess.PIPE, text=True
    ) as client:
        worker = psutil.Process(int(client.stdout.readline()))
        client.kill()
    _, left = psutil.wait_procs([worker], timeout=20)
    for each in left:
        each.kill()
    assert left == []


class Lost(AtOnce):
    """Workers whose connection is gone: their calls never end."""

    is_lost = True

    def submit(self, function, /, *given, **named):
        return Future()


def test_calls_whose_workers_are_gone_are_given_up(monkeypatch):
    monkeypatch.setattr("agnn.executors._executors._WORKERS_EVERY", 0.01)
    with pytest.raises(UnavailableError, match="connection to the workers was lost"):
        list(map_as_completed(Lost(), square, deque([1])))


def test_cancelled_calls_are_a_lost_connection():
    class Cancelling(AtOnce):
        def submit(self, function, /, *given, **named):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(UnavailableError, match="connection to the workers was lost"):
        list(map_as_completed(Cancelling(), square, deque([1])))


def lack_a_package(_: int) -> None:
    raise ImportError("No module named 'numba'")


def test_a_worker_that_lacks_a_package_says_which():
    with ThreadPoolExecutor(1) as own:
        ((argument, error),) = map_as_completed(own, lack_a_package, deque([1]))
    assert argument == 1
    assert isinstance(error, UnavailableError)
    assert str(error) == "a worker lacks what is needed: No module named 'numba'."


def test_a_look_is_taken_while_calls_are_under_way(monkeypatch):
    monkeypatch.setattr("agnn.executors._executors._LOOK_EVERY", 0.01)
    looks = []
    gate = threading.Event()

    def look():
        looks.append(len(looks))
        if len(looks) == 3:
            gate.set()

    with ThreadPoolExecutor(1) as own:
        answers = list(map_as_completed(own, lambda _: gate.wait(60), deque([0]), look=look))
    assert answers == [(0, True)], "it waited for the third look"


def test_as_many_calls_are_under_way_as_keep_the_workers_busy():
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, function, /, *given, **named):
            self.submitted += 1
            return super().submit(function, *given, **named)

    with Counting(3) as own:
        waiting = deque(range(20))
        results = map_as_completed(own, square, waiting)
        next(results)
        assert own.submitted == 6, "one at work and one waiting for each worker"
        assert len(waiting) == 14
        assert len(list(results)) == 19
