"""The layers' formulas in ONNX, for states [n, R, d]: nodes first, then replicas.

ONNX has no sum over groups of rows that is safe. `ScatterND` and `ScatterElements` with a
reduction leave the order of their additions open, and onnxruntime's `ScatterND` loses some of
them when several threads write to one row. So nodes are put into groups by degree and each
group's neighbours are laid out in a padded rectangle [k, w]. All sums then run along an axis of an
array: one thread per result, always in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import Scaling
from agnn.errors import import_extra


def onnx_package() -> Any:
    """The module `onnx`, or an error that says how to install it."""
    return import_extra("onnx", "models are exported with it", "agnn[onnx]")


class Draft:
    """The operations and constants so far. Every method returns the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """The result of one ONNX operation."""
        name = output or f"{kind}_{len(self.nodes)}"
        make = onnx_package().helper.make_node
        self.nodes.append(make(kind, list(inputs), [name], name=name, **attributes))
        return name

    def sorted_values(self, values: str, count: str) -> str:
        """The lowest `count` [1] values in ascending order."""
        name = f"TopK_{len(self.nodes)}"
        make = onnx_package().helper.make_node
        ends = [name, f"{name}_places"]
        self.nodes.append(make("TopK", [values, count], ends, name=name, largest=0, sorted=1))
        return name

    def array(self, values: NDArray[Any]) -> str:
        """A constant array."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx_package().numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        """A float32 constant without axes."""
        return self.array(np.array(value, np.float32))

    def integer(self, value: int) -> str:
        """An int64 constant without axes."""
        return self.array(np.array(value, np.int64))

    def integers(self, *values: int) -> str:
        """An int64 constant [k]: axes, shapes."""
        return self.array(np.array(values, np.int64))

    def weights(self, tensor: Tensor) -> str:
        """A parameter of a model, in float32."""
        return self.array(tensor.detach().float().cpu().contiguous().numpy())

    def cast(self, values: str, kind: str) -> str:
        """The values in another type: FLOAT, DOUBLE, INT64."""
        return self.op("Cast", values, to=getattr(onnx_package().TensorProto, kind))


_SHORTEST: Final = 1e-12  # as torch normalises: a shorter row is divided by this
_LOWEST: Final = float(np.finfo(np.float32).min)
# The largest neighbourhood of each group but the last: a rectangle has at most four times as many
# places as there are neighbours.
_BOUNDS: Final = tuple(4**k for k in range(1, 11))


@dataclass(frozen=True)
class _Group:
    """Nodes with neighbourhoods of similar size, as the names of values in a draft.

    The last row is no node's: it keeps an empty group from having arrays of no numbers, which
    onnxruntime reduces to a wrong shape. Its results are never read.
    """

    nodes: str  # [k, 1]
    labels: str  # [k] the same, but n in the last row
    senders: str  # [k, w] the neighbours and the node itself in ascending order, then any node
    is_present: str  # [k, w, 1, 1] bool
    sizes: str  # [k] float32, of the neighbourhoods


class Neighbourhoods:
    """Every node's neighbours and the node itself, group by group."""

    def __init__(self, draft: Draft, features: str, edge_index: str) -> None:
        """Those of `edge_index` [2, m]; self-loops in it are ignored, each node gets one."""
        self.draft = draft
        count = draft.op("Shape", features, start=0, end=1)
        receivers, senders = _sorted_edges(draft, edge_index, draft.op("Squeeze", count))
        # Every node has an edge, its own: its row starts where the receiver changes.
        total = draft.op("Shape", receivers)
        zero = draft.integers(0)
        one = draft.integers(1)
        before = draft.op("Concat", draft.integers(-1), receivers, axis=0)
        before = draft.op("Slice", before, zero, total)
        is_start = draft.op("Not", draft.op("Equal", receivers, before))
        starts = draft.op("Squeeze", draft.op("NonZero", is_start), zero)  # [n]
        ends = draft.op("Concat", draft.op("Slice", starts, one, total), total, axis=0)
        rows = (starts, draft.op("Sub", ends, starts), count)
        last = draft.op("Sub", total, one)
        bounds = (0, *_BOUNDS, 2**62)
        self._groups = [
            self._group(rows, senders, last, above, most) for above, most in pairwise(bounds)
        ]
        self._places = self._inverse(count)

    def _group(
        self, rows: tuple[str, str, str], senders: str, last: str, above: int, most: int
    ) -> _Group:
        """The nodes whose neighbourhoods have more than `above` and at most `most` members."""
        (starts, sizes, count) = rows
        draft = self.draft
        column = self.draft.integers(1)
        zero = draft.integers(0)
        one = draft.integers(1)
        is_large = draft.op("Greater", sizes, draft.integer(above))
        is_small = draft.op("LessOrEqual", sizes, draft.integer(most))
        chosen = draft.op("Squeeze", draft.op("NonZero", draft.op("And", is_large, is_small)), zero)
        nodes = draft.op("Unsqueeze", draft.op("Concat", chosen, zero, axis=0), column)
        widths = draft.op("Concat", draft.op("Gather", sizes, chosen, axis=0), one, axis=0)
        widest = draft.op("ReduceMax", widths, zero, keepdims=0)
        across = draft.op("Range", draft.integer(0), widest, draft.integer(1))  # [w]
        first_edges = draft.op("Gather", starts, nodes, axis=0)  # [k, 1]
        positions = draft.op("Min", draft.op("Add", first_edges, across), last)  # [k, w]
        is_present = draft.op("Less", across, draft.op("Unsqueeze", widths, column))
        return _Group(
            nodes=nodes,
            labels=draft.op("Concat", chosen, count, axis=0),
            senders=draft.op("Gather", senders, positions, axis=0),
            is_present=draft.op("Unsqueeze", is_present, draft.integers(2, 3)),
            sizes=draft.cast(widths, "FLOAT"),
        )

    def _inverse(self, count: str) -> str:
        """The row of each node in the groups' rows one after the other; [n]."""
        draft = self.draft
        labels = draft.op("Concat", *(group.labels for group in self._groups), axis=0)
        size = draft.op("Shape", labels)
        rows = draft.op("Squeeze", size)
        row_numbers = draft.op("Range", draft.integer(0), rows, draft.integer(1))
        keys = draft.op("Add", draft.op("Mul", labels, rows), row_numbers)  # by node, then row
        return draft.op("Mod", draft.sorted_values(keys, count), rows)

    def each(self, of_group: Callable[[_Group], str]) -> str:
        """The values [k, ...] that `of_group` gives for every group, as [n, ...] by node."""
        parts = [of_group(group) for group in self._groups]
        together = self.draft.op("Concat", *parts, axis=0)
        return self.draft.op("Gather", together, self._places, axis=0)


