"""Links that need no kernels of their own, and what the first layers of all features share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Features, SparseFeatures
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Bf16, FirstStates, Link, PartForms, held_pass, hold_gate, run_chain
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._runtime.memory import buffer_like, contiguous_copy


class ReLU(Link):
    """max(x, 0), entry by entry."""

    is_by_row: ClassVar[bool] = True
    bf16: ClassVar[Bf16] = "states"

    is_gate: ClassVar[bool] = True

    def forward(self, x: Tensor) -> Tensor:
        """The output; kept for its signs."""
        out = torch.clamp_min(x, 0.0, out=buffer_like(x))
        self.saved = (out,)
        return out

    def overwrite(self, x: Tensor) -> Tensor:
        """The output in the place of the input."""
        return x.relu_()

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient where the output is positive."""
        (out,) = self.saved
        operation = torch.ops.aten.threshold_backward
        if (buffer := buffer_like(gradient)) is None:
            return operation(gradient, out, 0.0), ()
        return operation.grad_input(gradient, out, 0.0, grad_input=buffer), ()


class ELU(Link):
    """x where it is positive, e^x - 1 elsewhere, entry by entry."""

    is_by_row: ClassVar[bool] = True

    is_gate: ClassVar[bool] = True

    def hold(self, x: Tensor) -> Tensor:
        """The input times ELU(x) / x."""
        return hold_gate(x, torch.nn.functional.elu(x))

    def forward(self, x: Tensor) -> Tensor:
        """The output; it alone gives the slope."""
        out = torch.nn.functional.elu(x)
        self.saved = (out,)
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient times 1 where the output is positive, times output + 1 elsewhere."""
        (out,) = self.saved
        return gradient * torch.where(out > 0, 1.0, out + 1.0), ()


def heads_of(h: Tensor, heads: int) -> Tensor:
    """Columns [..., d K] as [..., d, K]: column f K + k is feature f of head k."""
    return h.reshape(*h.shape[:-1], -1, heads)


class HeadMean(Link):
    """The mean over the heads: [R, n, d K] to [R, n, d], column f K + k being head k's."""

    is_by_row: ClassVar[bool] = True

    def __init__(self, heads: int) -> None:
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        """The mean; a single head as it is."""
        return x if self.heads == 1 else heads_of(x, self.heads).mean(-1)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """An equal share for every head."""
        if self.heads == 1:
            return gradient, ()
        return gradient.repeat_interleave(self.heads, dim=-1) / self.heads, ()


class Anchor(Link):
    """Passes its input on and remembers it for the links that come back to it.

    Backward passes run from the end, so all of those have left their gradients here before the
    anchor's own turn comes.
    """

    is_by_row: ClassVar[bool] = True

    is_read_later: ClassVar[bool] = True

    def forward(self, x: Tensor) -> Tensor:
        """The input itself."""
        self.saved = (x,)  # read by the blends of the same forward pass
        self.shape = x.shape
        self.returned: Tensor | None = None
        return x

    def alone(self, x: Tensor) -> Tensor:
        """The input itself; torch adds up the gradients."""
        self.state = x
        return x

    def leave(self, gradient: Tensor, share: float) -> None:
        """Add this share of a gradient [R, rows, d] at the first rows of the remembered state."""
        if self.returned is None:
            self.returned = gradient.new_zeros(self.shape)
        self.returned[:, : gradient.shape[1]].add_(gradient, alpha=share)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient of what follows, with what was left here; a second pass starts afresh."""
        returned = self.returned
        self.returned = None
        return gradient if returned is None else gradient + returned, ()


class Blend(Link):
    """share x + (1 - share) h for the state h of an anchor, at the rows of x."""

    is_by_row: ClassVar[bool] = True

    def __init__(self, anchor: Anchor, share: float) -> None:
        self.anchor = anchor
        self.share = share

    def alone(self, x: Tensor) -> Tensor:
        """The blend by torch."""
        return torch.lerp(self.anchor.state[:, : x.shape[1]], x, self.share)

    def forward(self, x: Tensor) -> Tensor:
        """The blend [R, rows, d]."""
        return torch.lerp(self.anchor.saved[0][:, : x.shape[1]], x, self.share, out=buffer_like(x))

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Its share of the gradient; the rest goes to the anchor."""
        self.anchor.leave(gradient, 1.0 - self.share)
        return torch.mul(gradient, self.share, out=buffer_like(gradient)), ()


class Bias(Link):
    """x + b, the same for every row."""

    def __init__(self, bias: Tensor) -> None:
        self.parameters = (bias,)  # [R, d]

    def forward(self, x: Tensor) -> Tensor:
        """The sums [R, n, d]."""
        return x + self.parameters[0][:, None]

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient, and its sum over the rows."""
        return gradient, (gradient.sum(1),)


class Cast(Link):
    """The same numbers in another type, and the gradient in the former one."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def forward(self, x: Tensor) -> Tensor:
        """The states, rounded where the type is shorter."""
        self.former = x.dtype
        return x.to(self.dtype)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient, likewise."""
        return gradient.to(self.former), ()


class RowCopies(Link):
    """Some rows a second time, at the end: [R, n, d] to [R, n + c, d].

    A row that both receives and sends on a graph whose edges have one direction stands there as
    two nodes.
    """

    bf16: ClassVar[Bf16] = "states"

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows  # [c] int64, all different

    def forward(self, x: Tensor) -> Tensor:
        """The states, then those of the rows."""
        return torch.cat([x, x.index_select(1, self.rows)], 1)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at both places of a row, added."""
        n = gradient.shape[1] - self.rows.numel()
        total = gradient[:, :n].clone(memory_format=torch.contiguous_format)
        # Every row stands at most once in `rows`: no order of additions to depend on.
        return total.index_add_(1, self.rows, gradient[:, n:]), ()


