"""Every command and every line of Python in docs/choosing_a_method.md runs, on a small sample."""

from __future__ import annotations

import runpy
import shlex
import sys
from pathlib import Path

import pytest

from agnn.choosing import _halving
from agnn.cli import main
from agnn.studies import _compare
from code_blocks import ROOT, commands, programs

PAGE = ROOT / "docs" / "choosing_a_method.md"
COMMANDS = commands(PAGE)


@pytest.mark.slow
def test_the_commands_and_the_python_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # The page's commands take minutes; cheap methods and few repetitions take seconds.
    monkeypatch.setattr(_compare, "PORTFOLIO", ("majority", "ridge"))
    monkeypatch.setattr(_compare, "_MOST_REPLICAS", 2)
    monkeypatch.setattr(_halving, "CANDIDATES", (("label_propagation", {}), ("ridge", {})))
    monkeypatch.setattr(_halving, "_ROUNDS", (2,))
    expected = {
        "inspect": "page_type", "compare": "to the best", "train": "test accuracy", "explain": "17",
    }  # fmt: skip
    verbs = []
    for line in COMMANDS:
        program, verb, *words = shlex.split(line)
        if program == "python":
            monkeypatch.setattr(sys, "argv", [verb, *words])
            runpy.run_path(str(ROOT / verb), run_name="__main__")
            continue
        quick = ["--epochs", "20"] if "agnn" in words else []
        assert main([verb, *words, *quick]) == 0, line
        assert expected[verb] in capsys.readouterr().out
        verbs.append(verb)
    assert list(dict.fromkeys(verbs)) == ["inspect", "compare", "train", "explain"]
    assert (tmp_path / "pages" / "compared" / "leaderboard.html").exists()
    (program,) = programs(PAGE)
    exec(program, {})  # noqa: S102 (our own page)
    assert "is_tied" in capsys.readouterr().out
