"""Figures: what stands in them, and that they are the same each time."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from agnn.metrics import Summary
from agnn.report._charts import relevance_heat_map, replica_figure
from agnn.report._rendering import png, svg
from agnn.tables import signed_number


def words(figure: Any) -> list[str]:
    """The lines of text in the figure's SVG, as a reader or a search would find them."""
    root = ET.fromstring(svg(figure))  # noqa: S314 (our own drawing)
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    return [" ".join("".join(text.itertext()).split()) for text in texts]


def test_the_heat_map_names_every_class_on_both_sides(relevance: Any) -> None:
    found = words(relevance_heat_map(relevance, ("Theory", "Case <1>", "Rule"), "Title"))
    for name in ("Theory", "Case <1>", "Rule"):
        assert found.count(name) == 2
    assert "Title" in found


def test_the_heat_map_writes_each_value_into_its_cell(relevance: Any) -> None:
    figure = relevance_heat_map(relevance, "abc", "")
    cells = {text.get_position(): text.get_text() for text in figure.axes[0].texts}
    assert cells[(1, 0)] == "\N{MINUS SIGN}0.20", "row 0 receives, column 1 sends"
    assert cells[(0, 1)] == "0.00"
    assert cells[(2, 0)] == "\N{EN DASH}"
    assert cells[(0, 2)] == "+0.40"


def test_a_dollar_sign_in_a_name_is_no_formula(relevance: Any) -> None:
    found = words(relevance_heat_map(relevance, ("$\\frac{$", "a$b$", "c"), "$x$"))
    assert {"$\\frac{$", "a$b$", "$x$"} <= set(found)


def test_zero_is_the_lightest_cell_of_a_heat_map_and_both_sides_grow_darker() -> None:
    figure = relevance_heat_map(np.array([[-1.0, 0.0], [0.5, 3.0]]), "ab", "")
    image = figure.axes[0].images[0]
    grey = image.to_rgba(np.linspace(-3, 3, 41))[:, :3] @ [0.299, 0.587, 0.114]
    assert grey.argmax() == 20
    assert (np.diff(grey[:21]) > 0).all()
    assert (np.diff(grey[20:]) < 0).all()


def test_every_number_of_the_heat_map_stands_out_from_its_cell() -> None:
    def luminance(colour: Any) -> float:
        return sum(
            share * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for share, c in zip((0.2126, 0.7152, 0.0722), colour[:3], strict=True)
        )

    values = np.linspace(-1, 1, 49).reshape(7, 7)
    axes = relevance_heat_map(values, "abcdefg", "").axes[0]
    for text in axes.texts:
        column, row = text.get_position()
        cell = luminance(axes.images[0].to_rgba(values)[int(row), int(column)])
        ink = luminance(to_rgb(text.get_color()))
        low, high = sorted((cell, ink))
        assert (high + 0.05) / (low + 0.05) > 4.5, "WCAG's contrast for text"


def test_the_replica_figure_has_a_dot_each_and_a_bar_at_the_mean() -> None:
    figure = replica_figure(Summary([81.0, 83.0]), np.array([[0.0, 5.0], [0.0, 9.0]]))
    accuracy, betas = figure.axes
    assert accuracy.lines[0].get_ydata() == pytest.approx([81, 83])
    assert accuracy.lines[1].get_ydata() == pytest.approx([82, 82])
    assert betas.lines[2].get_ydata() == pytest.approx([5, 9])
    assert [label.get_text() for label in betas.get_xticklabels()] == ["layer 1", "layer 2"]
    assert len(replica_figure(Summary([81.0]), None).axes) == 1


def test_the_same_figure_gives_the_same_bytes(relevance: Any) -> None:
    drawings = [svg(relevance_heat_map(relevance, "abc", "")) for _ in range(2)]
    assert drawings[0] == drawings[1]
    assert not re.search("<dc:date>", drawings[0])


def test_a_png_is_an_image_in_which_something_is_drawn(relevance: Any) -> None:
    pixels = imread(io.BytesIO(png(relevance_heat_map(relevance, "abc", ""))))
    assert pixels.shape[0] > 300
    assert pixels[..., :3].std() > 0.05


def test_figures_leave_no_global_state(relevance: Any) -> None:
    before = dict(matplotlib.rcParams)
    svg(relevance_heat_map(relevance, "abc", ""))
    assert dict(matplotlib.rcParams) == before


def test_figures_do_without_pyplot() -> None:
    program = (
        "import sys; from agnn.report._charts import relevance_heat_map;"
        "from agnn.report._rendering import png, svg;"
        "figure = relevance_heat_map(__import__('numpy').eye(2), 'ab', ''); svg(figure);"
        "png(figure); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0  # noqa: S603


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123, "+0.12"),
        (-0.5, "\N{MINUS SIGN}0.50"),
        (-0.004, "0.00"),
        (0.0, "0.00"),
        (float("nan"), "\N{EN DASH}"),
    ],
)
def test_a_signed_number_has_two_places_and_no_minus_zero(value: float, text: str) -> None:
    assert signed_number(value) == text
