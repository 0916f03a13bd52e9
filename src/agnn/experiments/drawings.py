"""The trained models behind a figure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from agnn.data import load_dataset
from agnn.experiments.run_spec import RunSpec
from agnn.experiments.spec import Drawing
from agnn.runs import Run, evaluate, preset_method
from agnn.training import Progress

_SPLIT: Final = "fixed"
_METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "relevance": ("agnn",),
    "neighbourhoods": ("agnn", "gcn"),  # what one gets right and the other wrong
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
        for name in _METHODS[drawing.kind]
    }  # fmt: skip


def drawing_hash(drawing: Drawing) -> str:
    """A hash of what a figure depends on: its kind, panels and seeds, methods and data."""
    parts: list[object] = [drawing.kind, drawing.seeds]
    for panel in drawing.panels:
        parts += [panel.dataset, panel.title, panel.layer, panel.count]
        parts += [load_dataset(panel.dataset).fingerprint]
        parts += [
            RunSpec.of(preset_method(name, _SPLIT, panel.dataset), _SPLIT, None).text
            for name in _METHODS[drawing.kind]
        ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
