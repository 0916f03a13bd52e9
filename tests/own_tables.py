"""Somebody's own small graph as text: sixty people in two teams, with everything odd but errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PEOPLE = 60


def node_lines(people: int = PEOPLE) -> list[str]:
    """id, topic (blank for every sixth), age (a gap at p3), colour and motto."""
    lines = ["id,topic,age,colour,motto"]
    for i in range(people):
        topic = "" if i % 6 == 5 else ("art", "sport")[i % 2]
        age = "" if i == 3 else 20 + i
        colour = ("red", "green", "blue")[i % 3]
        motto = ("paint and draw", "run and jump")[i % 2]
        lines.append(f"p{i},{topic},{age},{colour},{motto}")
    return lines


def edge_lines(people: int = PEOPLE) -> list[str]:
    """A ring over each team, one edge both ways, one repeated, a loop; the last knows nobody."""
    last = people - 1
    pairs = [(i, (i + 2) % people) for i in range(people) if last not in (i, (i + 2) % people)]
    pairs += [(2, 0), (4, 6), (7, 7)]
    return ["source,target", *(f"p{i},p{j}" for i, j in pairs)]


def text(lines: Sequence[str]) -> str:
    """Lines as a file has them."""
    return "\n".join(lines) + "\n"


def write_tables(folder: Path, people: int = PEOPLE) -> tuple[Path, Path]:
    """nodes.csv and edges.csv in a folder."""
    nodes, edges = folder / "nodes.csv", folder / "edges.csv"
    nodes.write_text(text(node_lines(people)), encoding="utf-8")
    edges.write_text(text(edge_lines(people)), encoding="utf-8")
    return nodes, edges


def without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process one in which pandas is not installed."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "pandas" or name.startswith("agnn.data.tables"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pandas", None)
