"""The code blocks of a Markdown page, and which of them a test has to run.

A block is fenced and names its language, or it is a command that stands indented. One that cannot
be run has its reason in a comment before it: `<!-- not run: REASON -->`.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RUN = ("python", "sh")  # the others are data, formulas and what programs print
SHOWN = ("text", "toml", "json", "yaml")
_PROGRAM = re.compile(r"(?:agnn|python|pip|make|curl|torchrun|uvx|pipx|dask) ")
_BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]+?) -->\n\n?)?"
    r"(?:^(?P<margin> *)(?P<fence>```|~~~)(?P<kind>[^\n]*)\n(?P<body>.*?)^(?P=margin)(?P=fence) *$"
    r"|(?:\A|(?<=\n\n))(?P<indented>(?: {4}[^\n]*\n|\n(?= {4}))+))",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A piece of code: its language, its text, and why it is not run, if so."""

    kind: str
    text: str
    reason: str | None

    @property
    def is_run(self) -> bool:
        """Whether a test has to run it."""
        return self.kind in RUN and self.reason is None


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in their order; one for each command of those that are indented."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")  # lines that go on
    found = []
    for each in _BLOCK.finditer(text):
        if each["indented"] is None:
            found.append(Block(each["kind"], textwrap.dedent(each["body"]), each["reason"]))
            continue
        for line in filter(None, textwrap.dedent(each["indented"]).split("\n")):
            kind = "sh" if _PROGRAM.match(line) else "indented"
            found.append(Block(kind, line, each["reason"]))
    return found


def commands(page: Path) -> list[str]:
    """The commands of a page that have to be run."""
    return [
        line
        for block in blocks(page)
        if block.kind == "sh" and block.is_run
        for line in block.text.strip().split("\n")
    ]


def programs(page: Path) -> list[str]:
    """The Python of a page that has to be run."""
    return [block.text for block in blocks(page) if block.kind == "python" and block.is_run]
