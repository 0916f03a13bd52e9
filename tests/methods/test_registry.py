"""Methods by name."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from agnn.choosing import settle
from agnn.errors import InputError
from agnn.methods import (
    NetworkMethod,
    Task,
    get_method,
    method_names,
    register,
)
from agnn.networks import AGNN, GAT, GCN, GLN


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
    assert method.cites or name == "majority"
    assert method.__doc__
    assert method() == method()
    with pytest.raises(AttributeError, match="cannot assign to field"):
        setattr(method(), [*(each.name for each in fields(method)), "new"][0], 1)


def test_a_task_needs_replicas_and_splits_that_fit(toy, cora):
    split = toy.split("fixed")
    with pytest.raises(InputError, match="`replicas` must be at least 1; got 0"):
        Task(toy, (), ())
    with pytest.raises(InputError, match="1 splits for 2 seeds"):
        Task(toy, (split,), (0, 1))
    with pytest.raises(InputError, match="which does not exist: 'toy' has 120 nodes"):
        Task(toy, (cora.split("fixed"),), (0,))


NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_hyper_parameter_of_a_network_is_read(name, toy):
    method = get_method(name)
    read = set[str]()

    class Watched(method):
        def __getattribute__(self, attribute: str) -> object:
            read.add(attribute)
            return super().__getattribute__(attribute)

    short = {"epochs": 2} if "epochs" in {each.name for each in fields(method)} else {}
    watched = Watched(**short)
    task = Task(toy, (toy.split("fixed"),), (0,))
    settle(watched, task).run(task)
    assert {each.name for each in fields(method)} - read == set()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_declares_how_many_steps_its_model_takes(name):
    method = get_method(name)()
    assert method.build(7, 3, (0,), "auto").hops == method.propagation_steps


def test_a_model_gets_the_fields_of_its_method():
    model = GAT(hidden=3, heads=5, output_heads=2).build(7, 4, (0, 1), "reference")
    assert model.first.weight.shape == (2, 7, 15)
    assert model.last.weight.shape == (2, 15, 8)
    assert (model.output_heads, model.backend) == (2, "reference")


def test_settings_come_back_from_json_with_lists_for_tuples():
    method = GAT(hidden=3, batch=8, fanout=(2, 4))
    assert GAT.from_settings(json.loads(json.dumps(method.settings))) == method


def test_a_whole_number_that_no_array_could_have_is_refused():
    with pytest.raises(InputError, match=r"`hidden` must be at most 2,147,483,647; got 1000000000"):
        GCN().with_fields(hidden=10**30)
    assert GCN().with_fields(hidden=2**31 - 1).hidden == 2**31 - 1
