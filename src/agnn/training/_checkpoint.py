"""Checkpoints: the state of a training in one file, from which it goes on with the same bits."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from agnn.errors import DataError, InputError, StoppedError
from agnn.files import plain, write_tensors, writing_file

_FORMAT: Final = "agnn checkpoint 1"
_LONG: Final = 600.0  # seconds: a training that takes longer has checkpoints of its own accord
_USUAL: Final = 300.0  # seconds between them


class Checkpoints:
    """Where and how often the state of a training is written, and whether one is continued.

    A checkpoint holds weights, moments, selection state and history of every replica. It is
    written completely or not at all, and replaces the one before. A training that is continued
    ends with the same bits as one that was never stopped.

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
        self.file, self.every, self.resume = Path(file), every, resume
        # What the training depends on. A checkpoint with anything else is refused.
        self.about: dict[str, Any] = {}
        self.seconds_before = 0.0  # of the training that is continued
        self.is_asked_to_stop = False
        self._start = self._last = time.monotonic()
        self._expected, self._done_before = 0.0, 0

    @property
    def is_active(self) -> bool:
        """Whether checkpoints are written: asked for, or since the training takes long."""
        return self.every is not None or self._expected > _LONG

    def check(self) -> None:
        """Raise unless there is a checkpoint to continue, or none that would be lost."""
        if self.resume and not self.file.exists():
            raise InputError(
                f"there is no checkpoint '{self.file}' to continue; leave --resume out to start."
            )
        if self.file.exists() and not self.resume:
            raise InputError(
                f"'{self.file}' is the checkpoint of an unfinished training; continue it with "
                f"--resume (`resume=True`), or delete it to start again."
            )

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

    def begin(self, state: Mapping[str, Tensor], *, device: torch.device) -> int:
        """Put the stored state into `state`, if one is continued; gives back the epochs done."""
        self._start = self._last = time.monotonic()
        self.check()
        if not self.resume:
            return 0
        stored, facts = self._read(device)
        _put(stored, state, self.file)
        self.seconds_before = float(facts["seconds"])
        self._done_before = int(facts["epoch"])
        return self._done_before

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
            self.write(state(), epoch)
        if self.is_asked_to_stop:
            kept = f"its state after epoch {epoch} is in '{self.file}'"
            raise StoppedError(
                f"the training was stopped; {kept if self.is_active else 'nothing was written'}."
            )

    def write(self, state: Mapping[str, Tensor], epoch: int) -> None:
        """Write the state after an epoch; the file before stays until this one is complete."""
        facts = {
            "format": _FORMAT,
            "epoch": str(epoch),
            "seconds": str(self.seconds_before + time.monotonic() - self._start),
            "about": json.dumps(self.about),
        }
        with writing_file(self.file, replace=True) as draft:
            write_tensors({name: each.detach() for name, each in state.items()}, draft, facts)
            with draft.open("rb") as stream:  # on disk before it takes the other's place
                os.fsync(stream.fileno())
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the checkpoint once the result is safe, and what killed writers left behind."""
        self.file.unlink(missing_ok=True)
        for draft in self.file.absolute().parent.glob(f".{self.file.name}-*"):
            shutil.rmtree(draft, ignore_errors=True)

    def _read(self, device: torch.device) -> tuple[dict[str, Tensor], dict[str, str]]:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.file, "pt", device=str(device)) as stream:
                facts = dict(stream.metadata() or {})
                stored = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            about = json.loads(facts.get("about", "null"))
        except (SafetensorError, OSError, ValueError) as error:
            raise DataError(f"the checkpoint '{self.file}' is damaged: {error}.") from error
        if facts.get("format") != _FORMAT or not isinstance(about, dict):
            raise DataError(f"'{self.file}' is not a checkpoint that this version of agnn reads.")
        different = _difference(about, self.about)
        if different is not None:
            raise InputError(f"the checkpoint '{self.file}' is of another training: {different}.")
        return stored, facts


@torch.no_grad()
def _put(stored: Mapping[str, Tensor], state: Mapping[str, Tensor], file: Path) -> None:
    """Copy stored tensors into those of a training; nothing is copied unless all of them fit."""
    shapes = [{name: (each.shape, each.dtype) for name, each in s.items()} for s in (stored, state)]
    if shapes[0] != shapes[1]:
        raise DataError(f"the checkpoint '{file}' does not fit the model it is for.")
    for name, each in state.items():
        each.copy_(stored[name])


def _difference(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """The first thing that differs, in words; None if nothing does."""
    for name in [*wanted, *stored]:
        old, new = stored.get(name), wanted.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            inner = _difference(old, new)
            return f"{name}, {inner}" if inner else name
        shown = [json.dumps(each) for each in (old, new)]
        if max(map(len, shown)) > 60:
            return f"other {name}"
        return f"{name} {shown[0]}, not {shown[1]}"
    return None
