"""`agnn datasets`, `agnn methods` and `agnn doctor`."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from agnn import get_method, method_names
from agnn.files import plain
from agnn.kernels import BACKENDS, _self_check


def test_datasets_counts_what_the_data_holds(agnn: Any, cora: Any) -> None:
    found = {fact["name"]: fact for fact in json.loads(agnn("datasets --json").out)["datasets"]}
    assert set(found) == {"citeseer", "cora", "pubmed"}
    fact = found["cora"]
    same = sum(cora.labels[i] == cora.labels[j] for i, j in cora.edges.T)
    assert fact["homophily"] == pytest.approx(same / cora.edges.shape[1])
    assert (fact["nodes"], fact["edges"], fact["features"]) == (2708, 5278, 1433)
    assert fact["splits"]["fixed"] == {"train": 140, "validation": 500, "test": 1000}
    assert found["citeseer"]["labelled"] == found["citeseer"]["nodes"] - 15


def test_datasets_for_people_has_a_row_each(agnn: Any) -> None:
    out = agnn("datasets").out
    assert "2,708" in out
    assert "81 %" in out
    assert "60 / 500 / 1000" in out


def test_methods_lists_every_hyper_parameter_with_its_default(agnn: Any) -> None:
    found = {fact["name"]: fact for fact in json.loads(agnn("methods --json").out)["methods"]}
    assert set(found) == set(method_names())
    for name, fact in found.items():
        method = get_method(name)
        assert fact["hyper_parameters"] == plain({f.name: f.default for f in fields(method)})
        assert (fact["title"], fact["source"]) == (method.title, method.cites)
        assert len(fact["presets"]) == len(method.presets)


def test_methods_for_people_names_method_and_source(agnn: Any) -> None:
    out = " ".join(agnn("methods").out.split())  # wherever a narrow screen breaks the lines
    for name in method_names():
        assert f"{name}: {get_method(name).title}, {get_method(name).cites}" in out


def test_one_method_is_shown_with_its_whole_description_and_grid(agnn: Any) -> None:
    fact = json.loads(agnn("methods bootstrap --json").out)["methods"]
    assert [each["name"] for each in fact] == ["bootstrap"]
    assert fact[0]["details"].startswith("S = D^-1/2 A D^-1/2")
    assert fact[0]["grid"] == {k: list(v) for k, v in get_method("bootstrap").grid.items()}
    out = " ".join(agnn("methods Bootstrap").out.split())
    assert "--tuned tries restart 0.0, 0.05" in out
    assert "S = D^-1/2 A D^-1/2 (Zhou et al. 2004)." in out
    assert "--tuned" not in agnn("methods agnn").out


def test_an_unknown_method_is_refused_with_the_nearest(agnn: Any) -> None:
    answer = agnn("methods bootstrp")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'bootstrap'?" in answer.err


def test_doctor_finds_the_kernels_right_and_says_why_a_backend_does_not_run(agnn: Any) -> None:
    answer = agnn("doctor --json")
    found = json.loads(answer.out)
    assert answer.code == 0
    assert set(found["backends"]) == set(BACKENDS)
    for backend in found["backends"].values():
        assert backend["works"] == (backend["reason"] is None)
    checked = {(check["backend"], check["kernel"]) for check in found["checks"]}
    assert ("numba", "cosine_attention") in checked
    assert {check["fault"] for check in found["checks"]} == {None}
    assert found["machine"]["threads"] == torch.get_num_threads()


def off_by_little(backend: str, _: str) -> list[Tensor]:
    return [torch.zeros(3), torch.full((2,), 0.01 if backend == "numba" else 0.0)]


def broken(backend: str, _: str) -> list[Tensor]:
    if backend == "numba":
        raise ImportError("no LLVM")
    return [torch.zeros(3)]


def not_a_number(backend: str, _: str) -> list[Tensor]:
    return [torch.zeros(3), torch.tensor([torch.nan if backend == "numba" else 0.0, 1.0])]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (off_by_little, "differs from the reference by 0.01"),
        (broken, "ImportError: no LLVM"),
        (not_a_number, "differs from the reference by nan"),
    ],
)
def test_doctor_exits_1_when_a_kernel_errs(
    agnn: Any, monkeypatch: pytest.MonkeyPatch, kernel: Any, said: str
) -> None:
    monkeypatch.setattr(_self_check, "EXAMPLES", {"cosine_attention": kernel})
    monkeypatch.setenv("COLUMNS", "200")
    answer = agnn("doctor")
    assert answer.code == 1
    assert f"numba WRONG: {said}" in answer.out.replace("it differs", "differs")
    machine = agnn("doctor --json")
    assert machine.code == 1
    assert said in json.loads(machine.out)["checks"][0]["fault"]
