"""Somebody's own words, as far as they can be shown."""

from __future__ import annotations

import pytest

from agnn.report import shown_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("paper 7", "paper 7"),
        (7, "7"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("a\x00b\x1b", "a\ufffdb\ufffd"),
        ("turned \u202e round", "turned \ufffd round"),
        ("half a \ud800 pair", "half a \ufffd pair"),
        ("עברית 日本語 <b>", "עברית 日本語 <b>"),
    ],
)
def test_what_cannot_be_seen_is_marked_and_all_else_stays(value, text):
    assert shown_text(value) == text


def test_a_long_text_keeps_both_ends():
    shown = shown_text("begin" + "x" * 500 + "end", 30)
    assert len(shown) == 30
    assert shown.startswith("begin")
    assert shown.endswith("end")
    assert "…" in shown
