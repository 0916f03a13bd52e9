"""The mark of every class as an SVG path."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from agnn.report import class_mark, ink_on

_LETTERS: Final = {1: "M", 2: "L", 4: "C"}  # matplotlib's codes, without the one that closes


def class_marks(class_names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Name, colour, ink and shape of every class in order, and last of unlabelled nodes."""
    names = [*class_names, "no label"]
    labels = [*range(len(class_names)), -1]
    return [_mark(label, name) for label, name in zip(labels, names, strict=True)]


def _mark(label: int, name: str) -> dict[str, Any]:
    mark = class_mark(label)
    rgb = [int(mark.colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    # SVG's second axis points down; the shape is scaled to the area of a circle of radius 1.
    parts = [
        _LETTERS[int(code)] + " ".join(f"{x:.3f}" for x in _scaled(corners))
        for corners, code in mark.shape.iter_segments(simplify=False)
        if int(code) in _LETTERS
    ]
    return {"name": name, "colour": mark.colour, "ink": ink_on(rgb), "shape": "".join(parts) + "Z"}


def _scaled(corners: Any) -> list[float]:
    points = np.reshape(corners, (-1, 2)) * [1.0, -1.0] * np.sqrt(np.pi)
    flat: list[float] = points.ravel().tolist()
    return flat
