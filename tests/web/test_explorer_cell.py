"""`run.explorer()`: what a notebook is given to show."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from agnn.errors import InputError
from agnn.runs import Run, load_run
from agnn.web.explore._node_map import FILE
from explore_runs import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(write_run(tmp_path_factory.mktemp("cell") / "agnn", "agnn"))


def test_the_whole_page_is_in_the_frame(run: Run, tmp_path: Path) -> None:
    cell = run.explorer(limit=3, height=500)
    html = cell._repr_html_()
    assert cell._mime_() == ("text/html", html)
    inside = re.fullmatch(r'<iframe .* srcdoc="([^"]*)"></iframe>', html, re.DOTALL)
    assert inside is not None
    assert unescape(inside[1]) == cell.page
    assert "height: 500px" in html
    assert "allow-same-origin" not in html
    assert re.fullmatch(r"ExplorerCell\(AGNN on .*, [0-9.]+ MB\)", repr(cell))
    cell.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == cell.page
    with pytest.raises(InputError, match="exists"):
        cell.save(tmp_path / "page.html")


def test_a_cell_lays_nothing_out_and_writes_nothing(run: Run) -> None:
    assert run.folder is not None
    before = sorted(run.folder.iterdir())
    run.explorer(limit=1)
    assert sorted(run.folder.iterdir()) == before
    assert not (run.folder / FILE).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"height": 20}, "`height` must be at least 200 pixels; got 20"),
        ({"limit": 0}, "`limit` must be at least 1; got 0"),
        ({"cohort": "wrong", "nodes": ["1"]}, "give `cohort` or `nodes`, not both"),
        ({"nodes": []}, "`nodes` must be from 1 to"),
    ],
)
def test_what_a_cell_cannot_be_is_said(run: Run, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run.explorer(**options)


def test_a_limit_holds_for_a_cohort_and_for_the_sample(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def pack(_: Any, nodes: Any, *__: Any) -> bytes:
        counts.append(len(nodes))
        return b""

    monkeypatch.setattr("agnn.web.explore._shared_page.pack_answers", pack)
    run.explorer(limit=5)
    run.explorer(cohort="unsure", limit=2)
    run.explorer(limit=10**6)
    assert counts == [5, 2, run.data.nodes]
