"""Training in batches: every node once an epoch, in an order of each replica's own."""

from __future__ import annotations

import pytest
import torch

from agnn.data import Split
from agnn.errors import InputError
from agnn.kernels import Dropout
from agnn.training import LastEpoch, Recipe
from agnn.training._targets import batch_weights
from properties import assert_close, assert_same_bits


def weights(counts, longest: int, size: int, epoch: int = 0, seeds=(0, 1)) -> torch.Tensor:
    stream = Dropout(seeds, [0.0] * len(seeds))
    stream.epoch += epoch
    return batch_weights(torch.tensor(counts), longest, size, stream.at(5))


def test_every_node_counts_once_and_a_batch_is_averaged():
    found = weights([7, 9], 9, 4)
    assert found.shape == (3, 2, 9)
    times = (found > 0).sum(0)
    assert times.tolist() == [[1] * 7 + [0] * 2, [1] * 9]
    sizes = (found > 0).sum(2).T.tolist()
    assert sizes == [[4, 3, 0], [4, 4, 1]]
    assert_close(found.sum(2)[:2], torch.ones(2, 2), 1e-6)


def test_the_order_changes_with_the_epoch_and_the_seed_and_with_nothing_else():
    first = weights([9, 9], 9, 3)
    assert not torch.equal(first[:, 0], first[:, 1])
    assert not torch.equal(first, weights([9, 9], 9, 3, epoch=1))
    assert_same_bits(weights([9], 9, 3, seeds=(1,))[:, 0], first[:, 1])


def test_one_batch_of_all_nodes_is_the_mean():
    assert_close(weights([9, 9], 9, 20)[0], torch.full((2, 9), 1 / 9), 1e-6)


def test_a_large_batch_trains_as_no_batches_do(toy_problem):
    whole, _ = toy_problem.train("gcn", Recipe(epochs=4, selection=LastEpoch()))
    batch, _ = toy_problem.train("gcn", Recipe(epochs=4, batch=20, selection=LastEpoch()))
    for one, other in zip(batch.parameters(), whole.parameters(), strict=True):
        assert_close(one, other, 1e-5)


def test_small_batches_make_more_steps(toy_problem):
    """Adam's first step moves every weight by the rate: five batches move some by more."""
    start = toy_problem.model("gcn", (0,)).last.weight
    recipe = Recipe(epochs=1, learning_rate=0.01, dropout=0.0, batch=4, selection=LastEpoch())
    trained, _ = toy_problem.train("gcn", recipe)
    assert (trained.last.weight - start).abs().max() > 0.02


def test_batches_that_cannot_be_are_refused(toy_problem):
    with pytest.raises(InputError, match="`batch` must be at least 1; got 0"):
        toy_problem.train("gcn", Recipe(batch=0))
    fixed = toy_problem.data.split("fixed")
    shorter = Split("shorter", fixed.train[:9], fixed.validation, fixed.test)
    with pytest.raises(InputError, match="sets of 9 to 20 nodes make 3 to 5 batches of 4; train"):
        toy_problem.train("gcn", Recipe(batch=4), (0, 1), [fixed, shorter])
