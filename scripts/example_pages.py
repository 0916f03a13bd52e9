"""Write a small made-up table of web pages and links between them: pages.csv and links.csv.

    python scripts/example_pages.py FOLDER

The columns are those of a real table of 22,470 pages (Rozemberczki, Allen and Sarkar 2021) with a
year and an owner beside them. Pages of a type share words and mostly link to each other.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

TYPES = ("company", "government", "politician", "tvshow")
PAGES, LINKS, WORDS = 320, 900, 60


def write_tables(folder: Path, seed: int = 0) -> list[Path]:
    """Both files, in a folder that is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    source = random.Random(seed)  # noqa: S311 (no secret)
    types = [source.choice(TYPES) for _ in range(PAGES)]
    pages = []
    for page, kind in enumerate(types):
        own = 15 * TYPES.index(kind)
        words = {own + source.randrange(20) for _ in range(4)}
        words |= {source.randrange(WORDS) for _ in range(4)}
        text = " ".join(f"w{word % WORDS}" for word in sorted(words))
        pages.append([page, text, kind, source.randint(2006, 2020), f"owner{source.randrange(40)}"])
    links = set()
    while len(links) < LINKS:
        one, other = sorted(source.sample(range(PAGES), 2))
        if types[one] == types[other] or source.random() < 0.1:
            links.add((one, other))
    return [
        _written(folder / "pages.csv", ["id", "words", "page_type", "year", "owner"], pages),
        _written(folder / "links.csv", ["source", "target"], [list(pair) for pair in links]),
    ]


def _written(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *sorted(rows, key=str)])
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/example_pages.py FOLDER")
    for path in write_tables(Path(sys.argv[1])):
        sys.stdout.write(f"{path}\n")
