"""Marks of classes: different from each other, of one area, and the same everywhere."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from agnn.drawing import Mark, class_mark, mark_areas
from agnn.palette import ink_on
from properties import fresh_python


def outline(mark: Mark) -> np.ndarray:
    """The corners of the shape, its curves as many straight lines."""
    step = Path.CURVE4 if mark.is_curved else Path.LINETO
    codes = [Path.MOVETO, *[step] * (len(mark.points) - 1), Path.CLOSEPOLY]
    return Path(np.vstack([mark.points, mark.points[:1]]), codes).to_polygons()[0]


def area_and_centre(corners: np.ndarray) -> tuple[float, np.ndarray]:
    following = np.roll(corners, -1, axis=0)
    cross = corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]
    centre = (cross[:, None] * (corners + following)).sum(0) / (3 * cross.sum())
    return 0.5 * abs(float(cross.sum())), centre


def test_every_class_has_a_mark_of_its_own_and_of_the_same_area() -> None:
    marks = [class_mark(label) for label in range(49)]
    assert len({(mark.colour, mark.points.tobytes()) for mark in marks}) == 49
    for mark in (*marks, class_mark(-1)):
        area, centre = area_and_centre(outline(mark))
        assert area == pytest.approx(1.0, rel=0.01)
        assert centre == pytest.approx([0, 0], abs=1e-3)


def test_the_circle_is_matplotlibs() -> None:
    circle = class_mark(0)
    assert circle.is_curved
    expected = Path.unit_circle().vertices[:-1] / np.sqrt(np.pi)
    assert circle.points == pytest.approx(expected, abs=1e-7)
    assert circle.reach == pytest.approx(np.linalg.norm(expected, axis=1).max())


@pytest.mark.parametrize("label", [-1, 0, 2, 5])
def test_the_path_in_svg_is_the_shape_at_the_size_of_a_unit_circle(label: int) -> None:
    mark = class_mark(label)
    letters = re.findall("[MLCZ]", mark.svg_path)
    numbers = [float(each) for each in re.findall(r"-?[0-9.]+", mark.svg_path)]
    points = np.reshape(numbers, (-1, 2))
    assert points == pytest.approx(np.sqrt(np.pi) * mark.points * [1, -1], abs=6e-4)
    curves = (len(points) - 1) // 3
    expected = ["C"] * curves if mark.is_curved else ["L"] * (len(points) - 1)
    assert letters == ["M", *expected, "Z"]


def test_the_classes_of_the_paper_read_without_colour() -> None:
    """Seven classes have seven shapes; colours next to each other differ in brightness."""
    assert len({class_mark(label).points.tobytes() for label in range(7)}) == 7
    grey = [np.dot(to_rgb(class_mark(label).colour), [0.299, 0.587, 0.114]) for label in range(7)]
    assert np.abs(np.diff(grey)).min() > 0.08


def test_words_on_a_dark_ground_are_white_and_on_a_bright_one_black() -> None:
    assert ink_on("#0072b2") == "white"
    assert ink_on("#f0e442") == "black"


def test_the_area_of_a_mark_is_its_share_and_never_too_small_to_see() -> None:
    shares = np.array([0.0, 0.25, 0.5, 1.0])
    areas = mark_areas(shares)
    assert areas[1:] / areas[-1] == pytest.approx(shares[1:])
    assert 0 < areas[0] < areas[1]


TRAINED = """
import agnn
from explore_runs import explored_data
run = agnn.evaluate("agnn", explored_data(), split="fixed", replicas=1, changes={"epochs": 2})
run.explain("paper 5")
from agnn.web.explore import Explorer
explorer = Explorer([run])
explorer.prepare()
explorer.around(5, hops=2, limit=20, replica=None)
"""


@pytest.mark.parametrize("program", ["import agnn.drawing, agnn.report, agnn.web.explore", TRAINED])
def test_only_figures_load_matplotlib(program: str) -> None:
    """It takes half a second, and neither an explanation nor the explorer needs it."""
    ending = "\nimport sys; print('loaded' if 'matplotlib' in sys.modules else 'not loaded')"
    assert fresh_python(program + ending).splitlines()[-1] == "not loaded"
