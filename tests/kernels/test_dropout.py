"""Dropout: what is dropped, by what it is drawn, and that every backend draws the same bits."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import Dropout, dropout
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, gradients


def mask(
    seed: int,
    rate: float = 0.5,
    *,
    place: int = 0,
    epoch: int = 1,
    rows: int = 200,
    columns: int = 100,
    backend: str = "auto",
) -> Tensor:
    """Which entries stay; bool [rows, columns]."""
    stream = Dropout([seed], [rate])
    stream.epoch += epoch
    ones = torch.ones(1, rows, columns)
    return dropout(ones, torch.arange(rows), stream.at(place), backend=backend)[0] != 0


def correlation(one: Tensor, other: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]).double())[0, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_an_entry_is_dropped_or_scaled_up_and_so_is_its_gradient(backend, dtype):
    h = torch.randn(3, 50, 33, dtype=dtype, generator=torch.Generator().manual_seed(0))
    stream = Dropout([5, 6, 7], [0.5, 0.0, 0.8])
    rows = torch.arange(50)
    out, dh = gradients(lambda h: dropout(h, rows, stream.at(1), backend=backend), (h,))
    kept = out != 0
    scale = torch.tensor([2.0, 1.0, 5.0], dtype=dtype)[:, None, None]
    assert_close(out, kept * h * scale, 1e-6)
    assert torch.equal(dh != 0, kept)
    g = gradients(lambda h: h * 1.0, (h,))[1]  # the random weights that `gradients` uses
    assert_close(dh, kept * g * scale, 1e-6)
    assert kept[1].all()


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 + 1, 2**63 - 1, 2**80])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.999])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_drops_the_same_entries_as_the_reference(backend, rate, seed):
    for place, epoch in ((0, 0), (1, 1), (1, 1000), (0, 2**31)):
        where = {"place": place, "epoch": epoch, "columns": 33}
        found = mask(seed, rate, **where, backend=backend)
        assert torch.equal(found, mask(seed, rate, **where, backend="reference"))


@pytest.mark.parametrize("rate", [0.05, 0.25, 0.5, 0.8])
def test_the_share_of_dropped_entries_is_the_rate(rate):
    dropped = torch.cat([~mask(seed, rate, rows=500) for seed in range(4)]).double()  # 200,000
    deviation = (rate * (1 - rate) / dropped.numel()) ** 0.5
    assert abs(float(dropped.mean()) - rate) < 4 * deviation
    # By row and by column too: no row or column is favoured.
    for axis in (0, 1):
        means = dropped.mean(axis)
        expected = (rate * (1 - rate) / dropped.shape[axis]) ** 0.5
        assert float((means - rate).std()) == pytest.approx(expected, rel=0.2)


def test_rate_zero_keeps_everything():
    assert mask(3, 0.0).all()


VARIATIONS = {
    "seeds": [{"seed": s} for s in (0, 1, 2, 3, 2**32, 2**63 - 1)],
    "places": [{"seed": 0, "place": p} for p in range(5)],
    "epochs": [{"seed": 0, "epoch": e} for e in (1, 2, 3, 4, 5, 100, 2**16, 2**20)],
    "seed and place": [{"seed": 0, "place": 1}, {"seed": 1, "place": 0}],
    "seed and epoch": [{"seed": 0, "epoch": 2}, {"seed": 1, "epoch": 1}, {"seed": 2, "epoch": 0}],
}


@pytest.mark.parametrize("what", VARIATIONS)
def test_other_seeds_places_and_epochs_give_unrelated_masks(what):
    masks = [mask(**choice) for choice in VARIATIONS[what]]
    for one, other in itertools.combinations(masks, 2):
        # 20,000 entries: the correlation of unrelated masks has deviation 0.007.
        assert abs(correlation(one, other)) < 0.03


def test_replicas_of_one_batch_have_unrelated_masks_and_their_own_alone():
    stream = Dropout([8, 9], [0.5, 0.5])
    stream.epoch += 1
    both = dropout(torch.ones(2, 200, 100), torch.arange(200), stream.at(0)) != 0
    assert abs(correlation(both[0], both[1])) < 0.03
    assert torch.equal(both[0], mask(8))
    assert torch.equal(both[1], mask(9))


@pytest.mark.parametrize("lag", [1, 2, 3, 16, 64])
def test_neighbouring_rows_columns_and_epochs_are_unrelated(lag):
    field = mask(0, rows=300, columns=300)
    later = mask(0, epoch=1 + lag, rows=300, columns=300)
    assert abs(correlation(field[lag:], field[:-lag])) < 0.02
    assert abs(correlation(field[:, lag:], field[:, :-lag])) < 0.02
    assert abs(correlation(field[lag:, lag:], field[:-lag, :-lag])) < 0.02
    # An epoch must not be the last one, moved on by a row or a column.
    assert abs(correlation(later[lag:], field[:-lag])) < 0.02
    assert abs(correlation(later[:, lag:], field[:, :-lag])) < 0.02


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_some_rows_drop_what_the_whole_drops(backend):
    stream, h = Dropout([4], [0.5]), torch.ones(1, 60, 9)
    chosen = torch.tensor([40, 3, 59, 0, 17])
    whole = dropout(h, torch.arange(60), stream.at(0), backend=backend)
    part = dropout(h[:, chosen], chosen, stream.at(0), backend=backend)
    assert torch.equal(part, whole[:, chosen])


def test_a_stream_at_a_place_follows_the_epoch():
    stream = Dropout([4], [0.5])
    place, h = stream.at(0), torch.ones(1, 50, 50)
    before = dropout(h, torch.arange(50), place)
    stream.epoch += 1
    assert not torch.equal(dropout(h, torch.arange(50), place), before)


def test_without_dropout_the_states_come_back():
    h = torch.randn(1, 3, 2)
    assert dropout(h, torch.arange(3), None) is h


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_strided_states_are_read_right(backend):
    stream = Dropout([4, 5], [0.5, 0.3])
    h = torch.randn(2, 30, 16, generator=torch.Generator().manual_seed(0))
    strided = h.transpose(1, 2).contiguous().transpose(1, 2)
    found = dropout(strided, torch.arange(30), stream.at(0), backend=backend)
    assert torch.equal(found, dropout(h, torch.arange(30), stream.at(0), backend=backend))


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_backward_pass_in_another_epoch_is_refused(backend):
    """It would drop other entries than the forward pass did."""
    h, stream = torch.ones(1, 5, 5, requires_grad=True), Dropout([0], [0.5])
    out = dropout(h, torch.arange(5), stream.at(0), backend=backend)
    stream.epoch += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_rate_out_of_range_is_refused(rate):
    with pytest.raises(InputError, match="`dropout` must be at least 0 and below 1"):
        Dropout([0], [rate])


def test_as_many_rates_as_seeds_are_needed():
    with pytest.raises(InputError, match="2 seeds but 1 dropout rates"):
        Dropout([0, 1], [0.5])


@pytest.mark.parametrize("shape", [(1, 5, 2), (2, 4, 2), (5, 2)])
def test_states_of_another_shape_are_refused(shape):
    with pytest.raises(InputError, match=r"`h` must have shape \[R, n, d\] for R = 2"):
        dropout(torch.zeros(shape), torch.arange(5), Dropout([0, 1], [0.5, 0.5]).at(0))
