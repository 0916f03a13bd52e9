"""Kept weights are copies of the live ones, replica by replica."""

from __future__ import annotations

import torch

from agnn.training._record import KeptWeights
from built_models import AGNN


def test_kept_weights_do_not_follow_the_live_ones():
    model = AGNN(5, 3, (0, 1, 2))
    kept = KeptWeights(model)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        for p in model.parameters():
            p += 1.0
    kept.keep(torch.tensor([False, True, False]))
    with torch.no_grad():
        for p in model.parameters():
            p += 10.0
    kept.keep(torch.tensor([False, False, False]))
    kept.restore()
    for name, p in model.named_parameters():
        assert torch.equal(p[0], start[name][0])
        assert torch.equal(p[1], start[name][1] + 1.0)
        assert torch.equal(p[2], start[name][2])


def test_restored_weights_can_be_trained_on_without_changing_what_is_kept():
    model = AGNN(5, 3)
    kept = KeptWeights(model)
    start = model.first.weight.detach().clone()
    with torch.no_grad():
        model.first.weight += 1.0
    kept.restore()
    with torch.no_grad():
        model.first.weight += 1.0
    kept.restore()
    assert torch.equal(model.first.weight, start)
