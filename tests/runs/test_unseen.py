"""Accuracy on nodes that were not in the graph of the training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agnn.data import NodeData, Split, without_nodes
from agnn.errors import InputError
from agnn.methods import Task, get_method
from agnn.metrics import MEASURES
from agnn.networks import GCN
from agnn.report import render_figures, run_facts, run_figures, run_page
from agnn.runs import evaluate, load_run, save_run
from agnn.runs._model_card import model_card
from toy_runs import run_of

METHOD = GCN(epochs=15, hidden=8)


def accuracy_by_hand(data: NodeData, split: Split, seed: int) -> float:
    """Train on what remains without the test nodes; then the model reads the whole graph."""
    rest, kept = without_nodes(data, split.test)
    train, validation = (np.searchsorted(kept, part) for part in (split.train, split.validation))
    outcome = METHOD.run(Task(rest, (Split("rest", train, validation, []),), (seed,)))
    assert outcome.model is not None
    scores = run_of(outcome.model, data, method=METHOD).scores[0].numpy()
    return MEASURES["accuracy"](data.labels[split.test], scores[split.test])


def test_without_nodes_only_the_edges_among_the_others_remain(toy: NodeData) -> None:
    rest, kept = without_nodes(toy, np.array([1, 5]))
    assert kept.tolist() == [node for node in range(toy.nodes) if node not in (1, 5)]
    assert rest.node_ids == tuple(toy.node_ids[node] for node in kept)
    assert (rest.labels == toy.labels[kept]).all()
    assert (rest.features.toarray() == toy.features.toarray()[kept]).all()
    expected = {(int(i), int(j)) for i, j in toy.edges.T if not {int(i), int(j)} & {1, 5}}
    assert {(int(kept[i]), int(kept[j])) for i, j in rest.edges.T} == expected
    assert 0 < len(expected) < toy.edges.shape[1]


def test_replicas_of_one_split_are_trained_without_its_test_nodes(toy: NodeData) -> None:
    run = evaluate(METHOD, toy, "fixed", (3, 4), unseen=True)
    expected = [accuracy_by_hand(toy, toy.split("fixed"), seed) for seed in (3, 4)]
    assert run.unseen is not None
    assert run.unseen.values == pytest.approx(expected)
    plain = evaluate(METHOD, toy, "fixed", (3, 4))
    assert plain.unseen is None
    assert plain.accuracy == run.accuracy  # the main training is the same
    assert (plain.scores == run.scores).all()


def test_replicas_with_splits_of_their_own_have_graphs_of_their_own(toy: NodeData) -> None:
    run = evaluate(METHOD, toy, "stratified", (0, 1), unseen=True)
    expected = [
        accuracy_by_hand(toy, split, seed) for split, seed in zip(run.splits, (0, 1), strict=True)
    ]
    assert run.unseen is not None
    assert run.unseen.values == pytest.approx(expected)


def test_cross_fitted_replicas_choose_their_epoch_by_the_next_fold(toy: NodeData) -> None:
    run = evaluate(METHOD, toy, "5-fold-cross-fit", (0,), unseen=True)
    values = []
    for k, split in enumerate(run.splits):
        validation = run.splits[(k + 1) % 5].test
        train = np.setdiff1d(split.train, validation)
        inner = Split("inner", train, validation, split.test)
        values.append(accuracy_by_hand(toy, inner, run.seeds[k]))
    assert run.unseen is not None
    sizes = [split.test.size for split in run.splits]
    assert run.unseen.values == pytest.approx([np.average(values, weights=sizes)])


@pytest.mark.slow  # it draws a report
def test_both_figures_are_kept_and_shown(toy: NodeData, tmp_path: Path) -> None:
    run = evaluate(METHOD, toy, "fixed", (3, 4), unseen=True)
    assert run.unseen is not None
    save_run(run, tmp_path / "run")
    assert load_run(tmp_path / "run").unseen == run.unseen
    assert f"tested nodes in the graph: {run.unseen.mean:.2f}" in model_card(run)
    facts = run_facts(run)
    page = run_page(facts, render_figures(run_figures(facts)))
    assert f'Nodes it has not seen</dt>\n<dd class="big">{run.unseen.mean:.2f} %' in page
    assert "Trained without the tested" not in model_card(evaluate(METHOD, toy, "fixed", (3,)))


def test_methods_without_a_network_are_refused_before_they_are_trained(toy: NodeData) -> None:
    with pytest.raises(InputError, match=r"`unseen` \(--unseen\) is for methods that train a net"):
        evaluate(get_method("label_propagation")(), toy, "fixed", (0,), unseen=True)


def test_divided_trainings_are_refused(toy: NodeData) -> None:
    with pytest.raises(InputError, match="leave out --ranks, torchrun and folders of parts"):
        evaluate(METHOD, toy, "fixed", (0, 1), unseen=True, ranks=2)
