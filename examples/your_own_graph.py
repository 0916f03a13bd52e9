"""From two CSV files to answers: a table of papers, a table of citations, some topics known."""

import csv
import tempfile
from pathlib import Path

from agnn import evaluate, load_dataset, preset_method, read_tables
from agnn.data import default_split

# Two files as you may have them; here they are written from Cora. Every third topic is hidden.
folder, cora = Path(tempfile.mkdtemp()), load_dataset("cora")
with (folder / "papers.csv").open("w", newline="") as stream:
    table = csv.writer(stream)
    table.writerow(["paper", "words", "topic"])
    for i in range(cora.nodes):
        words = " ".join(f"word{k}" for k in cora.features[[i]].indices)
        topic = "" if i % 3 == 0 else cora.class_names[cora.labels[i]]
        table.writerow([cora.node_ids[i], words, topic])
with (folder / "citations.csv").open("w", newline="") as stream:
    table = csv.writer(stream)
    table.writerow(["citing", "cited"])
    table.writerows((cora.node_ids[i], cora.node_ids[j]) for i, j in cora.edges.T)

# Your part starts here.
data = read_tables(folder / "papers.csv", folder / "citations.csv", label="topic", text="words")
report = data.report
print(f"{report.nodes} papers, {report.edges} citations, {report.unlabelled} without a topic")
print(*report.reading.notes, sep="\n")

split = default_split(data)  # "stratified": 60, 20 and 20 % of each topic
method = preset_method("agnn", split, "mine").with_fields(layers=2, epochs=200)
run = evaluate(method, data, split, seeds=range(3))
print(f"test accuracy {run.accuracy.mean:.1f} ± {run.accuracy.standard_error:.1f} %")

probability = run.outcome.scores.mean(0)  # [n, c], averaged over the replicas
for i in (data.labels < 0).nonzero()[0][:3]:
    answer = int(probability[i].argmax())
    print(f"{data.node_ids[i]}: {data.class_names[answer]} ({probability[i, answer]:.2f})")
