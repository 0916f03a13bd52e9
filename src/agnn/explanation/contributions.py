"""A node's logits as a sum: what each node and each feature that reaches it adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agnn.explanation.path_attention import path_rows
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
    X, W0, W1 = _rows(view), _numbers(model.first.weight), _numbers(model.last.weight)
    with torch.no_grad():
        Z = _numbers(model.first(view.features, None, model.backend))  # [R, k, d]
    b0, b1 = _bias(model.first.bias, Z.shape[::2]), _bias(model.last.bias, W1.shape[::2])
    gates = _gates(model, view, weights, Z)
    found = [
        _of_replica(X, W0[r], b0[r], Z[r], gates[r], W1[r] @ combinations, b1[r] @ combinations)
        for r in range(len(Z))
    ]
    return Contributions(*(np.mean(part, axis=0) for part in zip(*found, strict=True)))


def _of_replica(
    X: Any,
    W0: NDArray[np.float64],
    b0: NDArray[np.float64],
    Z: NDArray[np.float64],
    gates: NDArray[np.float64],
    W1: NDArray[np.float64],
    constant: NDArray[np.float64],
) -> tuple[NDArray[np.float64], ...]:
    """The five parts for one replica, in the order of the fields; W1 [d, q] and `constant` [q]."""
    at_features = np.asarray(X.T @ gates) * W0  # [d_x, d]
    own = np.asarray(X[:1].T @ gates[:1]) * W0
    return (
        ((Z * gates) @ W1).T,
        (at_features @ W1).T,
        (own @ W1).T,
        (b0 * gates.sum(0)) @ W1,
        constant,
    )


def _gates(
    model: AGNN | GCN, view: View, weights: Sequence[Attention], Z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much of each unit of each node arrives at the target; [R, k, d]."""
    if isinstance(model, AGNN):
        return path_rows(view.field, weights)[0].numpy()[:, :, None] * (Z > 0)
    found = []
    for r, states in enumerate(Z):
        last, first = _matrices(view, weights, r)
        middle = np.repeat(last.T @ np.ones((1, 1)), Z.shape[2], axis=1)
        if not isinstance(model, GLN):
            middle = middle * (first @ states > 0)
        found.append(first.T @ middle)
    return np.stack(found)


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


def _bias(values: Tensor | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """A layer's bias, or zeros where it has none; [R, width]."""
    return np.zeros(shape) if values is None else _numbers(values)
