"""Every command and every line of Python on the pages about one's own graph runs.

They are your_own_graph.md, folds.md, new_nodes.md and sources.md, in this order, in one folder.
"""

from __future__ import annotations

import runpy
import shlex
import sys
from pathlib import Path

import networkx as nx
import pytest

from agnn.cli import main
from code_blocks import ROOT, commands, programs

PAGES = [
    ROOT / "docs" / f"{name}.md" for name in ("your_own_graph", "folds", "new_nodes", "sources")
]
COMMANDS = [line for page in PAGES for line in commands(page)]


def test_the_commands_and_the_python_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nx.write_graphml(nx.karate_club_graph(), "graph.graphml")
    assert [shlex.split(line)[0] for line in COMMANDS] == ["python", *["agnn"] * 7]
    for line in COMMANDS:
        program, verb, *words = shlex.split(line)
        if program == "python":
            monkeypatch.setattr(sys, "argv", [verb, *words])
            runpy.run_path(str(ROOT / verb), run_name="__main__")
        else:
            assert main([verb, *words]) == 0
        out = capsys.readouterr().out
        assert out.strip(), line
        assert ("test accuracy" in out) == (verb == "train")
    names: dict[str, object] = {}
    first, *others = [program for page in PAGES for program in programs(page)]
    exec(first, names)  # noqa: S102 (our own page)
    assert capsys.readouterr().out.startswith("DataReport(name='papers', nodes=2698")
    for program in others:
        exec(program, names)  # noqa: S102
        assert capsys.readouterr().out.strip()
