"""Every recipe of docs/cookbook runs: tables.md, predictions.md and migrating.md."""

from __future__ import annotations

import runpy
import shlex
from pathlib import Path

import pytest

from agnn.cli import main
from code_blocks import DOCS, ROOT, blocks

PAGES = sorted((DOCS / "cookbook").glob("*.md"))
WRITTEN = {
    "tables": "service.duckdb",
    "predictions": "elsewhere/accounts/model.safetensors",
    "migrating": "new_accounts.csv",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_recipes_of_a_page_run_in_their_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        if not block.is_run:
            continue
        if block.kind == "python":
            exec(block.text, names)  # noqa: S102 (our own page)
        else:
            run_commands(block.text)
    assert capsys.readouterr().out.strip()
    assert Path(WRITTEN[page.stem]).is_file()


def run_commands(text: str) -> None:
    for line in text.strip().split("\n"):
        program, verb, *words = shlex.split(line)
        if program == "python":
            runpy.run_path(str(ROOT / verb))["write_tables"](Path())
        else:
            assert main([verb, *words]) == 0, line


def test_there_are_ten_to_fifteen_recipes() -> None:
    recipes = [line for page in PAGES for line in page.read_text().split("\n") if line[:3] == "## "]
    assert 10 <= len(recipes) <= 15
