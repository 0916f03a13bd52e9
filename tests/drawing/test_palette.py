"""Colours have one meaning each, can be told apart and can be read."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from agnn.palette import AGAINST, CLASSES, FOR, PAGE, page_style

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
# Machado, Oliveira and Fernandes 2009: what is seen without red, without green vision.
_VISIONS = {
    "full": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
}


def _linear(colour: str) -> NDArray[np.float64]:
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _lab(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    x = _TO_XYZ @ np.clip(linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _apart(one: str, other: str, vision: str = "full") -> float:
    matrix = _VISIONS[vision]
    return float(np.linalg.norm(_lab(matrix @ _linear(one)) - _lab(matrix @ _linear(other))))


def _contrast(one: str, other: str) -> float:
    low, high = sorted(float(_linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_for_and_against_are_far_from_the_colour_of_every_class(mode: str) -> None:
    for shade, colour in product((FOR, AGAINST), CLASSES):
        assert _apart(getattr(shade, mode), colour) >= 30


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("vision", _VISIONS)
def test_for_and_against_can_be_told_apart_with_any_vision(mode: str, vision: str) -> None:
    assert _apart(getattr(FOR, mode), getattr(AGAINST, mode), vision) >= 55


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "faint", "accent", "good", "bad", "for", "against"])
def test_text_can_be_read_on_every_ground(name: str, mode: str) -> None:
    for ground in ("ground", "surface"):
        assert _contrast(getattr(PAGE[name], mode), getattr(PAGE[ground], mode)) >= 4.5


def test_the_style_has_every_colour_in_both_modes() -> None:
    light, dark = page_style().split("@media")
    for part in (light, dark):
        assert set(re.findall(r"--([a-z-]+):", part)) == set(PAGE)
    assert f"--for: {FOR.light}" in light
    assert f"--for: {FOR.dark}" in dark
