"""From two CSV files to a labelled table: some papers, their citations, a few known topics."""

import csv
import tempfile
from pathlib import Path

from agnn import NodeClassifier, load_dataset, read_tables

# Files as you may have them; here they are written from Cora. Every third topic is hidden, and
# the last five papers come later.
folder, cora = Path(tempfile.mkdtemp()), load_dataset("cora")
rows = []
for i in range(cora.nodes):
    words = " ".join(f"word{k}" for k in cora.features[[i]].indices)
    rows.append([cora.node_ids[i], words, "" if i % 3 == 0 else cora.class_names[cora.labels[i]]])
late = set(cora.node_ids[-5:])
links = [[cora.node_ids[i], cora.node_ids[j]] for i, j in cora.edges.T]
tables = {
    "papers": [["paper", "words", "topic"], *rows[:-5]],
    "citations": [["citing", "cited"], *(pair for pair in links if not late & set(pair))],
    "new_papers": [["paper", "words"], *(row[:2] for row in rows[-5:])],
    "new_citations": [["citing", "cited"], *(pair for pair in links if late & set(pair))],
}
for name, table in tables.items():
    with (folder / f"{name}.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(table)

# Your part starts here.
data = read_tables(folder / "papers.csv", folder / "citations.csv", label="topic", text="words")
model = NodeClassifier("agnn", parameters={"layers": 2, "epochs": 200}, replicas=3).fit(data)
low, high = model.run_.interval
print(f"{model.accuracy_.mean:.1f} % of the labelled papers right ({low:.1f} to {high:.1f})")
model.save(folder / "run")

# Another day: the folder is all that is needed.
model = NodeClassifier.load(folder / "run")
found = model.predict_new(folder / "new_papers.csv", folder / "new_citations.csv")
for paper, topic, confidence in zip(found.ids, found.classes, found.confidence, strict=True):
    print(f"{paper}: {topic} ({confidence:.2f})")
