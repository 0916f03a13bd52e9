"""Operations one after the other as a single node of torch's graph.

torch spends some 50 microseconds on every node it differentiates, more than a small layer takes.
So an operation is a link, with its own forward and backward, and a model is a chain of links: one
node, however many there are. A single operation is a chain of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Block, Graph

if TYPE_CHECKING:
    from agnn.kernels._cosine_attention import CosineAttentionLink
    from agnn.kernels._dense_linear import DenseLinearLink
    from agnn.kernels._links import FirstLayerLink
    from agnn.kernels._propagate import PropagateLink
    from agnn.kernels._weighted_sum import WeightedSumLink


class Attention(NamedTuple):
    """P^(t) of some receivers: the weights of their neighbours and of themselves."""

    edges: Tensor  # [R, m'] P[i, j] for the stored edges of the receivers, in stored order
    loops: Tensor  # [R, rows] P[i, i]


class FirstStates(NamedTuple):
    """A map of the features: Z = X W + b, a leaf of torch's graph."""

    states: Tensor  # Z [R, n, d]
    weight: Tensor  # W [R, d_x, d]
    bias: Tensor | None  # b [R, d]


@dataclass(frozen=True, eq=False)
class HeldPass:
    """What a forward pass with held attention and gates left behind."""

    first: list[FirstStates] = field(default_factory=list)
    hops: list[Attention] = field(default_factory=list)  # of the links over edges, in order


_current: ContextVar[HeldPass | None] = ContextVar("agnn_held_pass", default=None)


def held_pass() -> HeldPass | None:
    """Return the pass that is going on, or None outside of `holding()`."""
    return _current.get()


@contextmanager
def holding() -> Iterator[HeldPass]:
    """Hold attention and gates in all operations of the block, to take a network apart.

    An operation whose weights depend on its input applies them as constants, and a gate is the
    constant factor by which it scales each unit. The output is that of the ordinary pass. It is
    affine in the output of the first layer, Z = X W0 + b0, so its gradient G at Z says how much of
    every unit arrives: node j adds <G_j, Z_j>, and what is left is the constant.

    >>> z = torch.tensor([-1.0, 2.0], requires_grad=True)
    >>> with holding():
    ...     hold_gate(z, torch.nn.functional.elu(z)).sum().backward()
    >>> z.grad.tolist()  # ELU(z) / z, which is not ELU's slope
    [0.6321205496788025, 1.0]
    """
    started = HeldPass()
    token = _current.set(started)
    try:
        yield started
    finally:
        _current.reset(token)


def is_holding() -> bool:
    """Return whether attention and gates are held."""
    return _current.get() is not None


def hold_gate(before: Tensor, after: Tensor) -> Tensor:
    """Return `after`; inside `holding()` as `before` times constants.

    Where `before` is 0 the factor is 1: the product is 0 whatever it is.
    """
    if _current.get() is None:
        return after
    factors = torch.where(before == 0, 1.0, after / before)
    return before * factors.detach()


# How a link runs where states have type bfloat16: on them, as a layer in float32 there and back,
# or not at all.
Bf16: TypeAlias = Literal["states", "linear", "no"]


