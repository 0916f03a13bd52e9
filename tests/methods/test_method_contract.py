"""What every registered method keeps to, the ones to come included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import Method, NetworkMethod, Outcome, Task, get_method, method_names
from agnn.runs import evaluate
from agnn.training import WindowStop
from properties import CPU_BACKENDS, assert_close, assert_same_bits

pytestmark = pytest.mark.parametrize("name", method_names())


# Share of correct predictions; the others 0.45. The most frequent class is chance itself.
LEARNED = {"agnn": 0.6, "gcn": 0.6, "gln": 0.6, "majority": 0.2}
SHORT = {
    "epochs": 15, "label_batches": 20, "walk_batches": 10, "label_pretraining": 0.01,
    "walk_pretraining": 0.1,
}  # fmt: skip


def quick(name: str) -> Method:
    """The method, cut short where it has epochs or batches."""
    method = get_method(name)()
    cuts = {field: count for field, count in SHORT.items() if hasattr(method, field)}
    return method.with_fields(**cuts)


def run(name: str, data: NodeData, seeds=(0, 1), splits=None, backend="auto") -> Outcome:
    chosen = splits or (data.split("fixed"),) * len(seeds)
    return quick(name).run(Task(data, tuple(chosen), tuple(seeds), backend=backend))


def relabelled(data: NodeData, labels: np.ndarray) -> NodeData:
    return NodeData.build(
        name=data.name, features=data.features, labels=labels, edges=data.edges,
        class_names=data.class_names, splits=data.splits,
    )  # fmt: skip


def test_no_method_reads_the_hidden_labels(name, toy):
    split, flipped = toy.split("fixed"), toy.labels.copy()
    hidden = np.setdiff1d(np.arange(toy.nodes), [*split.train, *split.validation])
    flipped[hidden] = (flipped[hidden] + 1) % 3
    assert_same_bits(run(name, relabelled(toy, flipped)).scores, run(name, toy).scores)


def test_every_method_reads_the_training_labels(name, toy):
    """The other side of the test above: the comparison can fail."""
    flipped, train = toy.labels.copy(), toy.split("fixed").train
    flipped[train] = (flipped[train] + 1) % 3
    assert not torch.equal(run(name, relabelled(toy, flipped)).scores, run(name, toy).scores)


def test_the_same_seed_gives_the_same_scores(name, toy):
    assert_same_bits(run(name, toy).scores, run(name, toy).scores)


def test_a_replica_scores_the_same_in_a_batch_and_alone(name, toy):
    together = run(name, toy, (4, 5, 6)).scores
    for r, seed in enumerate((4, 5, 6)):
        assert_same_bits(together[r], run(name, toy, (seed,)).scores[0])


def test_scores_are_probabilities_for_every_node_and_replica(name, toy):
    scores = run(name, toy).scores
    assert scores.shape == (2, toy.nodes, toy.classes)
    assert (scores >= 0).all()
    assert_close(scores.sum(2), torch.ones(2, toy.nodes), 1e-5)


def test_learning_beats_guessing_on_nodes_that_can_be_known(name, toys):
    """Nodes 8 and up have features and neighbours; a third is right by chance.

    Over four graphs the standard error of chance is 0.036. Features alone answer about half of
    the nodes, features and neighbours two thirds.
    """
    method, right = get_method(name)(), []
    enough = {"epochs": 300, "label_batches": 100, "label_pretraining": 0.01}
    method = method.with_fields(
        **{field: min(most, getattr(method, field)) for field, most in enough.items()
           if hasattr(method, field)}
    )  # fmt: skip
    if isinstance(method, NetworkMethod) and isinstance(method.recipe().selection, WindowStop):
        # Kipf and Welling's rule may stop on forty validation nodes before anything is learned.
        method = method.with_fields(window=60)
    for data in toys:
        split = data.split("fixed")
        test = torch.tensor([node for node in split.test if node >= 8])
        answers = method.run(Task(data, (split,), (0,))).scores[0].argmax(1)
        right.append((answers == torch.tensor(data.labels))[test])
    assert torch.cat(right).double().mean() > LEARNED.get(name, 0.45)


def test_edge_weights_count_where_the_method_says_so_and_nowhere_else(name, toy):
    weights = np.random.default_rng(0).lognormal(size=toy.edges.shape[1]).astype(np.float32)
    weighted = replace(toy, edge_weights=weights)
    found, plain = (evaluate(quick(name), data, "fixed", (0, 1)) for data in (weighted, toy))
    assert torch.equal(found.scores, plain.scores) is not found.method.uses_edge_weights
    unused = f"{found.method.title} does not use edge weights: every edge counts alike."
    assert (unused in found.warnings) is not found.method.uses_edge_weights
    assert unused not in plain.warnings


def test_nodes_without_neighbours_or_features_are_answered(name, toy):
    """Nodes 0 to 4 are isolated, 3 to 7 have no features, 3 and 4 have neither."""
    scores = run(name, toy).scores
    assert torch.isfinite(scores).all()
    assert_close(scores[:, 3], scores[:, 4], 1e-6)
    trained_on_them = Split("odd", [*range(20)], [*range(20, 60)], [*range(60, 120)])
    assert torch.isfinite(run(name, toy, splits=[trained_on_them] * 2).scores).all()


def test_a_graph_without_edges_is_answered(name, toy):
    lonely = NodeData.build(
        name="lonely", features=toy.features, labels=toy.labels, edges=np.zeros((2, 0), int),
        class_names=toy.class_names, splits=toy.splits,
    )  # fmt: skip
    assert torch.isfinite(run(name, lonely).scores).all()


def test_data_without_any_features_is_answered_or_refused_in_words(name, toy):
    bare = NodeData.build(
        name="bare", features=np.zeros((120, 0)), labels=toy.labels, edges=toy.edges,
        class_names=toy.class_names, splits=toy.splits,
    )  # fmt: skip
    try:
        scores = run(name, bare).scores
    except InputError as error:
        assert "'bare' has no features" in str(error)  # noqa: PT017 (either answer is right)
    else:
        assert torch.isfinite(scores).all()


def test_a_class_without_a_training_label_is_no_crash(name, toy):
    known = np.flatnonzero(toy.labels[:60] != 2)
    split = Split("two of three", known, [*range(60, 90)], [*range(90, 120)])
    scores = run(name, toy, splits=[split] * 2).scores
    assert torch.isfinite(scores).all()
    assert scores.shape[2] == 3


def test_unlabelled_nodes_are_scored_too(name, toy):
    hidden = np.setdiff1d(
        np.arange(toy.nodes), np.concatenate([*toy.split("fixed").parts.values()])
    )
    labels = toy.labels.copy()
    labels[hidden] = -1
    assert_same_bits(run(name, relabelled(toy, labels)).scores, run(name, toy).scores)


def test_every_backend_gives_the_same_answers(name, toy):
    """The same random numbers everywhere: backends differ by rounding only."""
    exact = run(name, toy, backend="reference").scores
    for backend in CPU_BACKENDS:
        assert_close(run(name, toy, backend=backend).scores, exact, 1e-3)
