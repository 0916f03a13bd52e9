"""The program as a function, and a small graph for it to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from cli_ring import write_ring

from agnn.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Program = Callable[..., Answer]


@pytest.fixture
def agnn(capsys: pytest.CaptureFixture[str]) -> Program:
    """Runs the program on words or on one line of them; gives back code and both streams."""

    def run(line: str, *words: object) -> Answer:
        capsys.readouterr()
        code = main([*line.split(), *map(str, words)])
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ring(here: Path) -> Path:
    return write_ring(here / "ring.npz")