class Link(ABC):
    """An operation with its parameters, for one call.

    `forward` leaves the tensors that `backward` reads in `saved`. The chain hands them to torch's
    node and puts them back for the backward pass, so torch frees them as it does for its own
    operations. A link must not keep its output anywhere else: the output refers to the node, the
    node to the link, and only the garbage collector could free such a cycle.
    """

    parameters: tuple[Tensor, ...] = ()
    # Tensors that must not change before the backward pass, besides the parameters.
    watched: tuple[Tensor, ...] = ()
    saved: tuple[Tensor, ...] = ()
    kept: Any = None  # what else a backend's `backward` reads
    # Whether a later link of the chain reads what this one has saved.
    is_read_later: ClassVar[bool] = False
    # Whether it reads the rows of neighbours, and whether its weights for them are learned shares.
    is_over_edges: ClassVar[bool] = False
    is_attention: bool = False
    # Whether it scales every unit by a factor that depends on the input.
    is_gate: ClassVar[bool] = False
    # Whether it propagates groups of units by weights of their own.
    has_heads: bool = False
    # How much of the first link's state it adds, beside its sum over neighbours.
    restart: float = 0.0
    # A sentence for a reader of its weights, and why there are none that say what reached a node.
    note: str | None = None
    unexplained: ClassVar[str | None] = None
    # Whether a row of its output depends on the same row of its input alone, and on no parameters:
    # it then runs on a part of a graph as it is.
    is_by_row: ClassVar[bool] = False
    bf16: ClassVar[Bf16] = "no"

    @property
    def title(self) -> str:
        """What messages call it."""
        return type(self).__name__.removesuffix("Link").lstrip("_")

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """The output for the input `x`; a first link that reads no input ignores it."""

    @abstractmethod
    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the input (a first link gives any) and at the parameters."""

    def overwrite(self, x: Tensor) -> Tensor:
        """The output of `forward`, bit for bit, where nothing else reads `x`.

        It may be written over the input, which saves the memory of a state.
        """
        return self.forward(x)

    def on_block(self, block: Block) -> Link:
        """Return its form on sampled neighbourhoods, where every layer has a graph of its own."""
        if not self.is_over_edges:
            return self
        raise InputError(f"{self.title} has no form for sampled neighbourhoods.")

    def on_part(self, forms: PartForms) -> Link:
        """Return its form on a rank's part of a graph; raises for a link without one."""
        if self.is_by_row:
            return self
        raise InputError(
            f"the rows of this network cannot be divided among ranks: its link {self.title} has "
            f"no form for a part of a graph. Its replicas can be divided (--divide replicas)."
        )

    def alone(self, x: Tensor) -> Tensor:
        """The output as a node of torch's graph by itself, for a chain with a `TorchLink`."""
        result: Tensor = _Chain.apply([self], x, *self.parameters)  # type: ignore[no-untyped-call]
        return result

    def hold(self, x: Tensor) -> Tensor:
        """The output inside `holding()`, affine in `x`.

        As it is for a link that is linear in its input, or linear by pieces as ReLU is.
        """
        return self.alone(x)


