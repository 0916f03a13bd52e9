"""A run that diverges is an error or marked as diverged, never an ordinary result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
import torch

from agnn.choosing import Tuned
from agnn.errors import DivergedError
from agnn.methods import NetworkMethod, Task, get_method, method_names
from agnn.networks import AGNN

NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


def task(toy) -> Task:
    return Task(toy, (toy.split("fixed"),) * 2, (0, 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_whose_every_replica_diverges_is_an_error(name, toy):
    method = get_method(name)().with_fields(learning_rate=1e38, epochs=30)
    with pytest.raises(DivergedError, match="the loss of every replica was infinite or NaN by epo"):
        method.run(task(toy))


@dataclass(frozen=True)
class Risky(AGNN):
    """AGNN with a grid whose first candidate diverges."""

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"learning_rate": (1e30, 0.01)}


@dataclass(frozen=True)
class Ruined(AGNN):
    """AGNN with a grid of candidates that all diverge."""

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"learning_rate": (1e30, 1e35)}


def test_tuning_passes_over_candidates_that_diverge(toy):
    outcome = Tuned(Risky(epochs=10)).run(task(toy))
    assert [chosen["learning_rate"] for chosen in outcome.chosen] == [0.01, 0.01]


def test_a_tuned_replica_without_usable_weights_is_an_error(toy, monkeypatch):
    def marked(self, task):
        found = NetworkMethod.run(self, task)
        lost = torch.tensor([0, 1])
        history = replace(found.history, diverged_epochs=lost, selected_epochs=1 - lost)
        return replace(found, history=history)

    monkeypatch.setattr(AGNN, "run", marked)
    with pytest.raises(DivergedError, match="diverged for a replica of the tuned agnn"):
        Tuned(Risky(epochs=10)).run(task(toy))


def test_a_grid_whose_candidates_all_diverge_is_an_error(toy):
    with pytest.raises(DivergedError, match="for every candidate of agnn"):
        Tuned(Ruined(epochs=10)).run(task(toy))
