"""Random starts: Glorot's bounds, and one stream a replica."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError
from built_models import AGNN, GCN, GLN

BOUND = (6 / (300 + 16)) ** 0.5


def test_weights_are_uniform_within_glorots_bound_and_biases_zero():
    model = AGNN(300, 7, range(4))
    weight = model.first.weight.detach()
    assert weight.abs().max() <= BOUND
    assert weight.max() > 0.99 * BOUND
    assert weight.min() < -0.99 * BOUND
    assert abs(float(weight.mean())) < 0.02 * BOUND
    assert float(weight.std()) == pytest.approx(BOUND / 3**0.5, rel=0.02)
    assert model.last.weight.abs().max() <= (6 / (16 + 7)) ** 0.5
    assert not model.first.bias.any()
    assert not model.last.bias.any()


@pytest.mark.parametrize("kind", [AGNN, GCN, GLN])
def test_a_replica_starts_the_same_alone_and_in_a_batch(kind):
    batch = kind(30, 4, (7, 0, 3)).state_dict()
    for r, seed in enumerate((7, 0, 3)):
        alone = kind(30, 4, (seed,)).state_dict()
        for name, value in batch.items():
            assert torch.equal(value[r], alone[name][0])


@pytest.mark.parametrize("kind", [AGNN, GCN, GLN])
def test_other_seeds_start_elsewhere(kind):
    weight = kind(30, 4, (0, 1)).first.weight
    assert not torch.equal(weight[0], weight[1])


def test_torchs_global_seed_is_neither_read_nor_moved():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = AGNN(30, 4).first.weight
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(AGNN(30, 4).first.weight, one)


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((), "at least one replica"), ((-1,), "got -1"), ((2**32,), r"between 0 and 2\^32 - 1")],
)
def test_seeds_out_of_range_are_refused(seeds, words):
    with pytest.raises(InputError, match=words):
        AGNN(30, 4, seeds)
