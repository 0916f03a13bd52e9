"""From a dataset to predictions, their uncertainty and a saved run."""

import tempfile
from pathlib import Path

from agnn import evaluate, load_dataset, load_run, preset_method, save_run

cora = load_dataset("cora")
method = preset_method("agnn", "fixed", "cora").with_fields(epochs=200)
run = evaluate(method, cora, "fixed", seeds=range(3))
accuracy = run.accuracy
print(f"test accuracy {accuracy.mean:.1f} ± {accuracy.standard_error:.1f} % (n = {accuracy.n})")

probability = run.scores.mean(0)  # [n, c], averaged over the replicas
paper = cora.node_ids.index("1110563")
answer = int(probability[paper].argmax())
print(f"paper 1110563: {cora.class_names[answer]}, probability {probability[paper, answer]:.2f}")

folder = Path(tempfile.mkdtemp()) / "run"
save_run(run, folder)
print(f"saved and loaded: {load_run(folder).method}")
