"""How many numbers a training step of a network holds, counted on tiny graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from agnn.graph import Graph, View, features_of
from agnn.kernels import Dropout
from agnn.networks._model import VersionedModel
from agnn.training import StepNumbers

if TYPE_CHECKING:
    from agnn.networks._network import NetworkMethod

_FLOAT: Final = 4  # bytes
_FEW: Final = 6  # nodes of the smaller graph
_WIDTH: Final = 8  # of the narrower features
_TRIES: Final = 10  # until as many tensors are counted on every graph


@lru_cache(maxsize=256)
def count_step(network: NetworkMethod, features: int, classes: int) -> StepNumbers:
    """Return what a step of one replica holds for an input of so many `features`.

    Every tensor's size is linear in the nodes and in the edges, and what it has per node linear in
    the features. So the sizes on graphs of one size and of twice that size tell them.
    """
    for _ in range(_TRIES):
        counts = [_sizes(network, width, classes) for width in (_WIDTH, 2 * _WIDTH)]
        if len({len(tensors) for sizes in counts for tensors in sizes.values()}) == 1:
            break
    narrow, wide = _align(*counts)
    per_edge = (narrow["double"] - narrow["sparse"]) / (4 * _FEW)
    per_node = (narrow["sparse"] - narrow["small"]) / _FEW
    per_feature = ((wide["sparse"] - wide["small"]) / _FEW - per_node) / _WIDTH
    per_node = per_node + (features - _WIDTH) * per_feature
    of_one, of_two = (
        sum(parameter.numel() for parameter in network.build(width, classes).parameters())
        for width in (1, 2)
    )
    return StepNumbers(
        per_node=int(per_node.sum()) + 1,
        per_edge=int(per_edge.sum()) + 1,
        largest_per_node=int(per_node.max(initial=0.0)) + 1,
        largest_per_edge=int(per_edge.max(initial=0.0)),
        parameters=of_one + (features - 1) * (of_two - of_one),
        versions=network.versions_per_step,
    )


def _align(*counts: Mapping[str, Sequence[int]]) -> list[dict[str, NDArray[np.float64]]]:
    """Return the numbers that every tensor holds, one place for each tensor in all lists."""
    lengths = {len(tensors) for sizes in counts for tensors in sizes.values()}
    most = max(lengths)

    def numbers(tensors: Sequence[int]) -> NDArray[np.float64]:
        if len(lengths) > 1:
            # Another thread held what a pass had done with, as a profiler that looks at its frames
            # does, and again in every try: pair the tensors by size, some with nothing.
            tensors = [*[0] * (most - len(tensors)), *sorted(tensors)]
        return np.array(tensors) / _FLOAT

    return [{name: numbers(tensors) for name, tensors in sizes.items()} for sizes in counts]


def _sizes(network: NetworkMethod, width: int, classes: int) -> Mapping[str, Sequence[int]]:
    """Return the bytes of the tensors that a step holds, on graphs by name."""
    graphs = {
        "small": _ring(_FEW, 2),
        "sparse": _ring(2 * _FEW, 1),  # as many edges, twice the nodes
        "double": _ring(2 * _FEW, 2),  # twice the edges
    }
    return {name: _held_bytes(network, graph, width, classes) for name, graph in graphs.items()}


def _ring(nodes: int, reach: int) -> Graph:
    """Return a ring whose nodes are joined to the next `reach` nodes in both directions."""
    receivers = np.repeat(np.arange(nodes), reach)
    senders = (receivers + np.tile(np.arange(1, reach + 1), nodes)) % nodes
    return Graph.from_edges(np.stack([receivers, senders]), nodes=nodes)


def _held_bytes(network: NetworkMethod, graph: Graph, width: int, classes: int) -> list[int]:
    """Return the bytes of the tensors that are there after the forward pass of a step."""
    from scipy.sparse import csr_array

    # The definitions of the kernels keep what their fast forms keep, and nothing is compiled.
    model = network.build(width, classes, backend="reference")
    rows = np.arange(graph.nodes)
    # One entry per node, whatever the width: the input itself is counted elsewhere.
    entries = csr_array((np.ones(rows.size, np.float32), (rows, rows % width)), (rows.size, width))
    features = features_of(entries)
    view = View.whole(features, graph, model.hops)
    dropout = Dropout((0,), (0.5,), graph.device)
    extra_loss = network.extra_loss(model, features, graph, (0,))
    with torch.enable_grad(), _Allocations() as allocations:
        if network.versions_per_step > 1 and isinstance(model, VersionedModel):
            held = [model.version_logits(view, dropout, network.versions_per_step)]
        else:
            held = [model(view, dropout)]
        if extra_loss is not None:
            held.append(extra_loss(dropout))
    sizes: list[int] = allocations.sizes()
    del held  # until here, with all that it refers to
    return sizes


class _Allocations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The memory that torch's operations allocate while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # By the address of torch's own object: a Python object for it may come and go.
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and remember the memory of its results."""
        results = func(*args, **(kwargs or {}))
        for result in tree_leaves(results):
            if isinstance(result, Tensor):
                storage = result.untyped_storage()
                reference = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
                self._made.setdefault(reference.cdata, (reference, storage.nbytes()))
        return results

    def sizes(self) -> list[int]:
        """Return the bytes of what is still there, in the order of its making."""
        alive = (not ref.expired() for ref, _ in self._made.values())  # type: ignore[no-untyped-call]
        return [
            size for (_, size), is_alive in zip(self._made.values(), alive, strict=True) if is_alive
        ]
