"""Stratified splits give every part its share of every class, and choose nothing by the test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from agnn import DataError, InputError, NodeData
from agnn.data import Split, SplitSpec, make_splits
from agnn.data._splits._draws import (
    Stream,
    nested_k_folds,
    stratified_folds,
    stratified_split,
)


def plain(labels: list[int], splits: dict[str, Split] | None = None) -> NodeData:
    return NodeData.build(
        name="plain", features=np.ones((len(labels), 1)), labels=labels,
        edges=np.empty((2, 0), dtype=int), class_names=("a", "b", "c"), splits=splits,
    )  # fmt: skip


def counts(data: NodeData, nodes: np.ndarray) -> list[int]:
    return np.bincount(data.labels[nodes], minlength=3).tolist()


SIZES = st.tuples(*[st.integers(2, 30)] * 3)


@given(SIZES, st.integers(0, 10**6))
def test_each_class_gives_a_fifth_to_validation_and_test_and_at_least_one(
    sizes: tuple[int, ...], seed: int
) -> None:
    labels = [k for k, size in enumerate(sizes) for _ in range(size)] + [-1, -1]
    data = plain(labels)
    split = stratified_split(data, seed)
    test = [max(round(size / 5), 1) for size in sizes]
    assert counts(data, split.test) == test
    assert counts(data, split.validation) == [
        0 if size == 2 else each for size, each in zip(sizes, test, strict=True)
    ]
    everyone = np.sort(np.concatenate(list(split.parts.values())))
    assert everyone.tolist() == data.labelled.tolist()


@given(SIZES, st.integers(3, 6), st.integers(0, 10**6))
def test_folds_test_every_label_once_and_spread_every_class(
    sizes: tuple[int, ...], folds: int, seed: int
) -> None:
    data = plain([k for k, size in enumerate(sizes) for _ in range(size)] + [-1])
    splits = stratified_folds(data, folds, seed)
    tested = np.concatenate([split.test for split in splits])
    assert np.sort(tested).tolist() == data.labelled.tolist()
    by_fold = np.array([counts(data, split.test) for split in splits])
    assert (by_fold.max(axis=0) - by_fold.min(axis=0) <= 1).all()
    for k, split in enumerate(splits):
        assert split.validation.tolist() == splits[(k + 1) % folds].test.tolist()
        together = np.concatenate(list(split.parts.values()))
        assert np.sort(together).tolist() == data.labelled.tolist()


def test_the_seed_decides_and_the_name_says_what_was_drawn() -> None:
    data = plain([0, 1, 2] * 20)
    assert stratified_split(data, 3) == stratified_split(data, 3)
    assert stratified_split(data, 3) != stratified_split(data, 4)
    assert stratified_split(data, 3).name == "stratified-3"
    assert stratified_folds(data, 5, 3)[1].name == "stratified-fold-2-of-5-seed-3"
    assert make_splits(data, "Stratified", [3]) == (stratified_split(data, 3),)
    assert make_splits(data, "stratified-4-fold", [3]) == stratified_folds(data, 4, 3)


def test_stratified_draws_have_a_stream_of_their_own() -> None:
    assert len({int(stream) for stream in Stream}) == len(Stream)
    data = plain([0] * 40)  # one class: a stratified split is a cut through the shuffle
    split = stratified_split(data, 3)
    shuffled = np.concatenate(list(split.parts.values())).tolist()
    first = nested_k_folds(data, 2, 3)[0]
    aside = first.validation.tolist()
    assert aside != [node for node in shuffled if node not in first.test.tolist()][: len(aside)]


def test_a_class_with_one_label_cannot_be_stratified() -> None:
    data = plain([0, 0, 0, 1, 1, 2])
    for spec in ("stratified", "stratified-3-fold"):
        with pytest.raises(DataError, match=r"class 'c' of 'plain' has one labelled node \('5'\)"):
            make_splits(data, spec, [0])


def test_folds_need_three_parts_and_no_more_than_labels() -> None:
    data = plain([0, 0, 1, 1, 2, 2])
    with pytest.raises(InputError, match=r"at least 3 \(test, validation, training\); got 2"):
        stratified_folds(data, 2, 0)
    with pytest.raises(InputError, match=r"has 6 labelled nodes, too few for 7 folds\. Label more"):
        stratified_folds(data, 7, 0)


@pytest.mark.parametrize("labels", [[0, 1, 2, -1, -1], [0, 0, -1]])
def test_labels_that_cannot_be_tested_are_refused(labels: list[int]) -> None:
    data = plain(labels)
    with pytest.raises(DataError, match=f"has {len(data.labelled)} labelled nodes and no class"):
        make_splits(data, SplitSpec.default(data), [0])


def test_data_is_split_as_it_came_else_cross_fitted() -> None:
    fixed = {"fixed": Split("fixed", [0], [1], [2])}
    assert SplitSpec.default(plain([0, 1, 2], fixed)) == "fixed"
    assert SplitSpec.default(plain([0, 1] * 25)) == "cross-fit"
    assert SplitSpec.default(plain([0, 1, 0])) == "cross-fit"
