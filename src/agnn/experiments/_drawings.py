"""The kinds of figures, and the trained models behind one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agnn.data import load_dataset
from agnn.experiments._run_spec import RunSpec
from agnn.experiments._spec import Drawing, NeighbourhoodPanel, Panel, RelevancePanel
from agnn.runs import Run, evaluate, preset_method
from agnn.training import Progress

_SPLIT: Final = "fixed"


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the methods it looks at and what its panels hold.

    `agnn.report` has the function that draws it, under the same name.
    """

    methods: tuple[str, ...]
    panel: type[Panel]


KINDS: Final[Mapping[str, Kind]] = {
    "relevance": Kind(("agnn",), RelevancePanel),
    # What one gets right and the other wrong.
    "neighbourhoods": Kind(("agnn", "gcn"), NeighbourhoodPanel),
}


def drawing_runs(
    drawing: Drawing, dataset: str, *, device: str = "auto", backend: str = "auto",
    progress: Progress | None = None,
) -> dict[str, Run]:  # fmt: skip
    """The runs on a dataset that a figure looks at, by method, with the paper's settings."""
    return {
        name: evaluate(
            preset_method(name, _SPLIT, dataset), load_dataset(dataset), _SPLIT,
            range(drawing.seeds), device=device, backend=backend, progress=progress,
        )
        for name in KINDS[drawing.kind].methods
    }  # fmt: skip


def drawing_hash(drawing: Drawing) -> str:
    """A hash of what a figure depends on: its kind, panels and seeds, methods and data."""
    parts: list[object] = [drawing.kind, drawing.seeds]
    for panel in drawing.panels:
        layer, count = getattr(panel, "layer", None), getattr(panel, "count", None)
        parts += [panel.dataset, panel.title, layer, count]
        parts += [skip] if (skip := getattr(panel, "skip", 0)) else []
        parts += [load_dataset(panel.dataset).fingerprint]
        parts += [
            RunSpec.of(preset_method(name, _SPLIT, panel.dataset), _SPLIT, None).text
            for name in KINDS[drawing.kind].methods
        ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
