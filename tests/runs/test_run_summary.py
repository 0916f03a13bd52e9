"""A result in one look, against its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import agnn
from agnn.data import NodeData, Split
from agnn.runs import KnownResults, ResultSummary, Run

NODES, TESTED = 120, 60


def data(common: float = 0.75) -> NodeData:
    """A ring of two classes; the first nodes are for training, the last have no label."""
    source = np.random.default_rng(0)
    labels = (source.random(NODES) > common).astype(np.int64)
    labels[100:] = -1
    parts = np.arange(0, 30), np.arange(30, 40), np.arange(40, 100)
    ring = np.stack([np.arange(NODES), np.roll(np.arange(NODES), 1)])
    return NodeData.build(
        name="ring",
        features=source.random((NODES, 3)),
        labels=labels,
        edges=ring,
        class_names=("no", "yes"),
        splits={"fixed": Split("fixed", *parts)},
    )


def run_with(chances: np.ndarray, of: NodeData) -> Run:
    """A run whose probability of "yes" is given."""
    scores = torch.tensor(np.stack([1 - chances, chances], 1))[None]
    trained = agnn.evaluate("gcn", of, replicas=1, changes={"epochs": 1})
    return replace(trained, known=KnownResults(scores))


def test_the_first_line_has_accuracy_interval_and_all_baselines() -> None:
    of = data()
    run = run_with(of.labels.clip(0).astype(float) * 0.8 + 0.1, of)
    result = run.result
    low, high = run.interval
    assert result.accuracy == 100.0
    assert (result.test_nodes, result.worse_than, result.better) == (TESTED, {}, None)
    assert result.headline.startswith(f"100.0 % of the nodes right ({low:.1f} to {high:.1f}); ")
    majority = 100 * float((of.labels[40:100] == 0).mean())
    assert result.baselines["most frequent class"] == pytest.approx(majority)
    assert list(result.baselines) == ["most frequent class", "features alone", "edges alone"]
    for name, value in result.baselines.items():
        assert f"{name} {value:.1f}" in result.headline


def test_the_class_found_least_is_named_with_its_share() -> None:
    of = data()
    chances = of.labels.clip(0).astype(float) * 0.8 + 0.1
    rare = [node for node in range(40, 100) if of.labels[node] == 1]
    chances[rare[: len(rare) // 2]] = 0.1
    found = 100 * (1 - (len(rare) // 2) / len(rare))
    name, share, nodes = run_with(chances, of).result.least_found
    assert (name, nodes) == ("yes", len(rare))
    assert share == pytest.approx(found)
    every = run_with(of.labels.clip(0).astype(float) * 0.8 + 0.1, of).result
    assert "found all of every class" in every.findings


def test_a_good_ranking_with_a_bad_threshold_is_said_with_what_to_do() -> None:
    of = data()
    run = run_with(0.1 + 0.3 * of.labels.clip(0), of)  # ranks all, decides nothing
    *_, ranking, threshold = ResultSummary.of(run, "my runs/a").findings
    assert "AUC 100.0 %; balanced accuracy 50.0 %" in ranking
    assert ranking.endswith("or --class-weight balanced can raise to about 100 %")
    chosen = "agnn predict 'my runs/a' --class yes --recall 0.9 --out chosen.csv"
    assert threshold == f"threshold: {chosen}"
    decided = run_with(of.labels.clip(0).astype(float) * 0.8 + 0.1, of)
    assert decided.result.ranking is None
    noise = run_with(np.random.default_rng(1).random(NODES), of)
    assert noise.result.ranking is None


def test_what_is_next_can_be_pasted() -> None:
    run = run_with(np.full(NODES, 0.4), data())
    said = ResultSummary.of(run, "my runs/a").lines[-1]
    assert said == "next: agnn predict 'my runs/a' --unlabelled --out labels.csv"
    assert "run.save(FOLDER)" in run.result.lines[-1]


def test_the_spread_of_replicas_is_a_figure_of_its_own() -> None:
    run = agnn.evaluate("gcn", data(), replicas=3, changes={"epochs": 3})
    error = run.accuracy.standard_error
    said = f"one replica alone: {run.accuracy.mean:.1f} ± {error:.1f} %, standard error over 3"
    assert any(line.startswith(said) for line in run.result.lines)
    assert run.result.interval == run.interval
    assert run_with(np.full(NODES, 0.4), data()).result.spread is None


def test_every_rendering_has_the_same_first_line(tmp_path) -> None:
    from agnn.cli._record import run_record
    from agnn.report import render_figures, run_facts, run_figures, run_page

    run = agnn.evaluate("gcn", data(), replicas=2, changes={"epochs": 3})
    first = run.result.headline
    run.save(tmp_path / "run")
    assert first in (tmp_path / "run" / "README.md").read_text().replace("\\", "")
    assert first in run._repr_html_()
    facts = run_facts(run)
    page = run_page(facts, render_figures(run_figures(facts)))
    assert first in page.replace("\u00a0", " "), "a unit is not broken off its number"
    assert run_record(run)["result"]["headline"] == first
    assert agnn.load_run(tmp_path / "run").result.headline == first
