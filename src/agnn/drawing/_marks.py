"""A mark for every class: a colour and a shape, so that it can be read without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Okabe and Ito's, which can be told apart without full colour vision; neighbours in the list
# differ in brightness too.
_COLOURS: Final = ("#e69f00", "#0072b2", "#f0e442", "#d55e00", "#56b4e9", "#009e73", "#cc79a7")
_UNLABELLED: Final = "#ffffff"
_WHOLE: Final = 4.0  # area of a mark that has all the attention, an edge being 1 long
_SMALLEST: Final = 0.003  # a mark with a smaller share is drawn as if it had this
# The distance of the control points of a cubic curve that follows an eighth of a unit circle.
_EIGHTH: Final = 0.2652031


class Mark(NamedTuple):
    """Colour and shape of the nodes of a class."""

    colour: str
    points: NDArray[np.float64]  # [k, 2] around the origin; the closed shape has area 1
    is_curved: bool = False  # points after the first are control points of cubic curves, by threes

    @property
    def reach(self) -> float:
        """The distance from the origin to the farthest point."""
        return float(np.linalg.norm(self.points, axis=1).max())

    @property
    def svg_path(self) -> str:
        """The shape as the `d` of an SVG path, with the area of a circle of radius 1."""
        # SVG's second axis points down.
        points = self.points * [1.0, -1.0] * np.sqrt(np.pi)
        step = 3 if self.is_curved else 1
        letter = "C" if self.is_curved else "L"
        parts = [points[1 + k : 1 + k + step] for k in range(0, len(points) - 1, step)]
        return "M" + _numbers(points[:1]) + "".join(letter + _numbers(part) for part in parts) + "Z"


def _numbers(points: NDArray[np.float64]) -> str:
    return " ".join(f"{value:.3f}" for value in points.ravel().tolist())


def class_mark(label: int) -> Mark:
    """Return the mark of a class, or of a node without one (-1): an empty octagon.

    There are 7 colours and 7 shapes. When the colours begin again the shapes have moved on by
    one, so 49 classes have different marks.
    """
    if label < 0:
        return Mark(_UNLABELLED, _OCTAGON)
    shape = (label + label // len(_COLOURS)) % (1 + len(_POLYGONS))
    colour = _COLOURS[label % len(_COLOURS)]
    return (
        Mark(colour, _CIRCLE, is_curved=True) if shape == 0 else Mark(colour, _POLYGONS[shape - 1])
    )


def mark_areas(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the areas of marks by their share of the attention, edges being 1 long; [k]."""
    # Paper: there the radius is proportional to attention. An eye compares areas.
    return _WHOLE * np.maximum(shares, _SMALLEST)


def ink_on(colour: str) -> str:
    """Return black or white, whichever has more contrast (WCAG) on a colour #rrggbb."""
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "black" if luminance > 0.179 else "white"


def _circle() -> NDArray[np.float64]:
    """Return a circle of area 1 as eight cubic curves; [25, 2]."""
    angle = np.radians(45.0 * np.arange(9) - 90.0)
    corners = np.column_stack([np.cos(angle), np.sin(angle)])
    tangents = _EIGHTH * np.column_stack([-np.sin(angle), np.cos(angle)])
    after = corners[:-1] + tangents[:-1]
    before = corners[1:] - tangents[1:]
    curves = np.stack([after, before, corners[1:]], 1).reshape(-1, 2)
    circle: NDArray[np.float64] = np.vstack([corners[:1], curves]) / np.sqrt(np.pi)
    return circle


def _polygon(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners [k, 2] of a polygon, scaled to area 1."""
    x, y = corners.T
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    scaled: NDArray[np.float64] = corners / np.sqrt(area)
    return scaled


def _regular(corners: int, turn: float) -> NDArray[np.float64]:
    """Return a regular polygon, its first corner `turn` degrees round from straight up."""
    angle = np.radians(turn + 90.0) + 2 * np.pi * np.arange(corners) / corners
    return _polygon(np.column_stack([np.cos(angle), np.sin(angle)]))


def _plus(turn: float) -> NDArray[np.float64]:
    """Return a broad cross, turned by so many degrees."""
    arm = 1.0
    half = 0.42
    corner = np.array([[half, half], [half, arm], [-half, arm]])
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    corners = np.vstack([corner @ np.linalg.matrix_power(quarter.T, k) for k in range(4)])
    angle = np.radians(turn)
    rotation = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return _polygon(corners @ np.array(rotation))


_CIRCLE: Final = _circle()
_POLYGONS: Final = (
    _regular(4, 45.0),
    _regular(3, 0.0),
    _regular(4, 0.0),
    _regular(3, 180.0),
    _plus(0.0),
    _plus(45.0),
)
_OCTAGON: Final = _regular(8, 22.5)
