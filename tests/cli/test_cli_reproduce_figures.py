"""Figures: drawn once, as PNG and SVG, and again when what they depend on has changed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from agnn.runs import preset_method
from agnn.studies import _reproduce as reproduction

RELEVANCE = """
title = "Relevance"
place = "Figure 0"
kind = "relevance"
seeds = 2
notes = ["A note."]
[[panels]]
dataset = "cora"
title = "Cora, layer 2"
layer = 2
"""
NEIGHBOURHOODS = RELEVANCE.replace("relevance", "neighbourhoods").replace("layer = 2", "count = 3")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two epochs instead of the paper's; the methods that were trained."""
    trained: list[str] = []

    def preset(name: str, split: str, dataset: str) -> Any:
        return preset_method(name, split, dataset).with_fields(epochs=2)

    def evaluate(method: Any, *rest: Any, **options: Any) -> Any:
        trained.append(method.name)
        return original(method, *rest, **options)

    original = reproduction.evaluate
    monkeypatch.setattr(reproduction, "preset_method", preset)
    monkeypatch.setattr(reproduction, "evaluate", evaluate)
    return trained


def test_a_heat_map_is_drawn_once_and_again_when_its_file_changes(
    agnn: Any, here: Path, short: list[str]
) -> None:
    (here / "mine.toml").write_text(RELEVANCE, encoding="utf-8")
    found = json.loads(agnn("reproduce mine.toml --quiet --json").out)["experiments"][0]
    assert [Path(file).name for file in found["files"]] == [
        "mine-cora-layer2.png", "mine-cora-layer2.svg",
    ]  # fmt: skip
    picture, drawing = (Path(file).read_bytes() for file in found["files"])
    assert picture.startswith(b"\x89PNG")
    assert b"Reinforcement" in drawing
    assert agnn("reproduce mine.toml --quiet").code == 0
    assert short == ["agnn"], "the second call draws nothing"
    page = (here / "reproduction" / "mine.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert "A note." in page
    (here / "mine.toml").write_text(RELEVANCE.replace("seeds = 2", "seeds = 1"), encoding="utf-8")
    agnn("reproduce mine.toml --quiet")
    assert short == ["agnn", "agnn"]
    marker = here / "reproduction" / "figures" / "mine.json"
    kept = json.loads(marker.read_text(encoding="utf-8"))
    del kept["values"]
    marker.write_text(json.dumps(kept), encoding="utf-8")
    agnn("reproduce mine.toml --quiet")
    assert short == ["agnn"] * 3, "what was measured is kept with the figure"


def test_a_page_takes_the_figures_along_and_judges_them_without_training(
    agnn: Any, here: Path, short: list[str]
) -> None:
    named = 'largest = "0.017"\nstrongest = [["Case Based", "Theory"]]\n'
    (here / "mine.toml").write_text(RELEVANCE + named, encoding="utf-8")
    (found,) = json.loads(agnn("reproduce mine.toml --quiet --json").out)["experiments"]
    assert "relations that the paper calls strongest" in found["judgements"][0]
    page = (here / "reproduction" / "mine.html").read_text(encoding="utf-8")
    assert "relations that the paper calls strongest" in page
    assert agnn("reproduce mine.toml --page docs/page.md").code == 0
    page = (here / "docs" / "page.md").read_text(encoding="utf-8")
    assert short == ["agnn"]
    assert "**Cora, layer 2**, 2 replicas." in page
    assert "| Case Based → Theory | strongest, +0.017 |" in page
    kept = json.loads((here / "docs" / "figures" / "mine.json").read_text(encoding="utf-8"))
    (values,) = kept["values"].values()
    assert (len(values), len(values[0]), len(values[0][0])) == (2, 7, 7)
    assert "![Figure 0: Relevance](figures/mine-cora-layer2.png)" in page
    assert (here / "docs" / "figures" / "mine-cora-layer2.png").is_file()


def test_neighbourhoods_are_of_nodes_that_agnn_knows_and_gcn_does_not(
    agnn: Any, here: Path, short: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def find_contrasts(right: Any, wrong: Any, split: Any, count: int) -> list[int]:
        asked.append((right.model.title, wrong.model.title, split.name, count))
        return [7, 8, 9]

    def contrast_figure(models: Any, split: Any, targets: list[int], *, title: str) -> Figure:
        asked.append((list(models), split.name, targets, title))
        return Figure(figsize=(1, 1))

    monkeypatch.setattr("agnn.report._paper_figures.find_contrasts", find_contrasts)
    monkeypatch.setattr("agnn.report._paper_figures.contrast_figure", contrast_figure)
    (here / "mine.toml").write_text(NEIGHBOURHOODS, encoding="utf-8")
    assert agnn("reproduce mine.toml --quiet").code == 0
    drawn = (["AGNN", "GCN"], "fixed", [7, 8, 9], "Cora, layer 2")
    assert asked == [("AGNN", "GCN", "fixed", 3), drawn]
    assert short == ["agnn", "gcn"]
    assert (here / "reproduction" / "figures" / "mine-cora.png").is_file()


EDGES = """
title = "Edges"
seeds = 2
[[columns]]
title = "Cora"
dataset = "cora"
[[rows]]
title = "Top"
method = "agnn"
value = "top_within"
paper = ["0.64"]
fields = { epochs = 2 }
[[rows]]
title = "Bottom"
method = "agnn"
value = "bottom_within"
paper = ["0.09"]
fields = { epochs = 2 }
"""


def test_the_edges_of_both_rows_are_ranked_once_and_kept_replica_by_replica(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def rankings(run: Any, count: int) -> list[Any]:
        asked.append((run.replicas, run.data.name, count))
        last = SimpleNamespace(
            top=SimpleNamespace(values=(0.75, 0.5)), bottom=SimpleNamespace(values=(0.125, 0.25))
        )
        return [None, last]

    def relevance(run: Any) -> Any:
        return SimpleNamespace(rankings=lambda count: rankings(run, count))

    monkeypatch.setattr("agnn.studies._batches.Relevance", SimpleNamespace(of=relevance))
    (here / "edges.toml").write_text(EDGES, encoding="utf-8")
    answer = agnn("reproduce edges.toml --quiet --json")
    (found,) = json.loads(answer.out)["experiments"]
    values = {row["title"]: row["cells"][0]["ours"]["values"] for row in found["rows"]}
    assert values == {"Top": [0.75, 0.5], "Bottom": [0.125, 0.25]}
    assert asked == [(2, "cora", 100)]
