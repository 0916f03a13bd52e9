"""The layers' formulas in ONNX, for states [n, R, d]: nodes first, then replicas."""

from __future__ import annotations

from torch import Tensor

from agnn.onnx.draft import Draft
from agnn.onnx.neighbourhoods import Neighbourhoods

_SHORTEST = 1e-12  # as torch normalises: a shorter row is divided by this


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


def attention_layer(near: Neighbourhoods, states: str, beta: Tensor, width: int) -> str:
    """P H with P_i. = softmax over N(i) and i of beta cos(H_i, H_j), Eq. (5); beta [R]."""
    draft, replicas, last = near.draft, beta.numel(), near.draft.integers(-1)
    length = draft.op("ReduceL2", states, last, keepdims=1)
    unit = draft.op("Div", states, draft.op("Max", length, draft.number(_SHORTEST)))
    products = draft.op("Mul", near.at_receivers(unit), near.at_senders(unit))
    cosine = draft.op("ReduceSum", products, last, keepdims=0)  # [m + n, R]
    score = draft.op("Mul", cosine, draft.weights(beta))
    highest = near.at_receivers(near.maxima(score, replicas))
    weight = draft.op("Exp", draft.op("Sub", score, highest))
    total = near.at_receivers(near.sums(weight, replicas))
    attention = draft.op("Unsqueeze", draft.op("Div", weight, total), last)  # [m + n, R, 1]
    messages = draft.op("Mul", attention, near.at_senders(states))
    return near.sums(messages, replicas, width)


class SymmetricPropagation:
    """P H with P = D~^-1/2 (A + I) D~^-1/2, Eq. (1)."""

    def __init__(self, near: Neighbourhoods) -> None:
        draft = near.draft
        shape = draft.op("Shape", near.places)
        degrees = near.sums(draft.op("Expand", draft.number(1.0), shape), 1)
        root = draft.op("Reciprocal", draft.op("Sqrt", degrees))  # [n, 1]
        weight = draft.op("Mul", near.at_receivers(root), near.at_senders(root))
        self.near = near
        self.weight = draft.op("Unsqueeze", weight, draft.integers(-1))  # [m + n, 1, 1]

    def __call__(self, states: str, replicas: int, width: int) -> str:
        """The new states [n, R, width]."""
        messages = self.near.draft.op("Mul", self.weight, self.near.at_senders(states))
        return self.near.sums(messages, replicas, width)
