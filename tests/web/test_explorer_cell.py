"""`run.explorer()`: what a notebook is given to show."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError

from agnn.errors import InputError, UnavailableError
from agnn.runs import Run, load_run
from agnn.web.explore import ExplorerCell
from agnn.web.explore._node_map import FILE
from explore_runs import FIRST_UNLABELLED, NODES, SCRIPT_ID, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(write_run(tmp_path_factory.mktemp("cell") / "agnn", "agnn"))


@pytest.fixture
def no_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)


@pytest.fixture
def widget(run: Run) -> Any:
    """A cell of node 7 that takes labels."""
    return run.explorer(nodes=["paper 7"])


def send(widget: Any, *entries: Any) -> None:
    """Set the entries as the script in the notebook does."""
    widget.set_state({"entries": list(entries)})


@pytest.mark.usefixtures("no_anywidget")
def test_without_anywidget_it_is_a_frame_and_says_what_labels_need(run: Run) -> None:
    cell = run.explorer(limit=1)
    assert type(cell) is ExplorerCell
    assert cell._mime_() == ("text/html", cell._repr_html_())
    assert not hasattr(cell, "_repr_mimebundle_")
    assert repr(cell).startswith("ExplorerCell(AGNN on papers, ")
    with pytest.raises(UnavailableError, match=r"anywidget: pip install 'agnn\[notebook\]'"):
        _ = cell.labels


def test_a_widget_is_shown_as_one_and_holds_everything_itself(widget: Any) -> None:
    bundle, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == repr(widget)
    assert widget._repr_html_() == widget.frame  # a notebook keeps both
    assert "://" not in widget._esm
    assert "import" not in widget._esm


def test_labels_come_back_by_id_and_name(widget: Any) -> None:
    assert widget.labels == {}
    send(widget, {"nodes": [7], "label": 1})
    send(widget, {"nodes": [7], "label": 1}, {"nodes": [60, 61, 7], "label": 2})
    blue = "<b>blue</b>"
    assert widget.labels == {"paper 7": blue, "paper 60": blue, SCRIPT_ID: blue}
    assert widget.kept["nodes"] == [7, 60, 61]
    assert widget.kept["latest"][0] == {
        "label": 2, "count": 3, "index": 60, "id": "paper 60", "name": "paper 60"
    }  # fmt: skip
    send(widget, {"nodes": [7], "label": 1})
    assert widget.labels == {"paper 7": "green"}
    assert widget.kept["count"] == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"nodes": [NODES], "label": 0},
        {"nodes": [3, -1], "label": 0},
        {"nodes": [3], "label": 3},
        {"nodes": [3], "label": -1},
        {"nodes": [True], "label": 0},
        {"nodes": ["3"], "label": 0},
        {"nodes": [3.0], "label": 0},
        {"nodes": [], "label": 0},
        {"nodes": [3], "label": 0, "more": 1},
        {"nodes": [3]},
        [[3], 0],
        None,
    ],
)
def test_what_names_no_node_or_class_of_the_data_is_left_out(widget: Any, entry: Any) -> None:
    good = {"nodes": [7], "label": 1}
    send(widget, good, entry)
    assert widget.entries == [good]
    assert widget.labels == {"paper 7": "green"}
    send(widget, entry, good, good)  # the next ones are taken
    assert widget.entries == [good, good]


def test_entries_that_are_no_list_change_nothing(widget: Any) -> None:
    send(widget, {"nodes": [7], "label": 1})
    with pytest.raises(TraitError, match="expected a list"):
        widget.set_state({"entries": {"nodes": [8], "label": 1}})
    assert widget.labels == {"paper 7": "green"}


def test_a_run_is_trained_again_with_the_labels(run: Run, widget: Any) -> None:
    node = FIRST_UNLABELLED
    other = node + 1
    send(widget, {"nodes": [node], "label": 2}, {"nodes": [other], "label": 1})
    better = run.retrain(widget.labels)
    assert better.data.labels[[node, other]].tolist() == [2, 1]
    assert all({node, other} <= {*split.train.tolist()} for split in better.splits)
    with pytest.raises(InputError, match="has no node 'nobody'"):
        run.retrain({"nobody": "red"})
    with pytest.raises(InputError, match="has no class 'pink'"):
        run.retrain({"paper 7": "pink"})


def test_the_whole_page_is_in_the_frame(run: Run, tmp_path: Path) -> None:
    cell = run.explorer(limit=3, height=500)
    html = cell._repr_html_()
    assert cell._mime_() == ("text/html", html)
    inside = re.fullmatch(r'<iframe .* srcdoc="([^"]*)"></iframe>', html, re.DOTALL)
    assert inside is not None
    assert unescape(inside[1]) == cell.page
    assert "height: 500px" in html
    assert "allow-same-origin" not in html
    assert re.fullmatch(r"Explorer(Cell|Widget)\(AGNN on .*, [0-9.]+ MB\)", repr(cell))
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
