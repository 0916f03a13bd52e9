"""Every page for readers is short enough to be read, in sentences of a readable length.

A page's words are those of its prose: code blocks, tables and pictures are looked at, not read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from code_blocks import DOCS, ROOT

MOST_WORDS = 1500
LONGEST_MEAN = 18.0
# Results and laboratory notes are looked up, and the changelog grows with every version.
LOOKED_UP = {"docs/reproduction.md", "CHANGELOG.md"}
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
# A point inside of a number, a file name or an abbreviation ends nothing.
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bEq)[.!?][)\"*_`]*(?=\s|$)")


class Prose(NamedTuple):
    """The prose of a page, counted."""

    words: int
    sentences: int

    @property
    def mean(self) -> float:
        """Words per sentence."""
        return self.words / max(self.sentences, 1)


def prose(text: str) -> Prose:
    """Count the words and sentences of a page outside of code, tables, headings and pictures."""
    text = _COMMENT.sub("", _CODE.sub("", text))
    paragraphs: list[str] = []
    is_open = False
    for line in text.split("\n"):
        bare = line.strip()
        skipped = not bare or bare.startswith(("|", "#", "![", "<")) or line.startswith("    ")
        if skipped:
            is_open = False
            continue
        item = re.match(r"(?:[-*]|\d+\.) +", bare)
        if is_open and not item:
            paragraphs[-1] += f" {bare}"
        else:
            paragraphs.append(bare[item.end() :] if item else bare)
        is_open = True
    words = 0
    sentences = 0
    for paragraph in paragraphs:
        for sentence in _END.split(_LINK.sub(r"\1", paragraph)):
            count = len(re.findall(r"[^\s]*\w[^\s]*", sentence))
            words += count
            sentences += count > 0
    return Prose(words, sentences)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if name_of(page) not in LOOKED_UP and "notes" not in page.parts
]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_is_short_and_its_sentences_are_too(page: Path) -> None:
    counted = prose(page.read_text(encoding="utf-8"))
    assert counted.words <= MOST_WORDS
    assert counted.mean <= LONGEST_MEAN


def test_code_tables_headings_and_addresses_are_not_counted() -> None:
    skipped = "# Title\n\n| a | b |\n\n```sh\nls -l\n```\n\n"
    text = skipped + "One [two](three.md#four). Five\nsix e.g. 7.5!\n\n- eight\n"
    assert prose(text) == Prose(words=7, sentences=3)
