"""A step of Adam: as torch.optim.Adam takes it, with a rate and a decay for each replica."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import adam_step
from properties import CPU_BACKENDS, assert_close, assert_same_bits

RATES, DECAYS = (0.01, 0.3, 0.002), (0.0, 0.05, 5e-4)
SHAPES = ((3, 20, 16), (3, 7), (3,))
STEPS = 25


def slope(p: Tensor, step: int) -> Tensor:
    """Some gradient that depends on the parameter and changes from step to step."""
    return torch.sin(3 * p + step)


def start(dtype: torch.dtype) -> list[Tensor]:
    source = torch.Generator().manual_seed(2)
    return [torch.randn(shape, generator=source).to(dtype) for shape in SHAPES]


def ours(parameters: list[Tensor], replicas: list[int], backend: str, steps: int = STEPS):
    """Parameters and moments after some steps of the given replicas, decay on the first two."""
    moving = [p[replicas].clone() for p in parameters]
    first, second = ([torch.zeros_like(p) for p in moving] for _ in range(2))
    rates = moving[0].new_tensor(RATES)[replicas]
    decay = moving[0].new_tensor(DECAYS)[replicas]
    decays = torch.stack([decay, decay, 0 * decay])
    for step in range(1, steps + 1):
        gradients = [slope(p, step) for p in moving]
        adam_step(
            moving, gradients, first, second, torch.tensor([step]), rates, decays, backend=backend
        )  # fmt: skip
    return moving, first, second


def theirs(parameters: list[Tensor], r: int) -> list[Tensor]:
    """Replica r by torch.optim.Adam."""
    moving = [p[r].clone().requires_grad_() for p in parameters]
    groups = [
        {"params": moving[:2], "weight_decay": DECAYS[r]},
        {"params": moving[2:], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.Adam(groups, lr=RATES[r])
    for step in range(1, STEPS + 1):
        for p in moving:
            p.grad = slope(p.detach(), step)
        optimiser.step()
    return [p.detach() for p in moving]


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_every_replica_moves_as_torchs_adam_moves_it(backend, dtype, tolerance):
    found, _, _ = ours(start(dtype), [0, 1, 2], backend)
    for r in range(3):
        for one, other in zip(found, theirs(start(torch.float64), r), strict=True):
            assert_close(one[r], other, tolerance)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_replica_in_a_batch_moves_as_alone_to_the_bit(backend):
    together = ours(start(torch.float32), [0, 1, 2], backend)
    for r in range(3):
        alone = ours(start(torch.float32), [r], backend)
        for several, single in zip(together, alone, strict=True):
            for one, other in zip(several, single, strict=True):
                assert_same_bits(one[r], other[0])


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_strided_gradient_is_read_right(backend):
    p, rates = torch.randn(1, 4, 6, dtype=torch.float64), torch.tensor([0.1], dtype=torch.float64)
    gradient = torch.randn(1, 6, 4, dtype=torch.float64).transpose(1, 2)
    moved = []
    for each in (gradient, gradient.contiguous()):
        q, m, v = p.clone(), torch.zeros_like(p), torch.zeros_like(p)
        adam_step([q], [each], [m], [v], torch.ones(1), rates, 0 * rates[None], backend=backend)
        moved.append(q)
    assert_same_bits(*moved)


def test_mixed_types_and_strided_parameters_are_refused():
    rates = torch.tensor([0.1])
    good, wide = torch.zeros(1, 2, 3), torch.zeros(1, 2, 3, dtype=torch.float64)
    strided = torch.zeros(1, 3, 2).transpose(1, 2)
    for p in (wide, strided):
        with pytest.raises(InputError, match=r"must be contiguous torch.float32 tensors"):
            adam_step([p], [good], [good], [good], torch.ones(1), rates, rates[None])
