"""A node's logits as a sum: what each node and each feature that reaches it adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agnn.graph import DenseFeatures
from agnn.nn import AGNN, GCN, GLN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import View
    from agnn.kernels import Attention


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the field's k nodes and d_x features add to q combinations of the target's logits.

    All are means over the replicas. `constant` plus the sum over the nodes is the mean logit
    itself; so is `constant` plus `bias` plus the sum over the features.
    """

    nodes: NDArray[np.float64]  # [q, k]
    features: NDArray[np.float64]  # [q, d_x] of all nodes that reach the target
    own_features: NDArray[np.float64]  # [q, d_x] of the target itself, which are among them
    bias: NDArray[np.float64]  # [q] what the first layer's bias adds by way of the nodes
    constant: NDArray[np.float64]  # [q] the last layer's bias


def contributions(
    model: AGNN | GCN, view: View, weights: Sequence[Attention], combinations: NDArray[np.float64]
) -> Contributions:
    """The logits of a view's one target, times `combinations` [c, q], taken apart.

    With the propagation weights P and the set of active units held as they are, the logits are a
    linear function of the input, so the sum is exact:

        logits_i = sum_j sum_u G_ju (x_j W0 + b0)_u W1_u + b1

    where the gate G_ju says how much of unit u of node j arrives at the target. For AGNN it is
    path attention where the unit is active, (P(l)...P(1))_ij [x_j W0_u + b0_u > 0]; for GCN the sum
    over the ways through a middle node k at which the unit is active, P_ik P_kj; GLN has all units.

    It is exact for these inputs and no forecast: were an edge gone, weights and units would change.
    """
    found = [
        _of_replica(model, view, weights, combinations, r)
        for r in range(model.first.weight.shape[0])
    ]
    return Contributions(*(np.mean(part, axis=0) for part in zip(*found, strict=True)))


def _of_replica(
    model: AGNN | GCN,
    view: View,
    weights: Sequence[Attention],
    combinations: NDArray[np.float64],
    r: int,
) -> tuple[NDArray[np.float64], ...]:
    """The five parts for replica r, in the order of the fields."""
    W0, b0 = _numbers(model.first.weight[r]), model.first.bias
    W1, b1 = _numbers(model.last.weight[r]) @ combinations, model.last.bias  # [d, q]
    bias = np.zeros(W0.shape[1]) if b0 is None else _numbers(b0[r])
    X = _rows(view)
    Z = X @ W0 + bias  # [k, d]
    gates = _gates(model, _matrices(view, weights, r), Z)  # [k, d]
    at_features = np.asarray(X.T @ gates) * W0  # [d_x, d]
    own = np.asarray(X[:1].T @ gates[:1]) * W0
    constant = np.zeros(W1.shape[1]) if b1 is None else _numbers(b1[r]) @ combinations
    return (
        ((Z * gates) @ W1).T,
        (at_features @ W1).T,
        (own @ W1).T,
        (bias * gates.sum(0)) @ W1,
        constant,
    )


def _gates(
    model: AGNN | GCN, inwards: Sequence[Any], Z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much of each unit of each node arrives at the target; [k, d].

    `inwards` are the layers' matrices from the last to the first.
    """
    row = np.ones((1, 1))
    if isinstance(model, AGNN):
        for P in inwards:
            row = P.T @ row
        return row * (Z > 0)
    last, first = inwards
    middle = np.repeat(last.T @ row, Z.shape[1], axis=1)
    if not isinstance(model, GLN):
        middle = middle * (first @ Z > 0)
    return np.asarray(first.T @ middle)


def _matrices(view: View, weights: Sequence[Attention], r: int) -> list[Any]:
    """Replica r's matrices from the last layer to the first, [rows computed, rows read] each."""
    from scipy.sparse import csr_array, eye_array

    graph, found = view.field.graph, []
    for weight, width in zip(reversed(weights), view.field.sizes[1:], strict=True):
        rows, edges = weight.loops.shape[1], weight.edges.shape[1]
        offsets, columns = graph.offsets[: rows + 1].cpu(), graph.columns[:edges].cpu()
        entries = (_numbers(weight.edges[r]), columns.numpy(), offsets.numpy())
        loops = eye_array(rows, width).multiply(_numbers(weight.loops[r])[:, None])
        found.append(csr_array(csr_array(entries, shape=(rows, width)) + loops))
    return found


def _rows(view: View) -> Any:
    """The features of the field's nodes, dense or sparse; [k, d_x] float64."""
    from scipy.sparse import csr_array

    x = view.features
    if isinstance(x, DenseFeatures):
        return _numbers(x.values)
    parts = (_numbers(x.values), x.columns.cpu().numpy(), x.offsets.cpu().numpy())
    return csr_array(parts, shape=(x.rows, x.width))


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().to(torch.float64).numpy()
