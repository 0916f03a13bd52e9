"""Every code block of the documentation is run by a test, or has a reason why not.

The tutorials are run here, block by block. Other pages have a test of their own, or a reason below.
A single block is left out by a comment before it: `<!-- not run: REASON -->`. Run or not, every
`agnn` command must be one that the program understands.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HERE = sorted((DOCS / "tutorials").glob("*.md"))
ELSEWHERE = {  # pages with a test of their own
    "your_own_graph.md": "test_walkthrough.py",
    "serving.md": "test_serving_page.py",
    "pyg.md": "pyg/test_pyg_page.py",
    "leaderboard.md": "test_leaderboard_walkthrough.py",
    "explanations.md": "explanation/test_explanations_page.py",
}
NOT_RUN = {
    "explore.md": "servers that run until they are stopped; tests/browser opens them",
    "reproduction.md": "days of training; tests/experiments checks the page against results/",
    "scaling.md": "many machines; tests/distributed runs ranks, parts and Dask workers",
    "training.md": "the commands have tests in tests/cli",
}
PROGRAMS = r"(?:agnn|python|pip|make|curl|torchrun|uvx|pipx|dask)"
_FENCED = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]+) -->\n)?^(?P<margin> *)```(?P<kind>\w*)[^\n]*\n"
    r"(?P<body>.*?)^(?P=margin)```",
    re.MULTILINE | re.DOTALL,
)
_COMMAND = re.compile(rf"^ {{4,}}({PROGRAMS} .*)$", re.MULTILINE)


class Block(NamedTuple):
    """A piece of code: its language, its text, and why it is not run, if so."""

    kind: str
    text: str
    reason: str | None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, then commands that stand indented."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")  # lines that go on
    found = [
        Block(each["kind"], textwrap.dedent(each["body"]), each["reason"])
        for each in _FENCED.finditer(text)
    ]
    return found + [Block("sh", line, None) for line in _COMMAND.findall(_FENCED.sub("", text))]


PAGES = {
    path.relative_to(DOCS).as_posix(): [
        each for each in blocks(path) if each.kind in ("python", "sh")
    ]
    for path in sorted(DOCS.rglob("*.md"))
}


def test_every_page_with_code_is_run_or_has_a_reason() -> None:
    here = {path.relative_to(DOCS).as_posix() for path in HERE}
    with_code = {page for page, found in PAGES.items() if any(b.reason is None for b in found)}
    assert with_code - here - set(ELSEWHERE) - set(NOT_RUN) == set()


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_the_page_has_the_test_that_is_named(page: str, test: str) -> None:
    assert f"{page}" in (ROOT / "tests" / test).read_text(encoding="utf-8")


def program_of(page: Path) -> str:
    """The blocks of a page as one program, with lines for its commands."""
    lines = ["from agnn.cli import main"]
    for block in blocks(page):
        if block.reason or block.kind not in ("python", "sh"):
            continue
        if block.kind == "python":
            lines.append(block.text)
        else:
            commands = map(shlex.split, block.text.strip().split("\n"))
            lines += [f"assert main({words[1:]!r}) == 0" for words in commands]
    return "\n".join(lines)


def test_the_tutorials_run_from_the_first_line_to_the_last(tmp_path: Path) -> None:
    """In one process of their own: one of them registers a method, and all compile kernels."""
    lines = ["import os", "if __name__ == '__main__':  # ranks import this file"]
    for page in HERE:
        folder = tmp_path / page.stem
        folder.mkdir()
        compiled = f"compile({program_of(page)!r}, {page.name!r}, 'exec')"
        lines += [f"    os.chdir({str(folder)!r})", f"    exec({compiled}, {{'__name__': 'page'}})"]
    (tmp_path / "all.py").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(  # noqa: S603 (our own pages)
        [sys.executable, "-W", "error::UserWarning", str(tmp_path / "all.py")],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "clearly behind sgc" in done.stdout
    assert (tmp_path / "first_ten_minutes" / "labelled.csv").is_file()
    assert (tmp_path / "eight_machines" / "predictions.csv").is_file()


COMMANDS = sorted(
    {
        line.partition(";")[0].strip()
        for path in [*DOCS.rglob("*.md"), ROOT / "README.md"]
        for block in blocks(path)
        for line in block.text.split("\n")
        if block.kind in ("sh", "") and re.match(r" *agnn \w", line) and "…" not in line
    }
)


@pytest.mark.parametrize("line", COMMANDS)
def test_the_program_understands_every_command(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agnn.cli._app import program

    monkeypatch.chdir(tmp_path)
    Path("run.toml").touch()  # a configuration is read when its option is

    _, name, *words = shlex.split(line, comments=True)
    group = typer.main.get_command(program([name, *words]))
    assert name in group.commands, line
    group.commands[name].make_context(f"agnn {name}", words)