class HopState(Link):
    """Passes its input on and remembers it for a `HopMean` later in the chain."""

    is_by_row: ClassVar[bool] = True

    is_read_later: ClassVar[bool] = True
    share: Tensor  # of the mean's gradient; there from the mean's backward pass to its own

    def forward(self, x: Tensor) -> Tensor:
        """The input itself."""
        self.saved = (x,)
        return x

    def alone(self, x: Tensor) -> Tensor:
        """The input itself; torch adds up the gradients."""
        self.state = x
        return x

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient of what follows, with the share that the mean has left here."""
        gradient[:, : self.share.shape[1]] += self.share
        del self.share
        return gradient, ()


class HopMean(Link):
    """The mean of the input and of earlier states, at the first `rows` rows.

    Each state is followed by a link whose gradient at its input is a new tensor.
    """

    is_by_row: ClassVar[bool] = True

    def __init__(self, states: Sequence[HopState], rows: int) -> None:
        self.states = tuple(states)
        self.rows = rows

    def forward(self, x: Tensor) -> Tensor:
        """The mean [R, rows, d]."""
        itself = x[:, : self.rows]
        total = contiguous_copy(itself)
        for state in self.states:
            total += state.saved[0][:, : self.rows]
        return total.mul_(1.0 / (len(self.states) + 1))

    def alone(self, x: Tensor) -> Tensor:
        """The mean by torch."""
        states = [state.state[:, : self.rows] for state in self.states]
        return torch.stack([x[:, : self.rows], *states]).mean(0)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """An equal share for the input and for every state."""
        part = 1.0 / (len(self.states) + 1)
        share = torch.mul(gradient, part, out=buffer_like(gradient))
        for state in self.states:
            state.share = share
        return share, ()


class _Backend(Protocol):
    def forward(
        self, x: Any, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
    ) -> Tensor: ...

    def backward(
        self, x: Any, gradient: Tensor, drop: DropoutAt | None
    ) -> tuple[Tensor, Tensor]: ...


class FirstLayerLink(Link):
    """`feature_linear` as the start of a chain: reads the features and no input."""

    bf16: ClassVar[Bf16] = "linear"

    def __init__(
        self,
        x: Features,
        weight: Tensor,
        bias: Tensor | None,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        _check_first_layer(x, weight, bias, drop)
        operation = "sparse_linear" if isinstance(x, SparseFeatures) else "shared_linear"
        self.x = x
        self.weight = weight
        self.bias = bias
        self.drop = drop
        self.backend: _Backend = implementation(operation, backend, weight.device.type)
        self.parameters = (weight,) if bias is None else (weight, bias)
        # In another epoch the backward pass would draw other numbers.
        self.watched = () if drop is None else (drop.epoch,)

    def forward(self, x: Tensor) -> Tensor:
        """States [R, n, d]."""
        return self.backend.forward(self.x, self.weight, self.bias, self.drop)

    def on_part(self, forms: PartForms) -> Link:
        """Return the layer on the own rows."""
        return forms.first_layer(self)

    def hold(self, x: Tensor) -> Tensor:
        """The states as a leaf of torch's graph, recorded: what the pass is affine in."""
        with torch.no_grad():
            states = self.forward(x)
        states.requires_grad_(torch.is_grad_enabled())
        if (current := held_pass()) is not None:
            current.first.append(FirstStates(states, self.weight.detach(), self.bias))
        return states

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the weight and at the bias."""
        dweight, dbias = self.backend.backward(self.x, gradient, self.drop)
        return gradient, (dweight,) if self.bias is None else (dweight, dbias)


def feature_linear(
    x: Features,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(X) W + b, Eq. (4) of the paper before its ReLU.

    Of sparse features only the stored entries are drawn and dropped: the others are zero either
    way. Dense features of a shorter type than the weight's are widened on the way.

    Args:
        x: features [n, d_x], shared by all replicas.
        weight: W [R, d_x, d].
        bias: b [R, d], or None.
        drop: the dropout of this place, or None for none.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        States [R, n, d] of the weight's type, differentiable in `weight` and `bias`.
    """
    return run_chain([FirstLayerLink(x, weight, bias, drop, backend)], x.values)


def _check_first_layer(
    x: Features, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> None:
    """Raise unless the parameters of a first layer fit the features and one another."""
    features = x.width
    if isinstance(x, SparseFeatures) and weight.dtype != x.dtype:
        raise InputError(f"`weight` is {weight.dtype}, the features are {x.dtype}.")
    if weight.ndim != 3 or weight.shape[1] != features:
        raise InputError(
            f"`weight` must have shape [R, {features}, d] for {features} features; got "
            f"{list(weight.shape)}."
        )
    if bias is not None and bias.shape != (weight.shape[0], weight.shape[2]):
        raise InputError(f"`bias` must have shape [R, d]; got {list(bias.shape)}.")
    if drop is not None and drop.keys.shape[0] != weight.shape[0]:
        raise InputError(f"{drop.keys.shape[0]} dropout streams for {weight.shape[0]} replicas.")
