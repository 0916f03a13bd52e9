"""A split specification says what it is before it sees any data."""

from __future__ import annotations

import pytest

from agnn.data import NodeData, SplitSpec, make_splits
from agnn.errors import InputError


@pytest.mark.parametrize(
    ("text", "kind", "setting", "folds", "has_validation"),
    [
        ("fixed", "named", "fixed", 1, True),
        ("my split", "named", "fixed", 1, True),
        ("own", "own", "fixed", 1, True),
        ("a/uniform.json", "file", "fixed", 1, True),
        ("uniform", "uniform", "random", 1, True),
        ("Random", "random", "random", 1, True),
        ("balanced", "balanced", "random", 1, True),
        ("stratified", "stratified", "random", 1, True),
        ("3-Fold", "fold", "cross-validation", 3, False),
        ("10-fold-nested", "fold-nested", "cross-validation", 10, True),
        ("stratified-5-fold", "stratified-fold", "random", 5, True),
        ("stratified-5-fold-nested", "named", "fixed", 1, True),
        ("1234567890-fold", "named", "fixed", 1, True),
    ],
)
def test_what_a_user_writes_is_parsed_once(
    text: str, kind: str, setting: str, folds: int, has_validation: bool
) -> None:
    spec = SplitSpec.parse(text)
    assert (spec.kind, spec.setting, spec.folds) == (kind, setting, folds)
    assert spec.has_validation == has_validation


@pytest.mark.parametrize("text", ["fixed", "uniform", "2-fold", "3-fold-nested"])
def test_the_folds_are_the_splits_per_seed_and_say_whether_they_validate(
    tiny: NodeData, text: str
) -> None:
    spec = SplitSpec.parse(text)
    drawn = spec.draw(tiny, [0, 1])
    assert len(drawn) == 2 * spec.folds
    assert all(bool(split.validation.size) == spec.has_validation for split in drawn)
    assert drawn == make_splits(tiny, text, [0, 1])


def test_a_split_of_the_data_wins_over_a_way_to_draw(tiny: NodeData) -> None:
    named = tiny.split("fixed").to_dict() | {"name": "uniform"}
    data = tiny.with_split(type(tiny.split("fixed")).from_dict(named))
    assert SplitSpec.parse("uniform").draw(data, [5])[0] is data.split("uniform")


def test_a_name_that_is_not_known_is_refused_with_those_that_are(tiny: NodeData) -> None:
    with pytest.raises(InputError, match="unknown split 'strtified'; did you mean 'stratified'"):
        SplitSpec.parse("strtified").draw(tiny, [0])
    with pytest.raises(InputError, match="at least one seed"):
        SplitSpec.parse("fixed").draw(tiny, [])
