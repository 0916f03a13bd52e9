"""A figure inside a page: names of its own, the page's colours, text that stays text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from agnn.report._rendering import INK, WORDS, figure_style, inline_svg

HOSTILE = '</svg><script>alert("x")</script> id="y" url(#z) &amp; $x$'


def drawn(title: str = "title") -> Figure:
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=INK)
    axes.set_title(title, parse_math=False)
    return figure


@pytest.fixture
def text() -> str:
    with figure_style():
        return str(inline_svg(drawn(HOSTILE), "one", 'what "it" shows <here>'))


def test_text_is_escaped_and_left_as_it_is(text):
    assert "<script" not in text
    found = ["".join(each.itertext()) for each in ET.fromstring(text).iter() if "text" in each.tag]  # noqa: S314
    assert HOSTILE in found


def test_characters_that_xml_forbids_are_replaced():
    with figure_style():
        text = str(inline_svg(drawn("a\x01b\x1b[31mc\x00"), "one", "words"))
    found = ["".join(each.itertext()) for each in ET.fromstring(text).iter() if "text" in each.tag]  # noqa: S314
    assert (
        "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31mc\N{REPLACEMENT CHARACTER}"
        in found
    )


def test_every_name_begins_with_the_figures_and_every_reference_is_to_one(text):
    names = re.findall(r' id="([^"]*)"', re.sub(r">[^<]*<", "><", text))
    assert names
    assert all(name.startswith("one-") for name in names)
    assert len(set(names)) == len(names)
    clean = re.sub(r">[^<]*<", "><", text)
    referred = re.findall(r"url\(#([^)]*)\)", clean) + re.findall(r'href="#([^"]*)"', clean)
    assert referred
    assert set(referred) <= set(names)


def test_two_figures_share_no_name():
    with figure_style():
        parts = [str(inline_svg(drawn(), name, "words")) for name in ("one", "other")]
    first, second = (set(re.findall(r' id="([^"]*)"', part)) for part in parts)
    assert not first & second


def test_colours_and_font_are_the_pages(text):
    assert WORDS not in text
    assert INK not in text
    assert "currentColor" in text
    assert "var(--figure-ink)" in text
    assert "DejaVu" not in text
    assert "<style" not in text
    assert "metadata" not in text


def test_a_screen_reader_is_told_what_it_shows(text):
    root = ET.fromstring(text)  # noqa: S314 (our own drawing)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == 'what "it" shows <here>'
    assert re.fullmatch(r"--width: 288px", root.attrib["style"])
    assert "viewBox" in root.attrib


def test_no_global_state_is_left_and_foreign_scripts_raise_no_warning():
    before = dict(matplotlib.rcParams)
    with figure_style():
        text = str(inline_svg(drawn("日本語 עברית"), "one", "words"))
    assert "日本語 עברית" in text
    assert dict(matplotlib.rcParams) == before


def test_numbers_are_cut_to_a_hundredth():
    with figure_style():
        figure = Figure()
        figure.add_subplot().plot(np.pi * np.arange(5))
        text = str(inline_svg(figure, "one", "words"))
    assert not re.search(r' (d|transform|x|y)="[^"]*\d\.\d{3}', text)
