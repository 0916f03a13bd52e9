"""Drawn splits have the sizes asked for, follow from their seed alone, and never change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from agnn.data import NodeData, Split, load_dataset, make_splits, uniform_split
from agnn.data._splits._draws import (
    balanced_split,
    k_folds,
    nested_k_folds,
)
from agnn.data.store import dataset_names
from agnn.errors import InputError


def every_node(split: Split) -> np.ndarray:
    return np.concatenate(list(split.parts.values()))


def sizes(split: Split) -> list[int]:
    return [part.size for part in split.parts.values()]


def plain(labels: list[int]) -> NodeData:
    return NodeData.build(
        name="plain",
        features=np.ones((len(labels), 1)),
        labels=labels,
        edges=np.empty((2, 0), dtype=int),
        class_names=("a", "b", "c"),
    )


@pytest.mark.parametrize("name", dataset_names())
@pytest.mark.parametrize("spec", ["fixed", "uniform", "balanced", "10-fold"])
def test_no_split_names_a_node_without_label(name: str, spec: str) -> None:
    data = load_dataset(name)
    for split in make_splits(data, spec, seeds=[0, 1]):
        split.check(data)
        assert (data.labels[every_node(split)] >= 0).all()


def test_uniform_takes_its_sizes_from_the_fixed_split() -> None:
    data = load_dataset("citeseer")
    assert sizes(uniform_split(data, 3)) == [120, 500, 1000]
    assert sizes(uniform_split(data, 3, (5, 0, 3307))) == [5, 0, 3307]


def test_uniform_draws_every_labelled_node_equally_often() -> None:
    data = plain([0, 1, -1, 2, 0, 1, 2])
    drawn = np.bincount(
        np.concatenate([uniform_split(data, seed, (2, 1, 0)).train for seed in range(3000)]),
        minlength=7,
    )
    # 3000 draws of 2 out of 6: mean 1000 each, standard deviation 26.
    assert drawn[2] == 0
    assert (abs(np.delete(drawn, 2) - 1000) < 5 * 26).all()


@pytest.mark.parametrize("name", dataset_names())
def test_balanced_trains_on_twenty_of_each_class(name: str) -> None:
    data = load_dataset(name)
    split = balanced_split(data, 5)
    assert np.bincount(data.labels[split.train]).tolist() == [20] * data.classes
    assert sizes(split) == [20 * data.classes, 500, 1000]


@given(st.integers(2, 40), st.integers(0, 2**64), st.integers(40, 60))
def test_folds_partition_the_labelled_nodes(folds: int, seed: int, count: int) -> None:
    data = plain([(i % 4) - 1 for i in range(count + count // 3 + 1)])
    splits = k_folds(data, min(folds, data.labelled.size), seed)
    tested = np.concatenate([split.test for split in splits])
    assert np.sort(tested).tolist() == data.labelled.tolist()
    sizes_of_test = [split.test.size for split in splits]
    assert max(sizes_of_test) - min(sizes_of_test) <= 1
    for split in splits:
        assert split.validation.size == 0
        assert np.sort(every_node(split)).tolist() == data.labelled.tolist()


@pytest.mark.parametrize("spec", ["uniform", "balanced", "4-fold"])
def test_the_seed_and_nothing_else_decides(spec: str) -> None:
    data = load_dataset("cora")
    np.random.seed(0)  # noqa: NPY002 the global state must not matter
    again, other = make_splits(data, spec, [11]), make_splits(data, spec, [12])
    np.random.seed(1)  # noqa: NPY002
    assert make_splits(data, spec, [11]) == again
    assert again[0].train.tolist() != other[0].train.tolist()
    assert again[0].seed == 11


def test_kinds_of_split_with_one_seed_are_unrelated() -> None:
    data = load_dataset("pubmed")
    uniform, fold = uniform_split(data, 0), k_folds(data, 10, 0)[0]
    balanced = balanced_split(data, 0, per_class=100)
    # Under independence 1560 of 19717 nodes meet 1000 others about 79 times, deviation under 9.
    drawn = every_node(uniform)
    for others in (fold.test[:1000], balanced.test):
        assert abs(np.isin(drawn, others).sum() - 79) < 5 * 9


def test_splits_are_pinned_so_that_they_never_change_unnoticed() -> None:
    cora = load_dataset("cora")
    assert uniform_split(cora, 7).train[:6].tolist() == PINNED["uniform"]
    assert balanced_split(cora, 7).train[:6].tolist() == PINNED["balanced"]
    assert balanced_split(cora, 7).test[:6].tolist() == PINNED["balanced test"]
    assert k_folds(cora, 10, 7)[2].test[:6].tolist() == PINNED["fold"]


PINNED = {
    "uniform": [1501, 704, 461, 987, 794, 2025],
    "balanced": [65, 2356, 2280, 2136, 527, 1536],
    "balanced test": [1396, 1306, 377, 865, 2247, 2343],
    "fold": [1877, 339, 2271, 1353, 285, 1408],
}


def test_names_say_what_was_drawn() -> None:
    cora = load_dataset("cora")
    assert uniform_split(cora, 7).name == "uniform-7"
    assert balanced_split(cora, 7).name == "balanced-7"
    assert k_folds(cora, 10, 7)[2].name == "fold-3-of-10-seed-7"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda data: uniform_split(data, 0, (4, 2, 1)), r"4 \+ 2 \+ 1 nodes: 6 are labelled"),
        (lambda data: uniform_split(data, 0, (-1, 2, 1)), r"cannot take -1 \+ 2 \+ 1"),
        (lambda data: uniform_split(data, -1), "`seed` must not be negative; got -1"),
        (
            lambda data: balanced_split(data, 0, 4, 0, 0),
            "4 training nodes of class 'even': it has 3",
        ),
        (lambda data: balanced_split(data, 0, 0, 1, 1), "cannot take 0 training nodes"),
        (
            lambda data: balanced_split(data, 0, 2, 2, 1),
            "2 validation and 1 test nodes: beside the 4 training nodes 2 are labelled",
        ),
        (lambda data: k_folds(data, 7, 0), "labelled nodes, 6; got 7"),
        (lambda data: k_folds(data, 1, 0), "at least 2 and .* got 1"),
        (lambda data: make_splits(data, "1-fold", [0]), "at least 2 and at most .* 6; got 1"),
        (lambda data: make_splits(data, "fixed", []), "`seeds` must hold at least one seed"),
        (lambda data: make_splits(data, "unifrom", [0]), r"'unifrom'; did you mean 'uniform'\?"),
        (lambda data: make_splits(data, "x-fold", [0]), r"'x-fold'; did you mean '10-fold'\?"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tiny: NodeData, draw, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(tiny)


def test_uniform_takes_fifths_where_there_is_no_fixed_split() -> None:
    assert sizes(uniform_split(plain([0, 1, 2] * 7 + [-1]), 0)) == [13, 4, 4]
    assert sizes(uniform_split(plain([0, 1, 2]), 0)) == [1, 1, 1]


def test_a_spec_gives_one_split_for_each_seed_and_folds_seed_by_seed(tiny: NodeData) -> None:
    assert make_splits(tiny, "fixed", [3, 4]) == (tiny.split("fixed"),) * 2
    assert make_splits(tiny, "random", [3, 4]) == tuple(uniform_split(tiny, s) for s in (3, 4))
    assert make_splits(tiny, "Uniform", [3]) == make_splits(tiny, "random", [3])
    cora = load_dataset("cora")
    assert make_splits(cora, "balanced", [3]) == (balanced_split(cora, 3),)
    assert make_splits(tiny, "3-fold", [4, 3]) == k_folds(tiny, 3, 4) + k_folds(tiny, 3, 3)


def test_a_saved_split_is_a_spec_and_is_checked_against_the_data(
    tiny: NodeData, tmp_path: Path
) -> None:
    good, blank = Split("mine", [6, 0], [], [1]), Split("blank", [0], [], [5])
    good.save(tmp_path / "good.json")
    blank.save(tmp_path / "blank.json")
    assert make_splits(tiny, str(tmp_path / "good.json"), [0, 1]) == (good, good)
    with pytest.raises(InputError, match="`test` names node 5, which has no label"):
        make_splits(tiny, str(tmp_path / "blank.json"), [0])


@pytest.mark.parametrize("folds", [3, 10])
def test_nested_folds_test_the_same_nodes_and_set_a_tenth_of_the_others_aside(folds: int) -> None:
    cora = load_dataset("cora")
    plain, nested = k_folds(cora, folds, 5), nested_k_folds(cora, folds, 5)
    for outer, inner in zip(plain, nested, strict=True):
        assert inner.test.tolist() == outer.test.tolist()
        assert inner.validation.size == math.ceil(outer.train.size / 10)
        both = np.concatenate([inner.train, inner.validation])
        assert sorted(both.tolist()) == sorted(outer.train.tolist())
        assert inner.name == f"nested-{outer.name}"


def test_the_nodes_that_are_set_aside_are_uniform_over_the_other_folds() -> None:
    cora = load_dataset("cora")
    parts = k_folds(cora, 10, 5)
    aside = nested_k_folds(cora, 10, 5)[0].validation
    # 244 of 2437 nodes over nine folds: 27 each, deviation under 5.
    for other in parts[1:]:
        assert abs(np.isin(aside, other.test).sum() - 27) < 5 * 5


def test_nested_folds_have_a_spec(tiny: NodeData) -> None:
    assert make_splits(tiny, "3-fold-nested", [4]) == nested_k_folds(tiny, 3, 4)
    assert make_splits(tiny, "3-Fold-Nested", [4]) == nested_k_folds(tiny, 3, 4)


def test_a_number_of_labels_per_class_leaves_the_rest_for_test(cora):
    split = make_splits(cora, "20-per-class", (3,))[0]
    for part, count in (("train", 20), ("validation", 30)):
        assert np.bincount(cora.labels[split.parts[part]]).tolist() == [count] * cora.classes
    assert sum(part.size for part in split.parts.values()) == cora.labelled.size
    again, other = make_splits(cora, "20-per-class", (3, 4))
    assert again == split
    assert not np.array_equal(other.train, split.train)


def test_a_class_with_few_nodes_gives_a_third_to_each_part(toy):
    split = make_splits(toy, "100-per-class", (0,))[0]
    counts = np.bincount(toy.labels[toy.labelled])
    assert np.bincount(toy.labels[split.train]).tolist() == (counts // 3).clip(1).tolist()
    assert split.test.size > 0
    with pytest.raises(InputError, match="`per_class` must be at least 1; got 0"):
        make_splits(toy, "0-per-class", (0,))
