"""The page of a demonstration: complete, safe and alone."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from agnn.evaluation import evaluate
from agnn.report import PageFigure, demo_figures, demo_page, svg


@pytest.fixture
def page(short_run: Any, relevance: Any) -> str:
    figures = [
        PageFigure(svg(figure), caption)
        for figure, caption in demo_figures(short_run, relevance).values()
    ]
    return demo_page(short_run, relevance, figures, "agnn demo --out 'my demo'")


class Reader(HTMLParser):
    """Collects the tags, their attributes and the words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_class_name_is_text_and_never_markup(page: str) -> None:
    read = Reader(page)
    assert "script" not in {tag for tag, _ in read.tags}
    assert "<script>alert(1)</script>" in "".join(read.words)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_page_loads_nothing_from_anywhere(page: str) -> None:
    read = Reader(page)
    addresses = [
        value
        for _, attributes in read.tags
        for name, value in attributes.items()
        if name in {"src", "href", "srcset", "action", "data", "poster"}
    ]
    assert len(addresses) == 4
    assert all(str(address).startswith("data:image/svg+xml;base64,") for address in addresses)
    assert not {tag for tag, _ in read.tags} & {"link", "script", "iframe", "object", "base"}
    assert "@import" not in page
    assert "url(" not in page


def test_the_images_inside_load_nothing_either(page: str) -> None:
    images = re.findall(r"base64,([A-Za-z0-9+/=]+)", page)
    assert len(images) == 4
    for image in images:
        drawing = base64.b64decode(image).decode()
        assert drawing.rstrip().endswith("</svg>")
        loaded = re.findall(r'(?:href|src)="([^"]*)"', drawing)
        assert all(address.startswith(("#", "data:")) for address in loaded)


def test_the_page_holds_the_result_and_how_it_was_made(page: str, short_run: Any) -> None:
    text = " ".join("".join(Reader(page).words).split())
    accuracy = short_run.accuracy
    assert f"{accuracy.mean:.2f} % ± {accuracy.standard_error:.2f}" in text
    assert "n = 3 replicas" in text
    assert f"varies by {accuracy.deviation:.2f} (standard deviation)" in text
    assert "agnn demo --out 'my demo'" in text
    assert "0, 1, 2" in text
    assert f"torch {short_run.versions['torch']}" in text
    assert "\N{MINUS SIGN}0.30" in text
    assert "epochs 4" in text


def test_the_betas_of_the_page_are_the_means_over_the_replicas(page: str, short_run: Any) -> None:
    rows = re.findall(r'<tr><th scope="row">(\d)</th><td>([\d.]+)</td>', page)
    means = [sum(column) / 3 for column in zip(*short_run.betas, strict=True)]
    assert rows == [(str(t + 1), f"{mean:.2f}") for t, mean in enumerate(means)]


def test_the_strongest_and_weakest_relations_are_named(page: str) -> None:
    text = " ".join("".join(Reader(page).words).split())
    first, second, third = "<script>alert(1)</script>", 'a "b" & $\\frac{$', "blue"
    assert f"most: {first} → {third} (+0.40)" in text
    assert (
        f"Least: {third} → {second} (\N{MINUS SIGN}0.30), {second} → {third} (\N{MINUS SIGN}0.25)"
        in text
    )


def test_a_single_replica_has_a_page_without_errors_of_the_mean(
    short_run: Any, relevance: Any
) -> None:
    single = evaluate(short_run.method, short_run.data, "fixed", (0,))
    page = demo_page(single, relevance, [], "agnn demo")
    assert "n = 1 replica." in " ".join(page.split())
    assert "standard error" not in page
