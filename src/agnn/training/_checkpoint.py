"""Checkpoints: the state of a training in one file, from which it goes on with the same bits."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import torch
from torch import Tensor

from agnn.errors import DataError, InputError, StoppedError
from agnn.files import check_plain, claim, is_claimed, plain, write_tensors, writing_file

_FORMAT: Final = "agnn checkpoint 2"
_LONG: Final = 600.0  # seconds: a training that takes longer has checkpoints of its own accord
_USUAL: Final = 300.0  # seconds between them


def warn(message: str) -> None:
    """Warn of something that does not end the training."""
    warnings.warn(message, stacklevel=2)


class Checkpoints:
    """Where and how often the state of a training is written, and whether one is continued.

    A checkpoint holds weights, moments, selection state and history of every replica. It is
    written completely or not at all, and replaces the one before. One that cannot be written is
    reported by `on_warning`, and the training goes on. A training that is continued ends with the
    same bits as one that was never stopped.

    >>> import tempfile, agnn
    >>> from pathlib import Path
    >>> cora = agnn.load_dataset("cora")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(Path(folder) / "cora.checkpoint", every=0)
    ...     run = agnn.evaluate("gcn", cora, changes={"epochs": 3}, checkpoints=checkpoints)
    ...     again = Checkpoints(checkpoints.file, resume=True)
    ...     same = agnn.evaluate("gcn", cora, changes={"epochs": 3}, checkpoints=again)
    ...     checkpoints.remove()
    >>> bool((run.scores == same.scores).all())
    True
    """

    def __init__(
        self, file: Path | str, every: float | None = None, *, resume: bool = False
    ) -> None:
        """`every` is in seconds; None: 5 minutes, where training will take longer than ten."""
        if every is not None and not every >= 0:
            raise InputError(f"the time between checkpoints must not be negative; got {every}.")
        self.file = Path(file)
        self.every = every
        self.resume = resume
        # What the training depends on. A checkpoint with anything else is refused.
        self.about: dict[str, Any] = {}
        self.seconds_before = 0.0  # of the training that is continued
        self.is_asked_to_stop = False
        self.on_warning: Callable[[str], None] = warn
        self._written_epoch = 0  # of the checkpoint that is there
        self._failure: str | None = None  # why the last one could not be written
        self._has_warned = False
        self._start = self._last = time.monotonic()
        self._expected = 0.0
        self._done_before = 0

    @property
    def is_active(self) -> bool:
        """Whether checkpoints are written: asked for, or since the training takes long."""
        return self.every is not None or self._expected > _LONG

    def check(self) -> None:
        """Raise unless checkpoints can be written, and there is one to continue or none to lose.

        Creates the folder: hours later would be too late to learn that it cannot be.
        """
        if self.resume and not self.file.exists():
            raise InputError(
                f"there is no checkpoint '{self.file}' to continue; leave --resume out to start."
            )
        if self.file.exists() and not self.resume:
            raise InputError(
                f"'{self.file}' is the checkpoint of an unfinished training; continue it with "
                f"--resume (`resume=True`), or delete it to start again."
            )
        folder = self.file.absolute().parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InputError(
                f"checkpoints cannot be written to '{folder}': {error.strerror or error}; choose "
                f"another folder (--out)."
            ) from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other trainings from this checkpoint while this one runs."""
        if not self.is_writer:
            yield
            return
        self.check()
        with claim(self.file):
            yield

    def for_piece(self, number: int, pieces: int) -> Self:
        """Return the checkpoints of one piece of the replicas; pieces are counted from 1."""
        piece = copy.copy(self)
        piece.file = self.file.with_name(f"{self.file.name}-{number}of{pieces}")
        piece.about = {**self.about, "replicas": f"piece {number} of {pieces}"}
        return piece

    def stored_pieces(self) -> list[Path]:
        """Return the checkpoints of pieces of the replicas that are there."""
        pattern = re.compile(re.escape(self.file.name) + r"-\d+of\d+")
        folder = self.file.absolute().parent
        files = folder.iterdir() if folder.is_dir() else ()
        return sorted(file for file in files if pattern.fullmatch(file.name))

    @property
    def stored(self) -> str | None:
        """What there is to continue, as a path or a pattern; None where there is nothing."""
        if self.stored_pieces():
            return f"{self.file}-*"
        return str(self.file) if self.file.exists() else None

    @property
    def is_writer(self) -> bool:
        """Whether this process writes: of several that train together one does."""
        return True

    def describe(self, about: Mapping[str, Any]) -> None:
        """Say what the training depends on, before it starts."""
        self.about = json.loads(json.dumps(plain(about)))

    def request_stop(self) -> None:
        """Let the training end after this epoch with a checkpoint and a `StoppedError`."""
        self.is_asked_to_stop = True

    def begin(self, state: Mapping[str, Tensor], epochs: int, *, device: torch.device) -> int:
        """Put the stored state into `state`, if one is continued; return the epochs done."""
        self._start = self._last = time.monotonic()
        if not self.resume:
            return 0
        stored, epoch, seconds = self._read(device, epochs)
        _put(stored, state, self.file)
        self.seconds_before = seconds
        self._done_before = self._written_epoch = epoch
        return epoch

    def note_pace(self, epoch: int, epochs: int) -> None:
        """Estimate how long the training takes in all, after `epoch` of `epochs`."""
        done = epoch - self._done_before
        if done > 0:
            self._expected = (time.monotonic() - self._start) / done * epochs

    def after_epoch(
        self, state: Callable[[], Mapping[str, Tensor]], epoch: int, epochs: int
    ) -> None:
        """Write a checkpoint if it is time; raise `StoppedError` if the training is to stop."""
        now = time.monotonic()
        self.note_pace(epoch, epochs)
        is_due = self.is_active and now - self._last >= (
            _USUAL if self.every is None else self.every
        )
        if (is_due or (self.is_asked_to_stop and self.is_active)) and self.is_writer:
            self._try_to_write(state(), epoch)
        if self.is_asked_to_stop:
            raise StoppedError(f"the training was stopped; {self._kept_words(epoch)}")

    def _try_to_write(self, state: Mapping[str, Tensor], epoch: int) -> None:
        """Write a checkpoint, or warn once that it cannot be written."""
        self._failure = None
        try:
            self.write(state, epoch)
        except OSError as error:
            self._last = time.monotonic()
            self._failure = error.strerror or str(error)
            if not self._has_warned:
                earlier = ""
                if self._written_epoch:
                    earlier = (
                        f" The one after epoch {self._written_epoch} is still there; --resume "
                        f"(`resume=True`) continues it."
                    )
                self.on_warning(
                    f"the checkpoint '{self.file}' cannot be written ({self._failure}); the "
                    f"training goes on.{earlier}"
                )
            self._has_warned = True

    def _kept_words(self, epoch: int) -> str:
        """What a training that stops now leaves behind, and how to go on."""
        how = "The same command with --resume (`resume=True`) continues it."
        if not self.is_active:
            return "nothing was written."
        if self._failure is None:
            return f"its state after epoch {epoch} is in '{self.file}'. {how}"
        failed = f"its state after epoch {epoch} cannot be written ({self._failure})"
        if not self._written_epoch:
            return f"{failed}, and nothing is kept."
        return f"{failed}, but that after epoch {self._written_epoch} is in '{self.file}'. {how}"

    def write(self, state: Mapping[str, Tensor], epoch: int) -> None:
        """Write the state after an epoch; the file before stays until this one is complete."""
        tensors = {name: tensor.detach().contiguous().cpu() for name, tensor in state.items()}
        facts = {
            "format": _FORMAT,
            "epoch": str(epoch),
            "seconds": str(self.seconds_before + time.monotonic() - self._start),
            "about": json.dumps(self.about),
        }
        self.file.absolute().parent.mkdir(parents=True, exist_ok=True)
        with writing_file(self.file, replace=True) as draft:
            write_tensors(tensors, draft, {**facts, "sha256": _digest(tensors, facts)})
            with draft.open("rb") as stream:  # on disk before it takes the other's place
                os.fsync(stream.fileno())
        self._last = time.monotonic()
        self._written_epoch = epoch

    def remove(self) -> None:
        """Delete the checkpoints once the result is safe, but not those of another training."""
        for file in (self.file, *self.stored_pieces()):
            if not is_claimed(file):
                file.unlink(missing_ok=True)

    def _read(self, device: torch.device, epochs: int) -> tuple[dict[str, Tensor], int, float]:
        """Return the stored tensors, the epochs done and the seconds that they took."""
        from safetensors import SafetensorError, safe_open

        how = "delete it and start again without --resume"
        try:
            check_plain(self.file)
            with safe_open(self.file, "pt") as stream:
                facts = dict(stream.metadata() or {})
                if facts.get("format") != _FORMAT:
                    raise DataError(f"this version of agnn does not read its format; {how}")
                stored = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            if facts.pop("sha256", None) != _digest(stored, facts):
                raise DataError(f"its content has changed since it was written; {how}")
            about = json.loads(facts["about"])
            epoch = int(facts["epoch"])
            seconds = float(facts["seconds"])
            if not (1 <= epoch <= epochs and 0 <= seconds < math.inf and isinstance(about, dict)):
                raise DataError(f"its header has invalid values; {how}")
        except DataError as error:
            raise DataError(f"the checkpoint '{self.file}' cannot be continued: {error}.") from None
        except (SafetensorError, OSError, LookupError, ValueError, RecursionError) as error:
            raise DataError(
                f"the checkpoint '{self.file}' is damaged ({type(error).__name__}); {how}."
            ) from error
        different = first_difference(about, self.about)
        if different is not None:
            raise InputError(f"the checkpoint '{self.file}' is of another training: {different}.")
        return {name: tensor.to(device) for name, tensor in stored.items()}, epoch, seconds


def _digest(tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    """SHA-256 of everything in a checkpoint; the tensors are on the CPU."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@torch.no_grad()
def _put(stored: Mapping[str, Tensor], state: Mapping[str, Tensor], file: Path) -> None:
    """Copy stored tensors into those of a training; nothing is copied unless all of them fit."""
    shapes = [
        {name: (tensor.shape, tensor.dtype) for name, tensor in s.items()} for s in (stored, state)
    ]
    if shapes[0] != shapes[1]:
        raise DataError(f"the checkpoint '{file}' does not fit the model it is for.")
    for name, tensor in state.items():
        tensor.copy_(stored[name])


def first_difference(stored: Mapping[str, Any], current: Mapping[str, Any]) -> str | None:
    """Return the first thing that differs, in words; None if nothing does."""
    for name in [*current, *stored]:
        old = stored.get(name)
        new = current.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            inner = first_difference(old, new)
            return f"{name}, {inner}" if inner else name
        texts = [json.dumps(value) for value in (old, new)]
        if max(map(len, texts)) > 60:
            return f"other {name}"
        return f"{name} {texts[0]}, not {texts[1]}"
    return None
