"""Retraining with more labels: the same as an ordinary training on data and splits with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agnn.cli import main
from agnn.cli._retrain import _difference_words
from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import get_method
from agnn.metrics import Interval, NodeDifference
from agnn.runs import (
    LabelFile,
    Run,
    accuracy_before_and_after,
    evaluate,
    labels_csv,
    load_run,
    retrain,
    save_run,
)


@pytest.fixture(scope="module")
def run(toy: NodeData) -> Run:
    return evaluate(get_method("agnn")(epochs=10), toy, "fixed", seeds=(3, 4))


@pytest.fixture(scope="module")
def labels(run: Run) -> dict[int, int]:
    """A test node, a validation node, a training node with another class, and one in no part."""
    split, known = run.split, run.data.labels
    free = np.setdiff1d(np.arange(run.data.nodes), np.concatenate([*split.parts.values()]))
    chosen = [split.test[0], split.validation[0], split.train[0], *free[:1]]
    return {int(node): int((known[node] + 1) % run.data.classes) for node in chosen}


def test_it_is_an_ordinary_training_with_the_new_labels(run: Run, labels: dict[int, int]) -> None:
    again = retrain(run, labels)
    changed = np.array(run.data.labels)
    for node, label in labels.items():
        changed[node] = label
    own = run.split
    split = Split(
        "more", np.union1d(own.train, [*labels]), np.setdiff1d(own.validation, [*labels]),
        np.setdiff1d(own.test, [*labels]),
    )  # fmt: skip
    data = NodeData.build(
        name="more", features=run.data.features, labels=changed, edges=run.data.edges,
        class_names=run.data.class_names,
    )  # fmt: skip
    expected = evaluate(run.method, data, split, seeds=(3, 4))
    assert torch.equal(again.scores, expected.scores)
    assert again.accuracy == expected.accuracy
    assert again.splits[0] is again.splits[1], "replicas that share a split go on sharing it"
    assert run.data.labels[next(iter(labels))] != changed[next(iter(labels))], "the run stays"


def test_both_runs_are_scored_on_the_same_nodes(run: Run, labels: dict[int, int]) -> None:
    again = retrain(run, labels)
    test = np.setdiff1d(run.split.test, [*labels])
    assert test.size == run.split.test.size - 1
    for found, each in zip(accuracy_before_and_after(run, again), (run, again), strict=True):
        is_right = each.scores.argmax(-1).numpy()[:, test] == run.data.labels[test]
        assert found.values == pytest.approx((100 * is_right.mean(1)).tolist())


def test_folds_keep_their_number_and_every_fold_learns_the_labels(toy: NodeData) -> None:
    run = evaluate(get_method("gcn")(epochs=3), toy, "3-fold-nested", seeds=(0, 1))
    node = int(run.splits[0].test[0])
    again = retrain(run, {node: 1})
    assert again.accuracy.n == run.accuracy.n == 2
    assert all(node in split.train for split in again.splits)


def test_a_corrected_label_stays_in_its_fold_and_a_new_one_trains_every_replica(
    toy: NodeData,
) -> None:
    """Otherwise the labels that the models got wrong would no longer be tested."""
    known = np.array(toy.labels)
    known[:5] = -1
    data = replace(toy, labels=known, splits={})
    run = evaluate(get_method("gcn")(epochs=3), data, "3-fold-cross-fit", seeds=(0,))
    corrected = int(run.splits[0].test[0])
    label = (known[corrected] + 1) % toy.classes
    again = retrain(run, {corrected: label, 2: 1})
    for old, new in zip(run.splits, again.splits, strict=True):
        assert new.test.tolist() == old.test.tolist()
        assert new.train.tolist() == sorted([*old.train, 2])
    assert again.data.labels[[corrected, 2]].tolist() == [label, 1]


def test_without_labels_or_test_nodes_it_is_refused(run: Run) -> None:
    with pytest.raises(InputError, match="there are no labels to train with"):
        retrain(run, {})
    with pytest.raises(InputError, match="every test node has been labelled"):
        retrain(run, dict.fromkeys(run.split.test.tolist(), 0))
    with pytest.raises(InputError, match="a label names node 999999"):
        retrain(run, {999_999: 0})
    with pytest.raises(InputError, match="a label names class 9"):
        retrain(run, {0: 9})


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_command_writes_a_new_run_and_leaves_the_old_one(
    run: Run, labels: dict[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    old, new, file = tmp_path / "old", tmp_path / "new", tmp_path / f"labels.{kind}"
    save_run(run, old)
    before = {each.name: each.read_bytes() for each in old.iterdir()}
    if kind == "csv":
        file.write_text(labels_csv(run.data, labels), encoding="utf-8")
    else:
        with LabelFile(file, run.data) as given:
            for node, label in labels.items():
                given.give([node], label)
    words = ["retrain", str(old), "--labels", str(file), "--out", str(new), "--quiet"]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    again = retrain(run, labels)
    assert torch.allclose(load_run(new).scores, again.scores, atol=1e-6)
    first, second = accuracy_before_and_after(run, again)
    assert record["retrained"]["labels"] == len(labels)
    assert record["retrained"]["before"]["mean"] == pytest.approx(first.mean)
    assert record["retrained"]["after"]["mean"] == pytest.approx(second.mean)
    difference = record["retrained"]["difference"]
    assert difference["mean"] == pytest.approx(second.mean - first.mean, abs=1e-4)
    assert difference["interval"][0] <= difference["mean"] <= difference["interval"][1]
    assert {each.name: each.read_bytes() for each in old.iterdir()} == before
    shown = [*words[:-2], str(tmp_path / "newer"), "--quiet"]
    assert main(shown) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"{second.mean:.1f} % now, a difference of {difference['mean']:+.1f} points" in printed
    is_sure = difference["is_clear"] or difference["is_worse"]
    assert ("which may be chance" in printed) != is_sure
    assert main(words) == 2
    assert "exists already" in capsys.readouterr().err
    words[words.index("--out") + 1] = str(tmp_path / "third")
    words[words.index("--labels") + 1] = str(tmp_path / "none.csv")
    assert main(words) == 2
    assert "does not exist" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


def test_no_difference_in_any_test_node_is_not_called_chance() -> None:
    words = _difference_words(NodeDifference(0.0, Interval(0.0, 0.0)))
    assert words == ", the same in every test node"
