"""Cases run in forks of an interpreter that has everything imported: a case takes milliseconds.

The parent computes with one thread only: a fork of a process with computing threads may hang.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 10  # of processor time: more is a hang
PATIENCE = 90.0  # seconds by the clock, on a machine that others use as well
_PARALLEL = 2
_MEMORY = 6 * 2**30  # bytes of address space


@dataclass(frozen=True)
class Result:
    """How a case ended."""

    code: int  # the exit code; below 0 the signal that ended it
    out: str
    err: str

    def complaint(self, allowed: tuple[int, ...] = (0, 2)) -> str | None:
        """What is wrong with this end of a command, whatever the input was; None if nothing."""
        if -self.code in (signal.SIGXCPU, signal.SIGKILL):
            return f"hang over {SECONDS} s"
        if "Traceback" in self.err:
            return f"traceback: {self.err.strip().splitlines()[-1][:200]}"
        if self.code not in allowed:
            return f"exit code {self.code}: {self.err.strip()[-200:]}"
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        if self.code == 2 and (len(lines) != 1 or len(lines[0]) < 12):
            return f"no error in one line: {self.err.strip()[-200:]!r}"
        return None


@dataclass
class Case:
    """Commands to run one after another in a folder, and a check of how the last one ended."""

    name: str
    folder: Path
    commands: list[list[str]]
    check: Callable[[Result], str | None] = field(default=lambda result: result.complaint())


def ran(cases: Iterable[Case], deadline: float) -> Iterator[tuple[Case, Result]]:
    """Every case with its end, some at the same time, until the deadline of `time.monotonic`."""
    waiting = iter(cases)
    running: dict[int, tuple[Case, float]] = {}
    is_open = True
    while running or is_open:
        while is_open and len(running) < _PARALLEL:
            case = next(waiting, None) if time.monotonic() < deadline else None
            if case is None:
                is_open = False
            else:
                running[_forked(case)] = (case, time.monotonic())
        for process, (case, start) in list(running.items()):
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                del running[process]
                yield case, _result(case, os.waitstatus_to_exitcode(status))
            elif time.monotonic() - start > PATIENCE:
                os.killpg(process, signal.SIGKILL)
        time.sleep(0.002)


def forked(function: Callable[[], int], folder: Path) -> int:
    """The process id of a fork that runs a function in a folder, its output in two files there."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        for number, name in ((1, "stdout.txt"), (2, "stderr.txt")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = function()
    except BaseException:  # as the interpreter itself does at the end
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _forked(case: Case) -> int:
    from agnn.cli import main

    def commands() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = 0
        for command in case.commands:
            code = main(command)
            if code:
                break
        return code

    return forked(commands, case.folder)


def _result(case: Case, code: int) -> Result:
    def text(name: str) -> str:
        path = case.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    return Result(code, text("stdout.txt"), text("stderr.txt"))


def finished(function: Callable[[], int], folder: Path) -> None:
    """Run a function in a fork and wait for it; raises if it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    _, status = os.waitpid(forked(function, folder), 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError((folder / "stderr.txt").read_text(encoding="utf-8"))