def _sorted_edges(draft: Draft, edge_index: str, n: str) -> tuple[str, str]:
    """Receivers and senders with every node's self-loop, by receiver, then sender; [m + n]."""
    zero = draft.integer(0)
    one = draft.integer(1)
    loops = draft.op("Range", zero, n, one)
    i, j = (draft.op("Gather", edge_index, end, axis=0) for end in (zero, one))
    is_edge = draft.op("Not", draft.op("Equal", i, j))
    receivers, senders = (
        draft.op("Concat", draft.op("Compress", end, is_edge, axis=0), loops, axis=0)
        for end in (i, j)
    )
    keys = draft.op("Add", draft.op("Mul", receivers, n), senders)
    ordered = draft.sorted_values(keys, draft.op("Shape", keys))
    return draft.op("Div", ordered, n), draft.op("Mod", ordered, n)


def scaled_features(
    draft: Draft,
    features: str,
    scaling: Scaling,
    statistics: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> str:
    """The features as the first layer reads them, by the rules of `NodeData.scaled_features`.

    "sum" and "length" divide each row by its sum or its length, rows of zeros by 1. "standard"
    takes the columns' means and inverse deviations [d_x] of the training data from `statistics`.
    Computed in double precision, as there. Gives [n, d_x].
    """
    if scaling == "none":
        return features
    x = draft.cast(features, "DOUBLE")
    if statistics is not None:
        means, scales = (draft.array(values) for values in statistics)
        return draft.cast(draft.op("Mul", draft.op("Sub", x, means), scales), "FLOAT")
    kind = "ReduceSum" if scaling == "sum" else "ReduceL2"
    size = draft.op(kind, x, draft.integers(-1), keepdims=1)  # [n, 1]
    zero, one = (draft.array(np.array(number, np.float64)) for number in (0.0, 1.0))
    divisor = draft.op("Where", draft.op("Equal", size, zero), one, size)
    return draft.cast(draft.op("Div", x, divisor), "FLOAT")


def first_layer(draft: Draft, features: str, weight: Tensor, bias: Tensor | None) -> str:
    """X W + b, Eq. (4); features [n, d_x], weight [R, d_x, d], bias [R, d]; gives [n, R, d]."""
    replicas, inputs, width = weight.shape
    flat = draft.weights(weight.transpose(0, 1).reshape(inputs, replicas * width))
    product = draft.op("MatMul", features, flat)
    states = draft.op("Reshape", product, draft.integers(0, replicas, width))
    return states if bias is None else draft.op("Add", states, draft.weights(bias))


def last_layer(draft: Draft, states: str, weight: Tensor, bias: Tensor | None) -> str:
    """H W + b, Eq. (6); states [n, R, d], weight [R, d, c], bias [R, c]; gives [n, R, c]."""
    by_replica = draft.op("Transpose", states, perm=[1, 0, 2])
    product = draft.op("MatMul", by_replica, draft.weights(weight))
    outputs = draft.op("Transpose", product, perm=[1, 0, 2])
    return outputs if bias is None else draft.op("Add", outputs, draft.weights(bias))


def attention_layer(near: Neighbourhoods, states: str, beta: Tensor) -> str:
    """P H with P_i. = softmax over N(i) and i of beta cos(H_i, H_j), Eq. (5); beta [R]."""
    draft = near.draft
    last = near.draft.integers(-1)
    row = near.draft.integers(1)
    length = draft.op("ReduceL2", states, last, keepdims=1)  # [n, R, 1]
    inverse = draft.op("Reciprocal", draft.op("Max", length, draft.number(_SHORTEST)))
    receiving = draft.op("Mul", states, draft.op("Mul", inverse, draft.weights(beta[:, None])))
    lowest = draft.number(_LOWEST)

    def of_group(group: _Group) -> str:
        senders = draft.op("Gather", states, group.senders, axis=0)  # [k, w, R, d]
        receivers = draft.op("Gather", receiving, group.nodes, axis=0)  # [k, 1, R, d]
        product = draft.op("ReduceSum", draft.op("Mul", senders, receivers), last, keepdims=1)
        score = draft.op("Mul", product, draft.op("Gather", inverse, group.senders, axis=0))
        present = draft.op("Where", group.is_present, score, lowest)  # [k, w, R, 1]
        attention = draft.op("Softmax", present, axis=1)
        return draft.op("ReduceSum", draft.op("Mul", attention, senders), row, keepdims=0)

    return near.each(of_group)


class SymmetricPropagation:
    """P H with P = D~^-1/2 (A + I) D~^-1/2, Eq. (1)."""

    def __init__(self, near: Neighbourhoods) -> None:
        draft = near.draft
        sizes = near.each(lambda group: group.sizes)  # D~: the node itself counts
        self.near = near
        self.root = draft.op("Reciprocal", draft.op("Sqrt", sizes))  # [n]

    def __call__(self, states: str) -> str:
        """The new states [n, R, width]."""
        draft = self.near.draft
        axes = self.near.draft.integers(1, 2)
        row = self.near.draft.integers(1)
        root = draft.op("Unsqueeze", self.root, axes)  # [n, 1, 1]
        sent = draft.op("Mul", states, root)
        nothing = draft.number(0.0)

        def of_group(group: _Group) -> str:
            messages = draft.op("Gather", sent, group.senders, axis=0)  # [k, w, R, width]
            present = draft.op("Where", group.is_present, messages, nothing)
            return draft.op("ReduceSum", present, row, keepdims=0)

        return draft.op("Mul", self.near.each(of_group), root)


def ensemble(
    draft: Draft, replicas: str, members: Sequence[int], temperature: float, output: str
) -> str:
    """softmax(log(mean over the members) / temperature); replicas [R, n, c] to [n, c].

    In double precision, as `agnn.metrics` computes it; at temperature 1 the mean itself.
    """
    chosen = draft.op("Gather", replicas, draft.integers(*members), axis=0)
    mean = draft.op("ReduceMean", draft.cast(chosen, "DOUBLE"), draft.integers(0), keepdims=0)
    if temperature != 1.0:
        tiny = draft.array(np.array(1e-12, np.float64))  # as agnn.metrics bounds a logarithm
        logits = draft.op("Log", draft.op("Max", mean, tiny))
        scaled = draft.op("Div", logits, draft.array(np.array(temperature, np.float64)))
        mean = draft.op("Softmax", scaled, axis=-1)
    return draft.op("Cast", mean, to=1, output=output)  # 1 is TensorProto.FLOAT
