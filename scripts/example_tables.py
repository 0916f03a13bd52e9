"""Write Cora as two plain tables, as somebody would have their own: papers.csv and citations.csv.

    python scripts/example_tables.py FOLDER

A paper has an id, its words (by number: the dataset does not say which they are), a topic where
the fixed split reveals or scores one, and the part of that split it is in.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from agnn import load_dataset


def write_tables(folder: Path) -> tuple[Path, Path]:
    """The two files, in a folder that is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    cora = load_dataset("cora")
    part = {int(node): name for name, nodes in cora.split("fixed").parts.items() for node in nodes}
    ids, x = cora.node_ids, cora.features
    papers, citations = folder / "papers.csv", folder / "citations.csv"
    with papers.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["paper", "words", "topic", "part"])
        for i in range(cora.nodes):
            words = " ".join(f"word{k}" for k in x.indices[x.indptr[i] : x.indptr[i + 1]])
            topic = cora.class_names[cora.labels[i]] if i in part else ""
            table.writerow([ids[i], words, topic, part.get(i, "")])
    with citations.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["citing", "cited"])
        table.writerows([ids[i], ids[j]] for i, j in cora.edges.T.tolist())
    return papers, citations


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/example_tables.py FOLDER")
    for path in write_tables(Path(sys.argv[1])):
        sys.stdout.write(f"{path}\n")
