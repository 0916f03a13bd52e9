"""A network of one's own, as the tutorial defines it, can do what the package's networks can."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import agnn
from agnn.data import NodeData
from agnn.errors import InputError
from agnn.kernels import Link
from agnn.networks import get_method
from agnn.networks._protocol import _METHODS
from agnn.onnx import onnx_model
from agnn.runs import Run, load_run

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "adding_a_method.md"
CHANGES = {"epochs": 20}


@pytest.fixture(scope="module")
def name() -> Iterator[str]:
    blocks = PAGE.read_text(encoding="utf-8").split("```python\n")
    (program,) = (b.split("```")[0] for b in blocks if "class AfterwardsModel" in b)
    assert program.count("\n") <= 60
    module = ModuleType("afterwards_of_the_tutorial")
    before = dict(_METHODS)
    _METHODS.pop("afterwards", None)  # the tutorial itself may have run in this process
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        exec(compile(program, str(PAGE), "exec"), vars(module))  # noqa: S102
        yield "afterwards"
    _METHODS.clear()
    _METHODS.update(before)


@pytest.fixture(scope="module")
def run(name: str, toy: NodeData) -> Run:
    return agnn.evaluate(name, toy, "fixed", replicas=2, changes=CHANGES)


def test_it_is_its_formula(run: Run) -> None:
    view = run.whole_view()
    model = run.network
    P = torch.from_numpy(view.symmetric_propagation.matrix().toarray()).double()
    X = torch.from_numpy(run.data.scaled_features(run.method.scaling).toarray()).double()
    with torch.no_grad():
        found = model(view).double()
        for r in range(2):
            w = {key: value[r].double() for key, value in model.state_dict().items()}
            h = torch.relu(X @ w["first.weight"] + w["first.bias"])
            expected = P @ P @ h @ w["last.weight"] + w["last.bias"]
            assert torch.allclose(found[r], expected, atol=1e-5)


def test_it_is_saved_and_loaded(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    assert torch.equal(load_run(tmp_path / "run").scores, run.scores)


def test_it_is_explained(run: Run) -> None:
    found = run.explain(run.data.node_ids[60])
    assert not found.is_attention
    lead = found.lead
    with torch.no_grad():
        logits = run.network(run.view_of(60))[:, 0].double().mean(0)
    assert lead.total == pytest.approx(float(logits[lead.answer] - logits[lead.second]), abs=1e-5)
    assert "Afterwards learns no attention" in found.notes[0]


def test_its_memory_is_estimated_and_new_nodes_are_predicted(name: str, run: Run) -> None:
    estimate = get_method(name)().memory_estimate(
        agnn.methods.Task(run.data, run.splits, run.seeds)
    )
    assert estimate.total > run.data.features.nnz


def test_it_trains_on_samples_and_in_bf16(name: str, toy: NodeData) -> None:
    changes = CHANGES | {"batch": 8, "fanout": (3,), "precision": "bf16"}
    run = agnn.evaluate(name, toy, "fixed", changes=changes)
    assert np.isfinite(run.scores.numpy()).all()


def test_its_rows_are_divided_among_ranks(name: str, toy: NodeData, run: Run) -> None:
    divided = agnn.evaluate(name, toy, "fixed", replicas=2, changes=CHANGES, ranks=1, divide="rows")
    assert torch.allclose(divided.scores, run.scores, atol=1e-4)


def test_it_is_exported_until_a_link_has_no_form(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert onnx_model(run.network, run.data.class_names).graph.node

    class Squash(Link):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

        def backward(self, gradient: torch.Tensor) -> tuple[torch.Tensor, tuple[()]]:
            return gradient, ()

    kind = type(run.network)
    links = kind.links
    monkeypatch.setattr(kind, "links", lambda *given: [*links(*given), Squash()])
    with pytest.raises(InputError, match="Afterwards cannot be exported: Squash has no form"):
        onnx_model(run.network, run.data.class_names)
