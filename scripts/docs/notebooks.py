"""The notebooks of docs/notebooks, made from tutorials: `python scripts/docs notebooks`.

A tutorial is the only source: its Python blocks become code cells, the rest text. The blocks are
run here in their order; what they print is kept, cut after some lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from pages import ROOT

TUTORIALS = ("comparing_methods", "reading_an_explanation")
MOST_LINES = 30  # of a cell's output
_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```\n", re.MULTILINE | re.DOTALL)


def notebook_path(name: str) -> Path:
    """Where the notebook of a tutorial is."""
    return ROOT / "docs" / "notebooks" / f"{name}.ipynb"


def cells_of(name: str) -> list[tuple[str, str]]:
    """The cells of a tutorial: ("markdown" or "code", text)."""
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(r"^\[This page as a notebook\].*\n\n", "", text, flags=re.MULTILINE)
    cells, end = [], 0
    for match in _BLOCK.finditer(text):
        cells.append(("markdown", text[end : match.start()].strip()))
        cells.append(("code", textwrap.dedent(match[2]).strip()))
        end = match.end()
    cells.append(("markdown", text[end:].strip()))
    return [(kind, text) for kind, text in cells if text]


def write_notebooks() -> None:
    """Run every tutorial that is also a notebook and write it."""
    for name in TUTORIALS:
        names: dict[str, Any] = {"__name__": "__main__"}
        cells, count = [], 0
        for k, (kind, text) in enumerate(cells_of(name)):
            cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}}
            cell["source"] = text.splitlines(keepends=True)
            if kind == "code":
                count += 1
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(text, name, "exec"), names)  # noqa: S102 (our own page)
                lines = printed.getvalue().splitlines(keepends=True)[:MOST_LINES]
                outputs = [{"output_type": "stream", "name": "stdout", "text": lines}]
                cell |= {"execution_count": count, "outputs": outputs if lines else []}
            cells.append(cell)
        book = {
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        path = notebook_path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
