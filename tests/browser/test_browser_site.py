"""The documentation in a real browser, where `make docs` has built it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_browser_axe import axe, violations  # noqa: F401 (a fixture)

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = (
    "index.html",
    "five_pictures.html",
    "tutorials/first_ten_minutes.html",
    "reproduction.html",
    "kernels.html",
    "reference/python/agnn.html",
    "reference/python/errors.html",
    "reference/python/metrics.html",
    "reference/commands/train.html",
    "reference/methods/agnn.html",
    "reference/errors.html",
)


@pytest.mark.skipif(not SITE.is_dir(), reason="`make docs` builds the site")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible_and_asks_nobody_else(
    browser: Any,
    axe: str,  # noqa: F811
    page: str,
    scheme: str,
) -> None:
    shown = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
    foreign: list[str] = []
    shown.on("request", lambda request: foreign.append(request.url))
    shown.goto((SITE / page).as_uri())
    assert violations(shown, axe) == []
    assert [url for url in foreign if not url.startswith(("file:", "data:", "blob:"))] == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    shown.close()
