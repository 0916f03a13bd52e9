"""What docs/explanations.md tells a reader to type works as it stands there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from agnn.cli import main
from agnn.data import NodeData
from agnn.methods import get_method
from agnn.runs import evaluate, save_run
from code_blocks import DOCS, commands, programs

PAGE = DOCS / "explanations.md"


@pytest.fixture(scope="module")
def place(cora: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs/cora in it, less trained than the page's."""
    folder = tmp_path_factory.mktemp("page")
    method = get_method("agnn")(epochs=10, layers=2, first_beta=0.0)
    save_run(evaluate(method, cora, "fixed", seeds=(0, 1)), folder / "runs" / "cora")
    return folder


def test_the_commands_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    first, *lines = (shlex.split(line, comments=True) for line in commands(PAGE))
    assert first[:3] == ["agnn", "train", "cora"]  # `place` has trained
    assert len(lines) == 5
    for words in lines:
        assert main(words[1:]) == 0
    assert (place / "why.html").is_file()


def test_the_program_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (program,) = programs(PAGE)
    names: dict[str, object] = {}
    exec(program, names)  # noqa: S102 (our own page)
    assert names["found"].id == "1103960"
