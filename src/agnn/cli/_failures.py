"""What went wrong, as one line for the user; a fault of the program itself has none."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import typer

from agnn.errors import AgnnError, StoppedError
from agnn.executors import LaunchedRank

if TYPE_CHECKING:
    from agnn.training import Checkpoints

# 128 and the number of the signal, as shells have it
INTERRUPTED: Final = 130
TERMINATED: Final = 143

# typer carries its own copy of click; what it exports leads to the base of all usage errors.
_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]


class Interrupted(Exception):  # noqa: N818 (what happened is no error)
    """Ctrl-C in the middle of some work, with a sentence on what was kept and how to go on.

    Not a KeyboardInterrupt, which typer would replace by an exception without the sentence.
    """

    def __init__(self, message: str, code: int = INTERRUPTED) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def interruptible(message: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C during the block report `message`, which is asked for only then."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted(message()) from error


@contextmanager
def stopping(checkpoints: Checkpoints | None) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM during the block stop a training with a last checkpoint.

    Where it writes none, or at the second signal, they act as they always do.
    """
    if checkpoints is None:
        yield
        return
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        if checkpoints.is_active and not received:
            received.append(number)
            checkpoints.request_stop()
        else:
            _act(number)

    try:
        with _handling(stop):
            yield
    except StoppedError as error:
        raise Interrupted(str(error), _exit_code(received)) from error


@contextmanager
def finishing(message: Callable[[], str]) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM wait until the block is done, and then report `message`."""
    received: list[int] = []

    def wait(number: int, _: FrameType | None) -> None:
        if received:
            _act(number)
        received.append(number)

    with _handling(wait):
        yield
    if received:
        raise Interrupted(message(), _exit_code(received))


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let `handler` have the signals that end a program, during the block."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


def _act(number: int) -> None:
    """Do what a signal does where nothing handles it."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _exit_code(received: Sequence[int]) -> int:
    return TERMINATED if signal.SIGTERM in received else INTERRUPTED


def one_line(error: Exception) -> str | None:
    """The message for a mistake or a machine that lacks something; None for any other error."""
    message = _message(error)
    return None if message is None else " ".join(message.splitlines())


def _message(error: Any) -> str | None:
    if isinstance(error, AgnnError):
        return str(error)
    if isinstance(error, _UsageError):
        return _usage(error)
    if isinstance(error, OSError):
        where = f" '{error.filename}'" if error.filename else ""
        return f"cannot read or write{where}: {error.strerror or error}."
    if type(error).__name__ == "SafetensorError":  # by name: safetensors loads torch
        return f"cannot read or write the weights: {error}."
    # torch reports a failed allocation on the CPU as a plain RuntimeError.
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "not enough memory for this run; try fewer --replicas or a smaller --hidden."
    return None


def _usage(error: Any) -> str:
    message = error.format_message().rstrip(".")
    command = "agnn" if error.ctx is None else error.ctx.command_path
    end = "" if message.endswith("?") else "."
    return f"{message[:1].lower()}{message[1:]}{end} See `{command} --help`."


def with_rank(message: str, error: Any) -> str | None:
    """Return an error's line with the rank of torchrun's processes; None where another one has it.

    When a rank dies, all others lose it; one of them says so.
    """
    launched = LaunchedRank.current()
    if launched is None:
        return message
    if hasattr(error, "is_reporter"):  # an error that all ranks have
        return message if error.is_reporter else None
    return f"rank {launched.rank}: {message}"
