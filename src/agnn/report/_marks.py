"""A mark for every class: a colour and a shape, so that it can be read without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from matplotlib.path import Path

from agnn.report._style import CLASSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNKNOWN: Final = "#ffffff"


class Mark(NamedTuple):
    """Colour and shape of the nodes of a class."""

    colour: str
    shape: Path  # around the origin, of area 1


def class_mark(label: int) -> Mark:
    """The mark of a class, or of a node without one (-1): an empty octagon.

    There are 7 colours and 7 shapes. When the colours begin again the shapes have moved on by
    one, so 49 classes have different marks.
    """
    if label < 0:
        return Mark(_UNKNOWN, _UNKNOWN_SHAPE)
    colours, shapes = len(CLASSES), len(_SHAPES)
    return Mark(CLASSES[label % colours], _SHAPES[(label + label // colours) % shapes])


def _shape(corners: NDArray[np.float64]) -> Path:
    """The polygon of the corners [k, 2], scaled to area 1, its middle at the origin."""
    x, y = corners.T
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    return Path(np.vstack([corners, corners[:1]]) / np.sqrt(area), closed=True)


def _regular(corners: int, turn: float) -> NDArray[np.float64]:
    """The corners of a regular polygon, the first `turn` degrees round from straight up."""
    angle = np.radians(turn + 90.0) + 2 * np.pi * np.arange(corners) / corners
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _plus(turn: float) -> NDArray[np.float64]:
    """A broad cross."""
    arm, half = 1.0, 0.42
    corner = np.array([[half, half], [half, arm], [-half, arm]])
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    corners = np.vstack([corner @ np.linalg.matrix_power(quarter.T, k) for k in range(4)])
    angle = np.radians(turn)
    turned: NDArray[np.float64] = corners @ np.array(
        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    )
    return turned


_SHAPES: Final = (
    Path(Path.unit_circle().vertices / np.sqrt(np.pi), Path.unit_circle().codes),
    _shape(_regular(4, 45.0)),
    _shape(_regular(3, 0.0)),
    _shape(_regular(4, 0.0)),
    _shape(_regular(3, 180.0)),
    _shape(_plus(0.0)),
    _shape(_plus(45.0)),
)
_UNKNOWN_SHAPE: Final = _shape(_regular(8, 22.5))
