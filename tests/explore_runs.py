"""Runs for the explorer to open: a small graph with a hub, names that look like markup, gaps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from agnn.data import NodeData, Split
from agnn.methods import get_method
from agnn.runs import evaluate, load_run, save_run
from agnn.web.explore import Explorer, Labelling

NODES, HUB, SCRIPT, ALONE = 200, 60, 61, 0
SCRIPT_ID = "<script>window.broken = 1</script>"
CLASSES = ("red", "green", "<b>blue</b>")
FIRST_UNLABELLED = 180


def explored_data() -> NodeData:
    """Three classes in communities; node HUB has 90 neighbours, ALONE none; some have no label."""
    source = np.random.default_rng(0)
    labels = source.integers(3, size=NODES)
    features = source.random((NODES, 12)) * (source.random((NODES, 12)) < 0.4)
    features[np.arange(NODES), 4 * labels + source.integers(4, size=NODES)] += 1.0
    i, j = source.integers(1, NODES, size=(2, 500))
    kept = (labels[i] == labels[j]) | (source.random(i.size) < 0.15)
    spokes = 1 + source.permutation(NODES - 1)[:90]
    edges = np.hstack([[i[kept], j[kept]], [np.full(90, HUB), spokes], [[HUB], [SCRIPT]]])
    ids = [f"paper {k}" for k in range(NODES)]
    ids[SCRIPT] = SCRIPT_ID
    labels[FIRST_UNLABELLED:] = -1
    order = 1 + source.permutation(FIRST_UNLABELLED - 1)
    split = Split("fixed", np.sort(order[:30]), np.sort(order[30:80]), np.sort(order[80:]))
    return NodeData.build(
        name="papers", features=features, labels=labels, edges=edges, class_names=CLASSES,
        node_ids=ids, splits={"fixed": split},
    )  # fmt: skip


def write_run(folder: Path, method: str, split: str = "fixed") -> Path:
    """Three replicas of a method on this data, in a new folder; AGNN has a layer more than GCN."""
    fields = {"epochs": 40} | ({"layers": 3} if method == "agnn" else {})
    run = evaluate(get_method(method)(**fields), explored_data(), split, seeds=range(3))
    save_run(run, folder)
    return folder


@contextmanager
def label_mode(folder: Path) -> Iterator[Labelling]:
    """Label mode over a stored run; labels and what is trained with them are beside its folder."""
    explorer = Explorer([load_run(folder)])
    explorer.prepare()
    labels = folder.with_name(f"{folder.name}.labels.jsonl")
    retrained = folder.with_name(f"{folder.name}-labelled")
    made = Labelling(explorer, folder, labels, retrained, trust_unchecked=False)
    yield made
    made.close()
