"""Cross-fitting: a replica neither learns from its own fold nor has its epoch chosen by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

import agnn
from agnn.data import NodeData, SplitSpec, make_splits
from agnn.errors import InputError, StoppedError
from agnn.runs import Run, Training
from agnn.training import BestScore, CrossFitted, HighestAccuracy, LowestLoss
from properties import assert_same_bits

CPU = torch.device("cpu")
PASSES = (0, 0, 0, 0, 1, 1, 1)


def kept_epochs(rule: CrossFitted, accuracy: Tensor, loss: Tensor) -> list[int]:
    """The epoch that each replica keeps, for scores and losses [epochs, R]."""
    tracker = rule.tracker(accuracy.shape[1], CPU)
    kept = torch.zeros(accuracy.shape[1], dtype=torch.int64)
    for epoch in range(accuracy.shape[0]):
        chosen = tracker.update(torch.tensor([epoch + 1]), accuracy[epoch], loss[epoch])
        kept[chosen] = epoch + 1
    return kept.tolist()


def random_scores(seed: int, epochs: int = 12) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    return tuple(torch.rand(epochs, len(PASSES), generator=source) for _ in range(2))


RULES = [BestScore(50), LowestLoss(50), HighestAccuracy(2), BestScore(50, loss_weight=0.3)]


@given(st.integers(0, 10_000), st.integers(0, len(PASSES) - 1))
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_replica_s_own_score_does_not_move_its_epoch(rule, seed, replica):
    accuracy, loss = random_scores(seed)
    cross_fitted = CrossFitted(rule, PASSES)
    before = kept_epochs(cross_fitted, accuracy, loss)
    accuracy[:, replica] = torch.rand(accuracy.shape[0])
    loss[:, replica] = 1e6 * torch.rand(accuracy.shape[0])
    assert kept_epochs(cross_fitted, accuracy, loss)[replica] == before[replica]


def test_the_epoch_is_that_of_the_best_mean_over_the_other_folds_of_the_pass():
    accuracy, loss = random_scores(3)
    kept = kept_epochs(CrossFitted(BestScore(50), PASSES), accuracy, loss)
    for replica, epoch in enumerate(kept):
        others = [s for s, p in enumerate(PASSES) if p == PASSES[replica] and s != replica]
        assert epoch == 1 + int(accuracy[:, others].double().mean(1).argmax())


def test_a_replica_that_diverged_does_not_choose_for_the_others():
    accuracy, loss = random_scores(4)
    accuracy[:, 1] = loss[:, 1] = torch.nan
    kept = kept_epochs(CrossFitted(BestScore(50), PASSES), accuracy, loss)
    assert kept[0] == 1 + int(accuracy[:, [2, 3]].double().mean(1).argmax())


def test_all_replicas_stop_together():
    tracker = CrossFitted(BestScore(2), PASSES).tracker(len(PASSES), CPU)
    accuracy, loss = random_scores(5)
    accuracy[:, :4] = torch.linspace(1, 0, 12)[:, None]  # the first pass only falls
    accuracy[:, 4:] = torch.linspace(0, 1, 12)[:, None]
    for epoch in range(6):
        tracker.update(torch.tensor([epoch + 1]), accuracy[epoch], loss[0] + epoch)
    assert tracker.inner.stopped().tolist() == [True] * 4 + [False] * 3
    assert tracker.stopped().tolist() == [False] * 7


@pytest.fixture(scope="module")
def unsplit(toy: NodeData) -> NodeData:
    return replace(toy, splits={})


def train(data: NodeData, **options: Any) -> Run:
    changes = {"epochs": 6, **options.pop("changes", {})}
    return agnn.evaluate("gcn", data, "5-fold-cross-fit", changes=changes, **options)


def test_every_label_is_tested_once_by_a_replica_that_was_not_trained_on_it(unsplit):
    run = train(unsplit, replicas=7)  # two passes of five folds
    assert len(run.splits) == 10
    for k in (0, 5):
        tested = np.concatenate([split.test for split in run.splits[k : k + 5]])
        assert sorted(tested) == sorted(unsplit.labelled)
    for split in run.splits:
        assert sorted(np.concatenate([split.train, split.test])) == sorted(unsplit.labelled)
        assert abs(split.test.size - unsplit.labelled.size / 5) < 1
    assert run.accuracy.n == 2
    assert run.caveat is None


def test_a_replica_never_reads_the_labels_of_its_own_fold(unsplit):
    """They are changed: the weights of the replica at a given epoch have the same bits."""
    before = train(unsplit)
    for replica, split in enumerate(before.splits):
        labels = unsplit.labels.copy()
        labels[split.test] = (labels[split.test] + 1) % 3
        task = Training(data=unsplit, method=before.method, split="5-fold-cross-fit").plan().task()
        # GCN's rule keeps every one of the first ten epochs: the last one here, whatever is scored.
        outcome = before.method.run(replace(task, data=replace(unsplit, labels=labels)))
        assert outcome.history.selected_epochs.tolist() == before.selected_epochs == [6] * 5
        assert_same_bits(outcome.scores[replica], before.scores[replica])
        others = [r for r in range(5) if r != replica]
        assert not torch.equal(outcome.scores[others], before.scores[others])


def test_the_default_method_learns_nothing_from_the_labels_of_its_own_fold(unsplit):
    """Its losses of all epochs have the same bits, so the weights of every epoch have them."""
    changes = {"epochs": 5}
    plan = Training(data=unsplit, method="agnn_plus", split="3-fold-cross-fit", changes=changes)
    task = plan.plan().task()
    method = plan.plan().method
    before = method.run(task).history.training_loss
    labels = unsplit.labels.copy()
    tested = task.splits[0].test
    labels[tested] = (labels[tested] + 1) % 3
    after = method.run(replace(task, data=replace(unsplit, labels=labels))).history.training_loss
    assert_same_bits(after[:, 0], before[:, 0])
    assert not torch.equal(after[:, 1:], before[:, 1:])


def test_a_training_that_is_continued_has_the_same_bits(unsplit, tmp_path: Path):
    whole = train(unsplit, changes={"epochs": 30})
    file = tmp_path / "it"
    first = agnn.Checkpoints(file, every=0)

    def stop(done: int, _: int) -> None:
        if done == 12:
            first.request_stop()

    with pytest.raises(StoppedError):
        train(unsplit, changes={"epochs": 30}, checkpoints=first, progress=stop)
    again = agnn.Checkpoints(file, resume=True)
    resumed = train(unsplit, changes={"epochs": 30}, checkpoints=again)
    assert_same_bits(resumed.scores, whole.scores)
    assert resumed.selected_epochs == whole.selected_epochs


def test_ranks_that_divide_the_rows_choose_the_same_epochs(unsplit):
    plain = train(unsplit, changes={"epochs": 30})
    divided = train(unsplit, changes={"epochs": 30}, ranks=1, divide="rows")
    assert divided.selected_epochs == plain.selected_epochs
    torch.testing.assert_close(divided.scores, plain.scores, rtol=1e-4, atol=1e-5)


def test_a_run_is_saved_and_its_temperature_is_fitted_out_of_fold(unsplit, tmp_path: Path):
    run = train(unsplit)
    assert run.calibration.validation_nodes == unsplit.labelled.size
    run.save(tmp_path / "run")
    again = agnn.load_run(tmp_path / "run")
    assert (again.is_cross_fitted, again.folds, again.accuracy) == (True, 5, run.accuracy)


def test_methods_without_epochs_use_the_same_folds(unsplit):
    run = agnn.evaluate("ridge", unsplit, "5-fold-cross-fit")
    assert run.splits == train(unsplit).splits


def without_edges(*counts: int) -> NodeData:
    """Data with so many labels of each class."""
    labels = np.repeat(np.arange(len(counts)), counts)
    return NodeData.build(
        name="rare",
        features=np.ones((labels.size, 1)),
        labels=labels,
        edges=np.zeros((2, 0), int),
        class_names=tuple("abc"[: len(counts)]),
    )


@pytest.mark.parametrize(
    ("counts", "replicas", "folds"),
    [
        ((40, 40), None, 10),
        ((40, 2), None, 10),
        ((3, 1), None, 4),
        ((60_000, 40_000), None, 3),
        ((40, 40), 5, 5),
        ((40, 40), 1, 3),
        ((40, 40), 25, 10),
        ((60_000, 40_000), 10, 3),
    ],
)
def test_the_number_of_folds_follows_labels_and_replicas(counts, replicas, folds):
    spec = SplitSpec.of("cross-fit", without_edges(*counts), replicas).text
    assert spec == f"{folds}-fold-cross-fit"


@pytest.mark.parametrize(
    ("counts", "folds", "remarks"),
    [
        ((40, 40), 10, ""),
        ((3, 2), 5, "5 labels: each is a fold of its own."),
        (
            (40, 1),
            10,
            "One label only: 'b'. It is tested by a model that does not know its class, so it "
            "counts as wrong.",
        ),
        (
            (600_000, 400_000),
            3,
            "1,000,000 labels: 3 folds are enough, since each has very many to test.",
        ),
    ],
)
def test_few_and_very_many_labels_are_remarked_upon(counts, folds, remarks):
    assert SplitSpec.parse(f"{folds}-fold-cross-fit").remark(without_edges(*counts)) == remarks


def test_very_many_labels_are_trained_and_tested_in_three_folds():
    run = agnn.evaluate("majority", without_edges(60_000, 40_000))
    assert len(run.splits) == run.folds == 3
    assert run.accuracy.mean == pytest.approx(60.0)
    low, high = run.interval
    assert low < 60.0 < high


def test_a_class_with_two_labels_is_known_to_every_replica():
    data = without_edges(30, 2, 2)
    for seed in range(50):
        for split in make_splits(data, "5-fold-cross-fit", [seed]):
            assert set(data.labels[split.train]) == {0, 1, 2}


def test_folds_are_drawn_without_regard_to_the_classes():
    """Stratified ones would have the shares of the labels, and be easier than unlabelled nodes."""
    data = without_edges(50, 50)
    splits = [split for seed in range(40) for split in make_splits(data, "cross-fit", [seed])]
    counts = np.array([(data.labels[split.test] == 0).sum() for split in splits])
    # Ten of a hundred, drawn without replacement: a hypergeometric variance of 2.27.
    assert 1.8 < counts.var() < 2.8


def test_what_cannot_be_cross_fitted_is_refused(unsplit):
    with pytest.raises(InputError, match="choose each other's epochs"):
        train(unsplit, ranks=2, divide="replicas")
    with pytest.raises(InputError, match="`folds` must be at least 3"):
        make_splits(unsplit, "2-fold-cross-fit", [0])
    with pytest.raises(InputError, match="no validation nodes to choose the step on"):
        agnn.evaluate("planetoid_t", unsplit, "cross-fit")


def test_every_label_is_predicted_out_of_fold_by_the_replicas_that_test_it(unsplit):
    run = train(unsplit, replicas=10)  # two passes: two replicas test a node
    predictions = run.predict_out_of_fold()
    assert len(predictions) == unsplit.labelled.size
    assert predictions.ids == tuple(unsplit.node_ids[node] for node in unsplit.labelled)
    scores = run.scores.numpy()
    for k, node in enumerate(unsplit.labelled.tolist()):
        testers = [r for r, split in enumerate(run.splits) if node in split.test]
        mean = scores[testers, node].astype(np.float64).mean(0)
        assert len(testers) == 2
        assert predictions.answers[k] == mean.argmax()
        differing = np.mean(scores[testers, node].argmax(1) != mean.argmax())
        assert predictions.disagreement[k] == differing
    right = predictions.answers == unsplit.labels[unsplit.labelled]
    assert run.calibration.accuracy == pytest.approx(100 * right.mean())
