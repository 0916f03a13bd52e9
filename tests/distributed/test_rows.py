"""One graph in parts: the same bits for every number of ranks, and equal to one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from thread_ranks import on_ranks

from agnn.data import NodeData, Split, load_dataset, uniform_split
from agnn.distributed._division import parts_of
from agnn.distributed._local_graph import LocalGraph
from agnn.distributed._ranks import Ranks
from agnn.distributed._rows import RankCheckpoints, RowsTask, check_divisible, train_rows
from agnn.errors import InputError, StoppedError
from agnn.kernels import Link
from agnn.methods import NetworkMethod, Outcome, Task, get_method
from agnn.networks import AGNN, APPNP, GCN, GCNII, GLN, AGNNPlus
from agnn.training import Checkpoints

EPOCHS = 10
METHODS: Mapping[str, NetworkMethod] = {
    "agnn": AGNN(layers=3, epochs=EPOCHS, hidden=16),
    "a width beside the vectors": AGNN(layers=2, epochs=EPOCHS, hidden=7),
    "agnn_plus": AGNNPlus(layers=2, epochs=EPOCHS, hidden=16, strength=0.0, row_dropout=0.3),
    "gcn": GCN(epochs=EPOCHS),
    "gln": GLN(epochs=EPOCHS),
    "gcnii": GCNII(layers=3, epochs=EPOCHS, hidden=16),
    "appnp": APPNP(steps=3, epochs=EPOCHS, hidden=16),
}


def made(nodes: int = 300, seed: int = 0, *, dense: bool = False, classes: int = 3) -> NodeData:
    """Neighbours mostly near, some anywhere; isolated nodes, rows without features, a hub."""
    source = np.random.default_rng(seed)
    labels = source.integers(classes, size=nodes)
    features = source.random((nodes, 30)) * (source.random((nodes, 30)) < (0.9 if dense else 0.1))
    features[np.arange(nodes), labels] += 1.0
    features[5:9] = 0.0
    i = source.integers(4, nodes, size=4 * nodes)
    near = np.clip(i + source.integers(-9, 10, size=i.size), 4, nodes - 1)
    j = np.where(source.random(i.size) < 0.8, near, source.integers(4, nodes, size=i.size))
    hub = np.stack([np.full(60, 150), source.integers(4, nodes, size=60)])
    names = [f"class {k}" for k in range(classes)]
    return NodeData.build(
        name="made", features=features, labels=labels, class_names=names,
        edges=np.concatenate([np.stack([i, j]), hub], 1),
    )  # fmt: skip


def task_of(data: NodeData, replicas: int = 2, **more: Any) -> Task:
    # Every replica has its own split; the training nodes of the first are all on one side.
    splits = [uniform_split(data, seed, (60, 80, 80)) for seed in range(replicas)]
    return Task(data, tuple(splits), tuple(range(replicas)), **more)


def trained(task: Task, method: NetworkMethod, ranks: int, wire: str = "float32") -> Outcome:
    parts = parts_of(method, task, ranks)
    rows = RowsTask.of(method, task, wire)
    found = on_ranks(ranks, lambda own: train_rows(rows, parts[own.rank], own))
    first: Outcome = found[0]
    for other in found[1:]:
        assert_same_bits(other, first)
    return replace(first, scores=torch.cat([each.scores for each in found], 1))


def assert_same_bits(found: Outcome, expected: Outcome) -> None:
    weights = found.model.state_dict()
    for name, tensor in expected.model.state_dict().items():
        assert torch.equal(weights[name], tensor), name
    for name in ("training_loss", "watched_loss", "watched_accuracy", "selected_epochs"):
        assert torch.equal(getattr(found.history, name), getattr(expected.history, name)), name


def assert_near_one_process(found: Outcome, task: Task, method: NetworkMethod) -> None:
    expected = method.run(task)
    assert expected.history is not None
    torch.testing.assert_close(
        found.history.training_loss, expected.history.training_loss, rtol=1e-5, atol=0
    )
    torch.testing.assert_close(
        found.history.watched_loss, expected.history.watched_loss, rtol=1e-5, atol=0
    )
    assert torch.equal(found.history.watched_accuracy, expected.history.watched_accuracy)
    torch.testing.assert_close(found.scores, expected.scores, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_bits_do_not_depend_on_the_ranks_and_equal_one_process(name: str) -> None:
    task, method = task_of(made()), METHODS[name]
    alone = trained(task, method, 1)
    assert_near_one_process(alone, task, method)
    for ranks in (2, 3, 5) if name == "agnn" else (3,):
        found = trained(task, method, ranks)
        assert_same_bits(found, alone)
        assert torch.equal(found.scores, alone.scores)


@pytest.mark.parametrize("name", ["agnn", "gcn", "appnp"])
def test_edge_weights_count_as_in_one_process(name: str) -> None:
    data = made()
    source = np.random.default_rng(1)
    weights = source.uniform(0.1, 5.0, data.edges.shape[1]).astype(np.float32)
    weights.setflags(write=False)
    weighted = replace(data, edge_weights=weights)
    method = METHODS[name]
    task = task_of(weighted)
    alone = trained(task, method, 1)
    assert_near_one_process(alone, task, method)
    found = trained(task, method, 3)
    assert_same_bits(found, alone)
    assert torch.equal(found.scores, alone.scores)
    plain = trained(task_of(data), method, 1)
    assert not torch.equal(plain.history.training_loss, alone.history.training_loss)


def test_evaluation_in_some_epochs_has_the_same_bits_on_two_ranks() -> None:
    task, method = task_of(made()), METHODS["agnn"].with_fields(evaluate_every=3)
    alone = trained(task, method, 1)
    assert_near_one_process(alone, task, method)
    assert_same_bits(trained(task, method, 2), alone)


def test_cora_has_the_same_bits_on_one_to_four_ranks_and_the_losses_of_one_process() -> None:
    data = load_dataset("cora")
    task, method = Task(data, (data.splits["fixed"],) * 2, (0, 1)), get_method("agnn")(epochs=10)
    assert isinstance(method, NetworkMethod)
    alone = trained(task, method, 1)
    assert_near_one_process(alone, task, method)
    for ranks in (2, 3, 4):
        assert_same_bits(trained(task, method, ranks), alone)


@pytest.mark.parametrize("name", ["agnn", "agnn_plus", "gcn"])
def test_every_layer_leaves_out_what_nothing_depends_on(name: str) -> None:
    # Training nodes in the first tenth of a chain of nodes, validation nodes in the second.
    nodes, source = 2000, np.random.default_rng(0)
    labels = source.integers(3, size=nodes)
    features = source.random((nodes, 20)) * (source.random((nodes, 20)) < 0.3)
    features[np.arange(nodes), labels] += 1.0
    i = source.integers(nodes, size=5 * nodes)
    data = NodeData.build(
        name="chain", features=features, labels=labels, class_names=["a", "b", "c"],
        edges=np.stack([i, np.clip(i + source.integers(1, 6, size=i.size), 0, nodes - 1)]),
    )  # fmt: skip
    every = source.permutation(200)
    split = Split("near", np.sort(every[:30]), np.sort(every[:30]) + 200, np.arange(500, 900))
    task, method = Task(data, (split,), (0,)), METHODS[name]
    alone = trained(task, method, 1)
    assert_near_one_process(alone, task, method)
    for ranks in (2, 3):
        found = trained(task, method, ranks)
        assert_same_bits(found, alone)
        assert torch.equal(found.scores, alone.scores)

    def kept(own: Ranks) -> tuple[list[int], list[int]]:
        local = LocalGraph.of(parts_of(method, task, 2)[own.rank], own)
        mine = split.train[split.train // local.part.own == own.rank] - local.part.first
        needed = local.around(mine, 3)
        rows = [each.rows.inner.edges + each.rows.border.edges for each in needed.layers]
        return rows, [sum(each.there.arriving) for each in needed.layers]

    (first, coming), (second, going) = on_ranks(2, kept)
    assert sorted(first, reverse=True) == first
    assert first[0] < 0.3 * 2 * data.edges.shape[1]
    assert (second, coming, going) == ([0] * 3,) * 3  # the other half is far from all of them


@pytest.mark.parametrize("name", ["agnn", "gcn"])
def test_a_part_may_end_with_isolated_nodes(name: str) -> None:
    # The row before them ends with a neighbour on another rank.
    whole, method = made(), METHODS[name]
    is_kept = ~((whole.edges >= 100) & (whole.edges < 200)).any(0)
    edges = np.concatenate([whole.edges[:, is_kept], [[99, 2], [299, 250]]], 1)
    data = NodeData.build(
        name="gap", features=whole.features, labels=whole.labels, edges=edges,
        class_names=whole.class_names,
    )  # fmt: skip
    ends = np.array([2, 99, 250, 299])
    rest = np.setdiff1d(np.arange(300), ends)
    near = Split("near", ends, rest[::3], rest[1::3])
    for split in (uniform_split(data, 0, (60, 80, 80)), near):
        task = Task(data, (split,), (0,))
        alone = trained(task, method, 1)
        assert_near_one_process(alone, task, method)
        found = trained(task, method, 2)
        assert_same_bits(found, alone)
        assert torch.equal(found.scores, alone.scores)


@pytest.mark.parametrize("name", ["agnn", "gcn"])
def test_the_reference_does_the_same(name: str) -> None:
    task, method = task_of(made(), backend="reference"), METHODS[name]
    alone = trained(task, method, 1)
    assert_near_one_process(alone, task, method)
    compiled = trained(replace(task, backend="auto"), method, 2)
    torch.testing.assert_close(
        alone.history.training_loss, compiled.history.training_loss, rtol=1e-5, atol=0
    )


def test_dense_features_class_weights_and_other_metrics() -> None:
    data = made(dense=True, classes=2)
    weights = np.array([[1.0, 3.0], [2.0, 1.0]])
    for metric in ("auc", "f1", "balanced_accuracy"):
        task = task_of(data, class_weights=weights, metric=metric)
        method = METHODS["agnn"].with_fields(epochs=4, patience=50)
        alone = trained(task, method, 1)
        assert_near_one_process(alone, task, method)
        assert_same_bits(trained(task, method, 3), alone)


def test_short_numbers_on_the_wire_change_little() -> None:
    task, method = task_of(made()), METHODS["agnn"]
    exact, short = (trained(task, method, 2, wire) for wire in ("float32", "bfloat16"))
    assert not torch.equal(exact.history.training_loss, short.history.training_loss)
    torch.testing.assert_close(
        exact.history.training_loss, short.history.training_loss, rtol=2e-2, atol=0
    )


def test_a_training_continues_on_another_number_of_ranks(tmp_path: Path) -> None:
    task, method = task_of(made()), METHODS["agnn"]
    expected, file = trained(task, method, 1), tmp_path / "made.checkpoint"
    rows = RowsTask.of(method, task)

    def part_of(own: Ranks, stop: int, *, resume: bool) -> Outcome:
        checkpoints = RankCheckpoints(own, Checkpoints(file, 1e9, resume=resume))

        def progress(done: int, _: int) -> None:
            if done == stop and own.rank == own.size - 1:  # one rank is asked, all stop
                checkpoints.request_stop()

        part = parts_of(method, task, own.size)[own.rank]
        return train_rows(rows, part, own, progress, checkpoints)

    for ranks, stop in ((2, 3), (3, 6)):
        with pytest.raises(StoppedError, match=f"after epoch {stop} is in"):
            on_ranks(ranks, lambda own, s=stop: part_of(own, s, resume=s > 3))
    found = on_ranks(2, lambda own: part_of(own, 0, resume=True))
    assert_same_bits(found[0], expected)


def test_what_cannot_be_divided_is_refused() -> None:
    task = task_of(made())
    for method, words in (
        (AGNNPlus(epochs=2), "strength=0 \\(--set\\) leaves that out"),
        (get_method("graphsage")(epochs=2), "cannot be divided among ranks: its link OwnAndMean"),
        (get_method("gat")(epochs=2), "AdditiveAttention has no form"),
    ):
        with pytest.raises(InputError, match=words):
            check_divisible(method)
    with pytest.raises(InputError, match="must be one of float32, bfloat16; got 'int8'"):
        trained(task, METHODS["gcn"], 1, "int8")
    part = parts_of(METHODS["gcn"], task, 2)[1]
    with pytest.raises(InputError, match="part 1 of 2 was given to rank 0 of 1"):
        train_rows(RowsTask.of(METHODS["gcn"], task), part, Ranks())


def test_a_new_link_is_refused_by_its_name_until_it_has_a_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class SquashLink(Link):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

        def backward(self, gradient: torch.Tensor) -> tuple[torch.Tensor, tuple[()]]:
            return gradient, ()

    task = task_of(made())
    method = METHODS["gcn"]
    expected = trained(task, method, 1)
    kind = type(expected.model)
    links = kind.links
    monkeypatch.setattr(kind, "links", lambda *given: [*links(*given), SquashLink()])
    with pytest.raises(InputError, match="divided among ranks: its link Squash has no form"):
        trained(task, method, 1)
    monkeypatch.setattr(SquashLink, "on_part", lambda link, _: link, raising=False)
    assert_same_bits(trained(task, method, 2), expected)