class TorchLink(Link):
    """Plain torch operations on the states as a link: `forward` is differentiated by torch.

    A chain that has one runs link by link, so `forward` may read the state of an `Anchor`.
    """

    def __init__(self, function: Callable[[Tensor], Tensor], title: str) -> None:
        self.function = function
        self._title = title

    @property
    def title(self) -> str:
        """What messages call it."""
        return getattr(self, "_title", super().title)

    def forward(self, x: Tensor) -> Tensor:
        """The output by torch's operations and the kernels."""
        return self.function(x)

    def weights(self, x: Tensor) -> Sequence[Attention]:
        """The weights by which it sums over neighbours, [R, m'] or by head; of every sum in turn.

        For a link over edges whose weights explanations show.
        """
        return ()

    def alone(self, x: Tensor) -> Tensor:
        """The output."""
        return self.forward(x)

    def hold(self, x: Tensor) -> Tensor:
        """The output by operations that hold their weights and gates, which are recorded."""
        current = held_pass()
        if current is None:
            return self.forward(x)
        hops = len(current.hops)
        out = self.forward(x)
        known_maps = len(current.first)
        with torch.no_grad():
            current.hops[hops:] = self.weights(x)
        del current.first[known_maps:]  # the same maps once more
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Not called: torch differentiates the operations one by one."""
        raise NotImplementedError


class PartForms(Protocol):
    """The forms that links have on one rank's part of a graph; they compute its own rows.

    Those that read neighbours exchange the states of other ranks' rows.
    """

    def first_layer(self, link: FirstLayerLink) -> Link:
        """Return a first layer."""

    def linear(self, link: DenseLinearLink) -> Link:
        """Return a linear layer."""

    def attention(self, link: CosineAttentionLink) -> Link:
        """Return attention by cosine."""

    def propagation(self, link: PropagateLink) -> Link:
        """Return propagation by the symmetric matrix of GCN."""

    def weighted_sum(self, link: WeightedSumLink) -> Link:
        """Return the sum by given weights of each replica, without heads."""


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, links: Sequence[Link], source: Tensor, *parameters: Tensor) -> Tensor:
        x = source
        for link in links:
            x = link.forward(x)
        # torch remembers the versions of all these: a change in place before the backward pass is
        # an error.
        kept = [tensor for link in links for tensor in link.saved]
        watched = [tensor for link in links for tensor in link.watched]
        ctx.save_for_backward(*kept, source, *parameters, *watched)
        ctx.links = links
        ctx.counts = [len(link.saved) for link in links]
        for link in links:
            link.saved = ()
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise InputError("the kernels are differentiable once; `create_graph` asks for twice.")
        slope = gradients[0]
        of_parameters: list[Tensor] = []
        end = sum(ctx.counts)
        saved = ctx.saved_tensors
        for link, count in zip(reversed(ctx.links), reversed(ctx.counts), strict=True):
            link.saved = saved[end - count : end]
            end -= count
            slope, of_link = link.backward(slope)
            link.saved = ()
            of_parameters.extend(reversed(of_link))
        return None, slope if ctx.needs_input_grad[1] else None, *reversed(of_parameters)


def run_chain(links: Sequence[Link], source: Tensor) -> Tensor:
    """The output of the last link, differentiable, once, in `source` and all parameters.

    Where torch records no gradients, a state is freed as soon as no link reads it any more.
    Inside `holding()` every link holds its weights or gates. A chain with a `TorchLink` has a node
    for every link.
    """
    if held_pass() is not None:
        state = source
        for link in links:
            state = link.hold(state)
        return state
    if any(isinstance(link, TorchLink) for link in links):
        state = source
        for link in links:
            state = link.alone(state)
        return state
    if not torch.is_grad_enabled():
        return _output(links, source)
    parameters = [parameter for link in links for parameter in link.parameters]
    result: Tensor = _Chain.apply(links, source, *parameters)  # type: ignore[no-untyped-call]
    return result


def _output(links: Sequence[Link], source: Tensor) -> Tensor:
    """The output of the last link, without anything that a backward pass would read."""
    x = source
    held = {_memory(source)}
    for link in links:
        x = link.forward(x) if _memory(x) in held else link.overwrite(x)
        link.kept = None
        if link.is_read_later:
            held |= {_memory(tensor) for tensor in link.saved}
        else:
            link.saved = ()
    for link in links:
        link.saved = ()
    return x


def _memory(x: Tensor) -> int:
    """What all views of the same numbers have in common."""
    return x.untyped_storage().data_ptr()


_STATES = (torch.float32, torch.float64, torch.bfloat16)


def parameter_type(dtype: torch.dtype) -> torch.dtype:
    """The type of what multiplies states of `dtype`: short states have single-precision ones."""
    return torch.float32 if dtype == torch.bfloat16 else dtype


def single(h: Tensor) -> Tensor:
    """States that are short on a CPU in single precision, which is computed in; others as given.

    The kernels of a GPU read short states as they are.
    """
    return h.float() if h.dtype == torch.bfloat16 and h.device.type == "cpu" else h


def check_rows(
    graph: Graph, h: Tensor, rows: int | None, *, takes_short_on_cpu: bool = False
) -> int:
    """The number of rows to compute, after a look at the states and the graph."""
    if h.ndim != 3:
        raise InputError(f"`h` must have shape [R, n, d]; got {list(h.shape)}.")
    if h.dtype not in _STATES:
        raise InputError(f"`h` must be float32, float64 or bfloat16; got {h.dtype}.")
    if h.dtype == torch.bfloat16 and h.device.type == "cpu" and not takes_short_on_cpu:
        raise InputError("`h` is bfloat16, which is for a GPU; use float32 on the CPU.")
    if h.device != graph.device:
        raise InputError(f"`h` is on {h.device}, the graph on {graph.device}.")
    n = h.shape[1]
    if n > graph.nodes:
        raise InputError(f"`h` has {n} rows, but the graph has {graph.nodes} nodes.")
    count = n if rows is None else rows
    if not 0 < count <= n:
        raise InputError(f"`rows` must be between 1 and {n}; got {count}.")
    # Reading a row that is not there would be silent in compiled code.
    if n < graph.nodes and graph.reach(count) > n:
        raise InputError(
            f"the first {count} rows have neighbours beyond the {n} rows of `h`; give `h` for "
            f"the whole neighbourhood."
        )
    return count


# Heads that share a vector of 16 lanes evenly.
HEADS = (1, 2, 4, 8, 16)


def check_heads(h: Tensor, heads: int) -> None:
    """Whether the columns of `h` [R, n, d K] can belong to K = `heads` heads."""
    if heads not in HEADS:
        raise InputError(f"`heads` must be one of {', '.join(map(str, HEADS))}; got {heads}.")
    if h.shape[-1] % heads:
        raise InputError(f"`h` has {h.shape[-1]} columns, which {heads} heads cannot share.")
