"""A recipe: checked when it is written, one value for all replicas or one each."""

from __future__ import annotations

import pytest

from agnn.errors import InputError
from agnn.training import HighestAccuracy, Recipe


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epochs": 0}, "`epochs` must be at least 1; got 0"),
        ({"epochs": 10**30}, "`epochs` must be at most 10,000,000; got 1000000000000000000"),
        ({"learning_rate": -0.1}, "`learning_rate` must be a number from 0 up; got -0.1"),
        ({"weight_decay": -1.0}, "`weight_decay` must be a number from 0 up"),
        ({"dropout": (0.5, -0.5)}, "`dropout` must be a number from 0 up; got -0.5"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and below 1; got 1.0"),
        ({"weight_decay": float("inf")}, "`weight_decay` must be a number from 0 up; got inf"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be a number from 0 up; got nan"),
    ],
)
def test_a_recipe_that_cannot_be_cooked_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Recipe(**fields)


def test_one_value_serves_all_replicas_and_a_tuple_gives_each_its_own():
    recipe = Recipe(learning_rate=0.1, dropout=(0.1, 0.2))
    assert recipe.for_replicas("learning_rate", 2) == [0.1, 0.1]
    assert recipe.for_replicas("dropout", 2) == [0.1, 0.2]
    with pytest.raises(InputError, match="`dropout` has 2 values for 3 replicas"):
        recipe.for_replicas("dropout", 3)


def test_decay_goes_by_the_names_of_parameters():
    recipe = Recipe(decayed=("first.*", "last.bias"))
    names = ("first.weight", "first.bias", "last.weight", "last.bias", "layers.0.beta")
    assert [recipe.is_decayed(name) for name in names] == [True, True, False, True, False]
    assert all(Recipe().is_decayed(name) for name in names)


def test_equal_recipes_are_equal():
    assert Recipe(selection=HighestAccuracy(4)) == Recipe()
    assert Recipe(selection=HighestAccuracy(1)) != Recipe()
