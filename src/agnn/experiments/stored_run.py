"""One finished run, as a store keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Key:
    """Runs that are repetitions of each other: hash of the specification, hash of the data."""

    spec: str
    data: str


@dataclass(frozen=True)
class StoredRun:
    """One finished run; with folds, one trial. The lists have an entry a trained replica."""

    spec: str
    data: str
    seed: int
    experiment: str  # for which it was run first
    method: str
    dataset: str
    split: str
    accuracy: float
    selected_epochs: list[int] | None
    betas: list[list[float]] | None
    extra: dict[str, Any]  # further numbers that were measured
    versions: dict[str, str]
    device: str
    backend: str
    seconds: float

    @property
    def key(self) -> Key:
        """What it is a repetition of."""
        return Key(self.spec, self.data)
