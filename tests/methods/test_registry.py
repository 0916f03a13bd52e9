"""Methods by name."""

from __future__ import annotations

from dataclasses import fields

import pytest

from agnn.errors import InputError
from agnn.methods import AGNN, GCN, GLN, Task, get_method, method_names, register


def test_methods_are_found_by_name_in_any_case():
    assert set(method_names()) >= {"agnn", "gcn", "gln"}
    assert list(method_names()) == sorted(method_names())
    assert get_method("agnn") is get_method("AGNN") is AGNN
    assert (get_method("gcn"), get_method("gln")) == (GCN, GLN)


@pytest.mark.parametrize(("wrong", "near"), [("agn", "agnn"), ("gcnn", "gcn"), ("GLM", "gln")])
def test_an_unknown_name_is_refused_with_the_nearest(wrong, near):
    with pytest.raises(InputError, match=f"unknown method '{wrong}'; did you mean '{near}'"):
        get_method(wrong)


def test_a_name_near_to_none_gets_the_list():
    with pytest.raises(InputError, match="known: agnn, "):
        get_method("zzzz")


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="two methods are called 'agnn'"):
        register(AGNN)


@pytest.mark.parametrize("name", method_names())
def test_a_method_is_frozen_described_and_equal_by_its_fields(name):
    method = get_method(name)
    assert method.title
    assert method.cites
    assert method.__doc__
    assert method() == method()
    with pytest.raises(AttributeError, match="cannot assign to field"):
        setattr(method(), fields(method)[0].name, 1)


def test_a_task_needs_replicas_and_splits_that_fit(toy, cora):
    split = toy.split("fixed")
    with pytest.raises(InputError, match="`replicas` must be at least 1; got 0"):
        Task(toy, (), ())
    with pytest.raises(InputError, match="1 splits for 2 seeds"):
        Task(toy, (split,), (0, 1))
    with pytest.raises(InputError, match="which is not there: 'toy' has 120 nodes"):
        Task(toy, (cora.split("fixed"),), (0,))
