"""Your own graph from arrays: features, labels with gaps, links, and a split of the labelled."""

import numpy as np

from agnn import NodeData, evaluate, get_method
from agnn.data import uniform_split

rng = np.random.default_rng(0)
n, classes = 300, 3
kind = rng.integers(0, classes, n)
features = rng.random((n, 12)) + np.eye(classes)[kind].repeat(4, axis=1)
pairs = rng.integers(0, n, (2, 3000))
same = kind[pairs[0]] == kind[pairs[1]]
edges = pairs[:, same | (rng.random(3000) < 0.1)]  # mostly inside a class
labels = np.where(rng.random(n) < 0.5, kind, -1)  # -1: not known

data = NodeData.build(
    name="mine",
    features=features,
    labels=labels,
    edges=edges,
    class_names=("red", "green", "blue"),
)
split = uniform_split(data, seed=0, sizes=(30, 40, 50))
method = get_method("agnn")(layers=2, epochs=100)
run = evaluate(method, data.with_split(split), split.name, seeds=range(5))
print(f"test accuracy {run.accuracy.mean:.1f} ± {run.accuracy.standard_error:.1f} %")
unknown = np.flatnonzero(labels < 0)
right = run.scores.mean(0).argmax(-1).numpy()[unknown] == kind[unknown]
print(f"of the {unknown.size} nodes without a label {100 * right.mean():.0f} % are right")
