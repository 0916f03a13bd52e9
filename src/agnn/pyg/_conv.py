"""PyG's `AGNNConv` with this package's kernels under it."""

from typing import Any, Final, Optional

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.typing import Adj, OptTensor, PairTensor, Size, SparseTensor, torch_sparse
from torch_geometric.utils import add_self_loops, is_torch_sparse_tensor, remove_self_loops, softmax
from torch_geometric.utils.sparse import set_sparse_value

from agnn.errors import InputError
from agnn.kernels import cosine_attention
from agnn.pyg._edge_graphs import undirected_graph

_SHORTEST: Final = 1e-12  # as torch normalises: a shorter row is divided by this
_HOOKS: Final = tuple(
    f"_{stage}_forward_{when}hooks"
    for stage in ("propagate", "message", "aggregate", "edge_update")
    for when in ("pre_", "")
)
_STEPS: Final = ("message", "aggregate", "update", "edge_update")


class AGNNConv(MessagePassing):  # type: ignore[misc] # PyG has no types
    """x' = P x with P_i. = softmax over j in N(i) and i of beta cos(x_i, x_j) + log w_ij, Eq. (5).

    Constructor, `forward(x, edge_index)`, result, gradients and `state_dict` are those of
    `torch_geometric.nn.AGNNConv`; edge weights, bipartite graphs and the attention can be had
    besides. An undirected graph without repeated edges runs in the kernels; whatever else PyG takes
    runs by PyG's own messages.

    A zero row has cosine 0 with every row and passes no gradient through it; PyG's passes one of
    about 1e12.

    Args:
        requires_grad: whether beta is learned; if not, it stays at 1, saved but no parameter.
        add_self_loops: whether every node also attends to itself, once, whatever the edges say.
        **kwargs: as PyG's `MessagePassing` takes them.

    Shapes: x [n, d], or a pair [n_source, d] and [n_target, d]; edge_index [2, m] integers
    (senders, then receivers), or the transposed adjacency [n, n] as a sparse tensor; edge_weight
    [m]; beta [1]; output [n, d] or [n_target, d].
    """

    beta: Tensor

    def __init__(
        self, requires_grad: bool = True, add_self_loops: bool = True, **kwargs: Any
    ) -> None:
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.requires_grad = requires_grad
        self.add_self_loops = add_self_loops
        if requires_grad:
            self.beta = nn.Parameter(torch.ones(1))
        else:
            self.register_buffer("beta", torch.ones(1))

    def reset_parameters(self) -> None:
        """Put a learned beta back to 1."""
        super().reset_parameters()
        if self.requires_grad:
            nn.init.ones_(self.beta)

    def forward(
        self,
        x: Tensor | PairTensor,
        edge_index: Adj,
        edge_weight: OptTensor = None,
        size: Size = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """The new states [n, d].

        Edge weights are above 0; added self-loops have the weight 1. In a bipartite graph a target
        attends to its sources; self-loops are added as `GATConv` adds them, from source i to
        target i for as many as there are of both.

        With `return_attention_weights`, as PyG's `GATConv` gives them: (states, (edge_index,
        alpha)), the edges with the self-loops last and alpha [m + n] from sender to receiver;
        for a sparse adjacency its entries are the weights.
        """
        _check(x, edge_index, edge_weight)
        if isinstance(x, Tensor) and not return_attention_weights and self._is_plain(x, size):
            graph = undirected_graph(
                edge_index, x.shape[0], adds_loops=self.add_self_loops, edge_weight=edge_weight
            )
            if graph is not None:
                return cosine_attention(graph, x[None], self.beta.to(x.dtype))[0]
        if self.add_self_loops:
            edge_index, edge_weight = _with_loops(
                edge_index, edge_weight, self._loops(x, edge_index, size)
            )
        log_weight = None if edge_weight is None else edge_weight.log()
        pair = (x, x) if isinstance(x, Tensor) else x
        unit = _unit_rows(pair[0])
        units = (unit, unit if pair[1] is pair[0] else _unit_rows(pair[1]))
        # edge_updater_type: (unit: PairTensor, log_weight: OptTensor)
        alpha = self.edge_updater(edge_index, size=size, unit=units, log_weight=log_weight)
        # propagate_type: (x: PairTensor, alpha: Tensor)
        out = self.propagate(edge_index, size=size, x=pair, alpha=alpha)
        return (out, _with_attention(edge_index, alpha)) if return_attention_weights else out

    def edge_update(
        self,
        unit_i: Tensor,
        unit_j: Tensor,
        log_weight: OptTensor,
        index: Tensor,
        ptr: OptTensor,
        dim_size: Optional[int],  # noqa: UP045 (PyG reads this and knows no other form)
    ) -> Tensor:
        """P_ij of every edge; [m]."""
        score = self.beta * (unit_i * unit_j).sum(-1)
        if log_weight is not None:
            score = score + log_weight
        alpha: Tensor = softmax(score, index, ptr, dim_size)
        return alpha

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        """P_ij x_j of every edge; [m, d]. PyG's explainers find the attention here, by its name."""
        return alpha[:, None] * x_j

    def _loops(self, x: Tensor | PairTensor, edge_index: Adj, size: Size) -> int:
        """How many nodes get a self-loop."""
        if isinstance(x, Tensor):
            return x.shape[self.node_dim]
        if not isinstance(edge_index, Tensor) or is_torch_sparse_tensor(edge_index):
            raise InputError(
                "self-loops of a bipartite graph need its edges as `edge_index` [2, m]; give them "
                "in that form, or set `add_self_loops=False`."
            )
        counts = size if size is not None else [states.shape[self.node_dim] for states in x]
        return int(min(counts))

    def _is_plain(self, x: Tensor, size: Size) -> bool:
        """Whether only the states are wanted, in a form that the kernels read."""
        return (
            size is None
            and x.ndim == 2
            and x.numel() > 0
            and x.dtype in (torch.float32, torch.float64)
            and torch.promote_types(x.dtype, self.beta.dtype) == x.dtype
            and x.device.type in ("cpu", "cuda")
            and x.device == self.beta.device
            and self.aggr in ("add", "sum")
            and self.node_dim in (-2, 0)
            and self.decomposed_layers == 1
            and not self.explain
            and not any(getattr(self, hooks) for hooks in _HOOKS)
            and not any(step in vars(self) for step in _STEPS)
            and type(self) is AGNNConv  # what others make of it, only their messages say
            and not torch.compiler.is_compiling()
            and not torch._C._is_tracing()
        )


def _check(x: Any, edge_index: Any, edge_weight: Any) -> None:
    """Raise for inputs that do not fit together; weights are looked at outside of compilation."""
    if not isinstance(x, Tensor) and (len(x) != 2 or x[1] is None or x[0] is None):
        raise InputError("a bipartite `x` is a pair (x_source, x_target); both are needed.")
    if not isinstance(x, Tensor) and x[0].shape[-1] != x[1].shape[-1]:
        raise InputError(
            f"sources and targets are compared by their cosine, so they need states of one width; "
            f"got {x[0].shape[-1]} and {x[1].shape[-1]}."
        )
    if edge_weight is None:
        return
    if not isinstance(edge_index, Tensor) or is_torch_sparse_tensor(edge_index):
        raise InputError("`edge_weight` goes with `edge_index` [2, m], not a sparse adjacency.")
    if edge_weight.shape != edge_index.shape[1:]:
        raise InputError(
            f"`edge_weight` must hold one number per edge, shape [{edge_index.shape[1]}]; got "
            f"{list(edge_weight.shape)}."
        )
    is_traced = torch.compiler.is_compiling() or torch._C._is_tracing()
    if not is_traced and not bool(((edge_weight > 0) & (edge_weight < torch.inf)).all()):
        raise InputError("`edge_weight` must hold finite numbers above 0.")


def _unit_rows(x: Tensor) -> Tensor:
    """`x` [..., d] with rows of length 1; a zero row stays zero and passes no gradient.

    Short floats, as autocast makes them, are compared in single precision.
    """
    x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    # Divided by infinity, a row of zeros is still zeros, and so is its gradient.
    return x / torch.where(length > 0, length.clamp_min(_SHORTEST), torch.inf)


def _with_loops(edges: Any, weights: OptTensor, nodes: int) -> tuple[Any, OptTensor]:
    """The edges with one self-loop at every node, whatever loops there are, as PyG adds them."""
    if isinstance(edges, SparseTensor):
        return torch_sparse.set_diag(edges), None
    edges, weights = remove_self_loops(edges, weights)
    with_loops: tuple[Any, OptTensor] = add_self_loops(
        edges, weights, fill_value=1.0, num_nodes=nodes
    )
    return with_loops


def _with_attention(edges: Any, alpha: Tensor) -> Any:
    """The edges with their attention in the form in which PyG's attention layers give it."""
    if isinstance(edges, SparseTensor):
        return edges.set_value(alpha, layout="coo")
    return (set_sparse_value(edges, alpha) if is_torch_sparse_tensor(edges) else edges), alpha
