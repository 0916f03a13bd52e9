"""The Python in docs/pyg.md runs, in its order."""

from __future__ import annotations

import pytest

import agnn.pyg  # noqa: F401 (PyG's import warns, and that import keeps it to itself)
from code_blocks import DOCS, programs

PAGE = DOCS / "pyg.md"


def test_the_pages_programs_run_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    found = programs(PAGE)
    assert len(found) == 3
    names: dict[str, object] = {}
    for program in found:
        exec(program, names)  # noqa: S102 (our own page)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 + 3 + 1 + 2  # edges, self-loops, the explainer's mask, a trained model
    assert lines[0].endswith("from 0 to 1")
    assert lines[7].startswith("tensor([")
    assert lines[8] == "True"
