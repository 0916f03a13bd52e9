"""Retraining in a process of its own, so that the page goes on answering.

The process reads the labels as one line of JSON from its standard input and writes lines of JSON
to its standard output: its progress, and at the end "done" or an error. It ends when its input
does, so it does not outlive a server that was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

_PATIENCE: Final = 5.0  # seconds until a process that was asked to end is killed
_NICE: Final = 10  # the page comes first
_STEPS: Final = 200  # lines about the progress


class Training:
    """A training that runs in another process.

    `finished` is called in a thread of its own: with None after a training that was written to
    `out`, else with a sentence.
    """

    def __init__(
        self,
        run: Path,
        labels: Mapping[int, int],
        out: Path,
        finished: Callable[[str | None], None],
        *,
        trust_unchecked: bool = False,
    ) -> None:
        self.out = out
        self.done = 0
        self.total = 0
        self.labels = len(labels)
        self._is_cancelled = False
        self._finished = finished
        self._process = subprocess.Popen(  # noqa: S603 (our own module)
            [sys.executable, "-m", "agnn.web.explore._training", str(run), str(out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        question = {"labels": list(labels.items()), "trust_unchecked": trust_unchecked}
        assert self._process.stdin is not None  # noqa: S101 (a pipe was asked for)
        self._stdin = self._process.stdin  # open as long as somebody waits
        with contextlib.suppress(OSError):  # a process that has ended already says why itself
            self._stdin.write(json.dumps(question).encode() + b"\n")
            self._stdin.flush()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def process(self) -> int:
        """The number of the process."""
        return self._process.pid

    def cancel(self) -> None:
        """End the training; nothing of it is left."""
        self._is_cancelled = True
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)

    def _listen(self) -> None:
        message = ""
        is_done = False
        assert self._process.stdout is not None  # noqa: S101
        for line in self._process.stdout:
            try:
                report = json.loads(line)
                self.done = report.get("done", self.done)
                self.total = report.get("total", self.total)
                message = report.get("error", message)
                is_done = report.get("is_done", is_done)
            except (ValueError, AttributeError):  # a warning or a traceback
                message = line.decode(errors="replace").strip() or message
        self._process.stdout.close()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._stdin.close()
        if is_done:  # also where it was cancelled too late
            self._finished(None)
        elif self._is_cancelled:
            self._finished("The training was cancelled; nothing of it was kept.")
        else:
            self._finished(f"The training failed: {message or 'its process was ended'}")


def _say(**values: Any) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def _end_with(handle: int) -> None:
    """End this process, cleaning up, when its input ends: then nobody waits for the result."""
    while os.read(handle, 4096):  # Python's own streams would be locked when it ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main(arguments: list[str]) -> int:
    """Train in this process: the folder of a run, and the new folder."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.nice(_NICE)
    question = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    from agnn.errors import AgnnError
    from agnn.runs import load_run, retrain, save_run

    steps_told = 0

    def tell(done: int, total: int) -> None:
        nonlocal steps_told
        if done * _STEPS // max(total, 1) > steps_told or done == total:
            steps_told = done * _STEPS // max(total, 1)
            _say(done=done, total=total)

    try:
        run = load_run(arguments[0], trust_unchecked=question["trust_unchecked"])
        save_run(retrain(run, dict(question["labels"]), progress=tell), arguments[1])
    except AgnnError as error:
        _say(error=str(error))
        return 2
    except OSError as error:
        _say(error=f"'{arguments[1]}' could not be written: {error.strerror or error}.")
        return 2
    _say(is_done=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
