"""Write Cora as plain tables, as somebody would have their own: papers.csv and citations.csv.

    python scripts/example_tables.py FOLDER

A paper has an id, its words (by number: the dataset does not say which they are), a topic where
the fixed split reveals or scores one, and the part of that split it is in. Ten papers come later:
later.csv and later_citations.csv have them, without a topic, and what they cite.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path

from agnn import load_dataset

LATER = range(1698, 1708)  # the last ten papers that are in no part of the fixed split


def write_tables(folder: Path) -> list[Path]:
    """The four files, in a folder that is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    cora = load_dataset("cora")
    part = {int(node): name for name, nodes in cora.split("fixed").parts.items() for node in nodes}
    ids, x = cora.node_ids, cora.features
    rows = []
    for i in range(cora.nodes):
        words = " ".join(f"word{k}" for k in x.indices[x.indptr[i] : x.indptr[i + 1]])
        topic = cora.class_names[cora.labels[i]] if i in part else ""
        rows.append([ids[i], words, topic, part.get(i, "")])
    edges = cora.edges.T.tolist()
    late = [pair for pair in edges if pair[0] in LATER or pair[1] in LATER]
    early = [pair for pair in edges if pair[0] not in LATER and pair[1] not in LATER]
    papers = [row for i, row in enumerate(rows) if i not in LATER]
    tables = {
        "papers.csv": (["paper", "words", "topic", "part"], papers),
        "citations.csv": (["citing", "cited"], [[ids[i], ids[j]] for i, j in early]),
        "later.csv": (["paper", "words"], [rows[i][:2] for i in LATER]),
        "later_citations.csv": (["citing", "cited"], [[ids[i], ids[j]] for i, j in late]),
    }
    return [_written(folder / name, *table) for name, table in tables.items()]


def _written(path: Path, header: list[str], rows: Iterable[Iterable[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/example_tables.py FOLDER")
    for path in write_tables(Path(sys.argv[1])):
        sys.stdout.write(f"{path}\n")
