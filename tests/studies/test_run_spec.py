"""A specification's hash follows what runs depend on, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from agnn.choosing import Tuned
from agnn.errors import DataError
from agnn.methods import Method, Outcome, Task
from agnn.networks import AGNN, GCN, GLN
from agnn.studies._spec import Cell
from agnn.studies._works import RunSpec, absence, method_of, method_values, run_spec_of


@dataclass(frozen=True)
class Wrapped(Method):
    """A method around another, with something to tune."""

    name: ClassVar[str] = "wrapped"
    title: ClassVar[str] = "Wrapped"
    cites: ClassVar[str] = "nobody"
    grid = {"share": (0.1, 0.2)}  # noqa: RUF012 (as the methods have it)

    base: Method = field(default_factory=GCN)
    share: float = 0.5

    def run(self, task: Task) -> Outcome:
        raise NotImplementedError


def spec(method: Method, split: str = "fixed", measure: str | None = None) -> str:
    return RunSpec.of(method, split, measure).hash


def test_every_part_changes_the_hash():
    hashes = [
        spec(AGNN()), spec(AGNN(epochs=7)), spec(AGNN(), "uniform"),
        spec(AGNN(), measure="edge_ranking"), spec(GCN()), spec(GLN()), spec(Wrapped()),
        spec(Wrapped(GLN())), spec(Wrapped(share=0.1)), spec(Tuned(Wrapped())),
    ]  # fmt: skip
    assert len(set(hashes)) == len(hashes)
    assert spec(AGNN()) == spec(AGNN(epochs=1000))


def test_the_hash_of_the_papers_runs_is_pinned():
    """A change here makes every stored run of AGNN on Cora count as missing."""
    assert spec(AGNN.preset("fixed", "cora")) == "ebd5ca5eb0595c55"


def test_a_method_is_described_with_the_methods_inside_it():
    found = method_values(Wrapped(GLN(hidden=3)))
    assert (found["name"], found["share"]) == ("wrapped", 0.5)
    assert (found["base"]["name"], found["base"]["hidden"]) == ("gln", 3)
    tuned = method_values(Tuned(Wrapped()))
    assert tuned["grid"] == {"share": [0.1, 0.2]}


def cell(**changes: object) -> Cell:
    values: dict[str, object] = {
        "source": "runs", "value": "accuracy", "dataset": "cora", "split": "fixed",
        "method": "agnn", "configuration": "published", "fields": (), "seeds": 3,
    }  # fmt: skip
    values = values | changes
    return Cell(**{"preset": values["dataset"], **values})  # type: ignore[arg-type]


def test_a_cell_has_the_preset_of_its_dataset_and_split_with_its_own_fields():
    method = method_of(cell(split="uniform", fields=(("epochs", 9),)))
    assert method == AGNN.preset("random", "cora").with_fields(epochs=9)
    assert run_spec_of(cell(seeds=3)) == run_spec_of(cell(seeds=99))


def test_a_method_that_is_not_there_is_said_to_be_missing():
    assert method_of(cell(method="nobody")) is None
    assert absence(cell(method="nobody")) == "not among the methods yet"
    assert run_spec_of(cell(method="nobody")) is None
    assert method_of(cell(method="gcn", configuration="tuned")) is None
    assert absence(cell(method="gcn", configuration="tuned")) == "no grid to tune over"


def test_a_field_or_value_that_does_not_exist_is_named():
    with pytest.raises(DataError, match="row of 'agnn' on cora: unknown hyper-parameter of agnn"):
        method_of(cell(fields=(("layer", 3),)))
    with pytest.raises(DataError, match="unknown value 'charm' of a run; known: accuracy"):
        run_spec_of(cell(value="charm"))
