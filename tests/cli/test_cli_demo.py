"""`agnn demo`: from the data to a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agnn import load_run

FILES = {"demo.json", "figures", "index.html", "result.json", "run"}
FIGURES = {"accuracy_curve", "beta_curves", "class_accuracy", "reliability", "relevance_2"}
LINE = "demo --epochs 3 --replicas 2 --quiet"


def test_demo_writes_a_page_figures_and_the_run(agnn: Any, here: Path, cora: Any) -> None:
    answer = agnn(f"{LINE} --json --seed 4")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.count("\n") == 1
    found = json.loads(answer.out)
    folder = here / "demo"
    assert {path.name for path in folder.iterdir()} == FILES
    assert found == json.loads((folder / "result.json").read_text())
    assert found["relevance"]["class_names"] == list(cora.class_names)
    values = found["relevance"]["values"]
    assert [len(row) for row in values] == [7] * 7
    assert max(abs(value) for row in values for value in row) > 1e-3, "the first layer's are 0"
    assert found["seeds"] == list(load_run(folder / "run").seeds) == [4, 5]
    page = (folder / "index.html").read_text()
    assert f"{found['accuracy']['mean']:.2f} %" in page
    assert "agnn demo --replicas 2 --seed 4 --epochs 3 --out demo" in page
    assert "The paper reports 83.1" in page
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / "figures" / f"{name}.svg").read_text().rstrip().endswith("</svg>")


def test_demo_tells_people_the_result_and_where_the_page_is(agnn: Any, here: Path) -> None:
    answer = agnn(f"{LINE} --out shown")
    for words in ("% of the nodes right", "most frequent class", "One paper, explained: 8617"):
        assert words in answer.out
    assert "AGNN predicts " in answer.out
    assert "Its label is Neural Networks." in answer.out
    for words in ("beta", "Relevance"):
        assert words not in answer.out
    assert str(Path("shown") / "index.html") in answer.out
    assert (here / "shown" / "index.html").exists()


def test_a_demo_replaces_a_demo_and_nothing_else(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agnn(LINE).code == 0
    first = (here / "demo" / "result.json").read_text()
    with monkeypatch.context() as broken:
        broken.setattr("agnn.report.run_page", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError, match="division"):
            agnn(f"{LINE} --seed 1")
    assert (here / "demo" / "result.json").read_text() == first
    assert agnn(f"{LINE} --seed 1").code == 0
    assert (here / "demo" / "result.json").read_text() != first
    assert [path.name for path in here.iterdir()] == ["demo"]
