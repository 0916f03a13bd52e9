"""How exactly a replica in a batch gives what it gives alone, and a seed what it gave before.

1. Same seed, same bits, for any number of threads.
2. With compiled kernels, a replica with its own seed, split, learning rate, weight decay and
   dropout rate is equal to the bit in a batch and alone, after any number of epochs: weights,
   losses, accuracies and the epoch kept. So it is for AGNN, GCN and GLN.
3. With the reference kernels on a common split, likewise. On their own splits replicas share a
   view around the union of their nodes, and torch's `bmm` and `sum` (the gradient of the output
   layer) group a sum by its length, zeros for the other replicas' nodes included: there the runs
   are equal up to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor

from agnn.data import uniform_split
from agnn.training import HighestAccuracy, History, LastEpoch, Recipe, Selection
from properties import assert_close, assert_same_bits

if TYPE_CHECKING:
    from conftest import Problem

KINDS = ("agnn", "gcn", "gln")
SEEDS = (3, 0, 7)
LAST = LastEpoch()
RATES, DECAYS, DROPS = (0.01, 0.02, 0.005), (5e-4, 1e-3, 0.0), (0.5, 0.25, 0.6)


def trained(
    problem: Problem, kind: str, replicas: list[int], epochs: int, *, own_splits: bool,
    rule: Selection = LAST,
) -> tuple[dict[str, Tensor], History]:  # fmt: skip
    """The weights of the given replicas after training them together, and what was seen."""
    recipe = Recipe(
        epochs=epochs,
        learning_rate=tuple(RATES[r] for r in replicas),
        weight_decay=tuple(DECAYS[r] for r in replicas),
        dropout=tuple(DROPS[r] for r in replicas),
        selection=rule,
    )
    seeds = [SEEDS[r] for r in replicas]
    model, history = problem.train(kind, recipe, seeds, problem.splits(seeds, own=own_splits))
    return model.state_dict(), history


@pytest.mark.parametrize("own_splits", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_in_a_batch_equals_itself_alone_to_the_bit(kind, own_splits, cora_problem):
    rule = HighestAccuracy()
    together, seen = trained(cora_problem, kind, [0, 1, 2], 15, own_splits=own_splits, rule=rule)
    for r in range(3):
        alone, seen_alone = trained(cora_problem, kind, [r], 15, own_splits=own_splits, rule=rule)
        for name, value in together.items():
            assert_same_bits(value[r], alone[name][0])
        assert_same_bits(seen.training_loss[:, r], seen_alone.training_loss[:, 0])
        assert_same_bits(seen.watched_loss[:, r], seen_alone.watched_loss[:, 0])
        assert_same_bits(seen.watched_accuracy[:, r], seen_alone.watched_accuracy[:, 0])
        assert seen.selected_epochs[r] == seen_alone.selected_epochs[0]


@pytest.mark.parametrize("kind", KINDS)
def test_with_the_reference_kernels_a_replica_stays_within_rounding_of_itself(kind, toy_problem):
    settings = Recipe(epochs=10, selection=LAST)
    splits = toy_problem.splits(SEEDS, own=True)
    together, _ = toy_problem.train(kind, settings, SEEDS, splits, backend="reference")
    for r in range(3):
        here = slice(r, r + 1)
        alone, _ = toy_problem.train(kind, settings, SEEDS[here], splits[here], backend="reference")
        for name, value in together.state_dict().items():
            assert_close(value[r], alone.state_dict()[name][0], 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_on_splits_of_other_sizes_too(kind, toy_problem):
    sizes, seeds = ((20, 40, 50), (7, 30, 60), (33, 5, 9)), (0, 1, 2)
    splits = [
        uniform_split(toy_problem.data, s, size) for s, size in zip(seeds, sizes, strict=True)
    ]
    settings = Recipe(epochs=10, selection=LastEpoch())
    together, seen = toy_problem.train(kind, settings, seeds, splits)
    for r in range(3):
        alone, seen_alone = toy_problem.train(kind, settings, seeds[r : r + 1], splits[r : r + 1])
        for name, value in together.state_dict().items():
            assert_same_bits(value[r], alone.state_dict()[name][0])
        assert_same_bits(seen.training_loss[:, r], seen_alone.training_loss[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bits_with_any_number_of_threads(kind, cora_problem):
    once, _ = trained(cora_problem, kind, [0, 1, 2], 10, own_splits=True)
    again, _ = trained(cora_problem, kind, [0, 1, 2], 10, own_splits=True)
    torch.set_num_threads(2)
    threaded, _ = trained(cora_problem, kind, [0, 1, 2], 10, own_splits=True)
    for name, value in once.items():
        assert_same_bits(again[name], value)
        assert_same_bits(threaded[name], value)


def test_a_larger_batch_does_not_change_its_replicas_either(toy_problem):
    """Work is cut in other pieces from 8 replicas a thread on."""
    seeds = tuple(range(17))
    settings = Recipe(epochs=6, selection=LastEpoch())
    together = toy_problem.train("agnn", settings, seeds)[0].state_dict()
    for r in (0, 5, 16):
        alone = toy_problem.train("agnn", settings, seeds[r : r + 1])[0].state_dict()
        for name, value in together.items():
            assert_same_bits(value[r], alone[name][0])


def test_other_seeds_give_other_weights(toy_problem):
    state = toy_problem.train("agnn", Recipe(epochs=3), seeds=(0, 1))[0].state_dict()
    assert not torch.equal(state["first.weight"][0], state["first.weight"][1])


def test_per_replica_settings_reach_their_replica(toy_problem):
    """The same seed three times: only the settings differ."""
    settings = Recipe(
        epochs=4, learning_rate=(0.01, 0.05, 0.01), dropout=(0.0, 0.0, 0.5), weight_decay=0.0
    )
    weight = toy_problem.train("agnn", settings, seeds=(1, 1, 1))[0].first.weight.detach()
    start = toy_problem.model("agnn", (1,)).first.weight.detach()[0]
    moved = (weight - start).abs().amax((1, 2))
    assert 4 < moved[1] / moved[0] < 6  # Adam's first steps are the rate itself
    assert not torch.equal(weight[0], weight[2])
