"""A run on a changed graph: the same as building the data anew and running the model on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from agnn.data import NodeData
from agnn.data.preprocessing import Preprocessing, Source, Structure
from agnn.errors import InputError
from agnn.explanation import (
    Changes,
    Margin,
    changed_run,
    explained_run,
    own_features,
    without_edges,
)
from agnn.methods import get_method, method_names
from agnn.runs import Run, evaluate
from path_definitions import path_attention
from toy_runs import run_of
from zoo_models import EXPLAINED, random_model, zoo_data

KINDS = tuple(kind for kind in EXPLAINED if kind in method_names())
TARGET = 5


def rebuilt(data: NodeData, changes: Changes) -> NodeData:
    """The changed data, built from scratch."""
    features = data.features.toarray()
    for node, feature in changes.dropped:
        features[node, feature] = 0
    gone = {frozenset(pair) for pair in changes.removed}
    kept = [frozenset(pair) not in gone for pair in data.edges.T.tolist()]
    new = np.array(changes.added, dtype=np.int64).reshape(-1, 2).T
    weights = data.edge_weights
    if weights is not None:
        weights = np.concatenate([weights[kept], np.ones(new.shape[1])])
    return NodeData.build(
        name=data.name, features=features, labels=data.labels, edge_weights=weights,
        edges=np.hstack([data.edges[:, kept], new]), class_names=data.class_names,
    )  # fmt: skip


def missing_edge(data: NodeData, node: int) -> tuple[int, int]:
    joined = {frozenset(pair) for pair in data.edges.T.tolist()}
    other = max(k for k in range(data.nodes) if k != node and frozenset((node, k)) not in joined)
    return node, other


def some_changes(data: NodeData) -> list[Changes]:
    """Each kind alone, and all together; near the target and elsewhere."""
    beside = [tuple(pair) for pair in data.edges.T.tolist() if TARGET in pair]
    new, far = missing_edge(data, TARGET), missing_edge(data, data.nodes // 2)
    first, second = (int(data.features[[node]].indices[0]) for node in (TARGET, beside[0][0]))
    drops = ((TARGET, first), (beside[0][0], second))
    drops = tuple(dict.fromkeys(drops))
    return [
        Changes(added=(new,)),
        Changes(removed=(beside[0],)),
        Changes(dropped=drops[:1]),
        Changes(added=(new[::-1], far), removed=tuple(beside[1:]), dropped=drops),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_model_on_data_built_anew(kind: str) -> None:
    data = zoo_data("random")
    run = run_of(random_model(kind), data, method=get_method(kind)(scaling="sum"), temperature=0.7)
    for changes in some_changes(data):
        changed, other = changed_run(run, changes), rebuilt(data, changes)
        fresh = run_of(run.network, other, method=run.method, temperature=0.7)
        assert torch.allclose(changed.scores, run.scores_on(other), atol=1e-6)
        assert np.allclose(changed.probabilities, fresh.probabilities, atol=1e-6)
        assert (changed.data.edges == other.edges).all()
        one, two = Margin.of(changed, TARGET), Margin.of(fresh, TARGET)
        assert one.nodes.tolist() == two.nodes.tolist()
        assert np.allclose(one.added, two.added, atol=1e-5)
        paths = path_attention(changed, TARGET)[1], path_attention(fresh, TARGET)[1]
        assert torch.allclose(*paths, atol=1e-6)
        assert not np.allclose(changed.probabilities, run.probabilities, atol=1e-5)


@pytest.mark.parametrize("scaling", ["sum", "length", "standard", "none"])
@pytest.mark.parametrize("is_dense", [True, False])
def test_features_are_scaled_as_in_training(scaling: str, is_dense: bool) -> None:
    source = np.random.default_rng(1)
    data = zoo_data("random")
    features = data.features.toarray() * (source.random(data.features.shape) < 0.2)
    features[TARGET] = data.features.toarray()[TARGET]
    if not is_dense:
        data = rebuilt(data, Changes())
        data = NodeData.build(
            name="sparse", features=features, labels=data.labels, edges=data.edges,
            class_names=data.class_names,
        )  # fmt: skip
    run = run_of(random_model("agnn"), data, method=get_method("agnn")(scaling=scaling))
    changes = Changes(dropped=tuple((TARGET, k) for k in (1, 4)))
    expected = run.scores_on(rebuilt(data, changes))
    found = changed_run(run, changes)
    assert torch.allclose(found.scores, expected, atol=1e-6)
    known = changed_run(run, changes)  # the run's scores are known now: only some are computed
    assert torch.allclose(known.scores, expected, atol=1e-6)


def test_scores_far_from_the_changes_are_not_computed_again(toy: NodeData) -> None:
    run = evaluate(get_method("gcn")(epochs=5), toy, "fixed", (0, 1))
    changes = Changes(removed=(tuple(toy.edges[:, 0].tolist()),))
    found = changed_run(run, changes)
    assert torch.allclose(found.scores, run.scores_on(rebuilt(toy, changes)), atol=1e-6)


def test_a_new_edge_has_the_weight_1_where_edges_have_weights() -> None:
    plain = zoo_data("random")
    weights = np.random.default_rng(0).lognormal(size=plain.edges.shape[1])
    data = NodeData.build(
        name="weighted", features=plain.features, labels=plain.labels, edges=plain.edges,
        class_names=plain.class_names, edge_weights=weights,
    )  # fmt: skip
    for kind in ("agnn", "gcn"):
        run = run_of(random_model(kind), data, method=get_method(kind)(scaling="sum"))
        for changes in some_changes(data):
            expected = run.scores_on(rebuilt(data, changes))
            assert torch.allclose(changed_run(run, changes).scores, expected, atol=1e-6)


def test_sgc_and_betas_stack_with_other_changes(toy: NodeData) -> None:
    entry = toy.features.tocoo()
    drop = int(entry.row[0]), int(entry.col[0])
    changes = Changes(added=(missing_edge(toy, drop[0]),), dropped=(drop,))
    sgc = evaluate(get_method("sgc")(epochs=5), toy, "fixed", (0, 1))
    found = changed_run(sgc, changes)
    assert torch.allclose(found.scores, sgc.scores_on(rebuilt(toy, changes)), atol=1e-5)
    agnn = evaluate(get_method("agnn")(epochs=5, layers=2), toy, "fixed", (0, 1))
    both = Changes(added=changes.added, dropped=changes.dropped, betas=(0.5, 3.0))
    other = changed_run(agnn, Changes(betas=(0.5, 3.0)))
    expected = other.scores_on(rebuilt(toy, changes))
    assert torch.allclose(changed_run(agnn, both).scores, expected, atol=1e-6)
    assert changed_run(agnn, Changes()) is explained_run(agnn)


def test_features_that_are_measures_of_the_graph_are_measured_again() -> None:
    plain = zoo_data("random")
    made = Preprocessing((Structure.fit(plain.edges, plain.nodes),))

    def measured(edges: Any) -> NodeData:
        return NodeData.build(
            name="bare", features=made.features(Source(None, edges, plain.nodes)),
            labels=plain.labels, edges=edges, class_names=plain.class_names, preprocessing=made,
        )  # fmt: skip

    run = evaluate(get_method("agnn")(epochs=3, scaling="none"), measured(plain.edges), "uniform")
    gone = tuple(plain.edges[:, 3].tolist())
    kept = np.delete(plain.edges, 3, axis=1)
    expected = run.scores_on(measured(kept))
    assert torch.allclose(changed_run(run, Changes(removed=(gone,))).scores, expected, atol=1e-6)
    node = gone[0]
    after = run.ensemble_of(expected).probabilities[node]
    assert without_edges(run, node, [gone]) == pytest.approx(after, abs=1e-6)


def test_the_run_stays_as_it_was() -> None:
    run = run_of(random_model("gcn"), zoo_data("random"), method=get_method("gcn")())
    before = run.scores.clone(), run.data.fingerprint, run.features.values.clone()
    changed_run(run, some_changes(run.data)[-1])
    assert torch.equal(run.scores, before[0])
    assert run.data.fingerprint == before[1]
    assert torch.equal(run.features.values, before[2])


def test_the_features_of_a_node_and_what_they_add() -> None:
    run = run_of(random_model("agnn"), zoo_data("random"), method=get_method("agnn")())
    own = own_features(run, TARGET, TARGET)
    held = run.data.features[[TARGET]].indices
    assert sorted(each.column for each in own) == sorted(held.tolist())
    sizes = [abs(each.value) for each in own]
    assert sizes == sorted(sizes, reverse=True)
    lead = Margin.of(run, TARGET)
    step = next(each for each in lead.steps if each.kind == "itself")
    by_column = {each.column: each.value for each in own}
    assert all(by_column[f.column] == pytest.approx(f.value) for f in step.features)
    alone = own_features(run, 0, run.data.nodes - 1)
    assert len(alone) == run.data.features[[run.data.nodes - 1]].nnz


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (Changes(removed=((0, 1), (2, 2))), "`removed` joins node 2 to itself"),
        (Changes(added=((3, 3),)), "`added` joins node 3 to itself"),
        (Changes(added=((0, 1_000),)), r"`added` names node 1000; the graph has 0 to"),
        (Changes(removed=((-1, 0),)), "`removed` names node -1"),
        (Changes(dropped=((0, 9),)), "`dropped` names feature 9 of node 0; there are 9 features"),
        (Changes(betas=(1.0,)), "betas"),
        (Changes(dropped=((0, 1),) * 2000), "there are 2000 changes; at most 1000 are possible"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(changes: Changes, words: str) -> None:
    run = run_of(random_model("agnn"), zoo_data("random"), method=get_method("agnn")())
    with pytest.raises(InputError, match=words):
        changed_run(run, changes)


def test_edges_and_features_that_are_or_are_not_there_are_refused() -> None:
    run: Run = run_of(random_model("agnn"), zoo_data("zero row"), method=get_method("agnn")())
    there = tuple(run.data.edges[:, 0].tolist())
    with pytest.raises(InputError, match=f"{there[0]} - {there[1]} is named, which the graph has"):
        changed_run(run, Changes(added=(there,)))
    with pytest.raises(InputError, match="is named, which the graph does not have"):
        changed_run(run, Changes(removed=(missing_edge(run.data, TARGET),)))
    zero = int(np.flatnonzero(np.diff(run.data.features.indptr) == 0)[0])
    with pytest.raises(InputError, match=f"node {zero} has no feature 2 to drop"):
        changed_run(run, Changes(dropped=((zero, 2),)))
