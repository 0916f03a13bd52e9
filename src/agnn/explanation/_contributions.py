"""A node's logits as a sum: what each node and each feature that reaches it adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from agnn.explanation._flow import on_cpu, path_rows
from agnn.graph import DenseFeatures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import Features, ReceptiveField, View
    from agnn.nn import Hop, LinearForm, Units


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
    constant: NDArray[np.float64]  # [q] the biases of all later layers


def contributions(form: LinearForm, view: View, combinations: NDArray[np.float64]) -> Contributions:
    """The logits of a view's one target, times `combinations` [c, q], taken apart.

    With the propagation weights P and the gates held as they are, the logits are a linear function
    of the input, so the sum is exact:

        logits_i = sum_j sum_u G_ju (x_j W0 + b0)_u W1_u + constant

    where the gate G_ju says how much of unit u of node j arrives at the target. For AGNN it is path
    attention where the unit is active, (P(l)...P(1))_ij [x_j W0_u + b0_u > 0]; for GCN the sum over
    the paths through a middle node k at which the unit is active, P_ik P_kj; GLN has all units.
    Where layers mix units by weight matrices, as in GAT and GCNII, G and W1 are one.

    It is exact for these inputs and not a forecast: without an edge, weights and gates would be
    different.
    """
    X, W0, Z = _entries(view.features), _numbers(form.first_weight), _numbers(form.states)
    b0 = _bias(form.first_bias, Z.shape[::2])
    b1 = _bias(form.last_bias, (len(Z), len(combinations))) @ combinations
    found = []
    for r, arriving in enumerate(_arriving(form, view.field, combinations, range(len(Z)))):
        parts = [_parts(X, W0[r], b0[r], Z[r], each) for each in arriving]
        columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
        columns[-1] = columns[-1] + b1[r]
        found.append(columns)
    return Contributions(*(np.mean(part, axis=0) for part in zip(*found, strict=True)))


def node_contributions(
    form: LinearForm, view: View, combination: NDArray[np.float64], replicas: Sequence[int]
) -> tuple[NDArray[np.float64], float]:
    """What each of the view's k nodes adds to one combination [c] of the logits, and the constant.

    The means over some replicas: [k] and a number, which sum to the combination of the logits. The
    features are not read, so the cost is small even where the view is the whole of a large graph.
    """
    b1 = _bias(form.last_bias, (form.states.shape[0], combination.size)) @ combination
    nodes, constant = np.zeros(form.states.shape[1]), 0.0
    arriving = _arriving(form, view.field, combination[:, None], replicas)
    for r, ((gates, weight, own),) in zip(replicas, arriving, strict=True):
        nodes += (_numbers(form.states[r]) * gates) @ weight[:, 0]
        constant += float(own[0] + b1[r])
    return nodes / len(replicas), constant / len(replicas)


def feature_contributions(
    form: LinearForm,
    view: View,
    combination: NDArray[np.float64],
    replicas: Sequence[int],
    places: Sequence[int],
) -> NDArray[np.float64]:
    """What each feature of the p nodes at `places` in the view adds to a combination; [p, d_x].

    A row and the part of the first bias sum to what `node_contributions` has for the node.
    """
    own = list(places)
    arriving = _arriving(form, view.field, combination[:, None], replicas)
    gates = [each.gates[own] * each.weight[:, 0] for (each,) in arriving]
    return features_at(view.features, torch.tensor(own), form.first_weight, replicas, gates)


def features_at(
    features: Features,
    rows: Tensor,
    first_weight: Tensor,
    replicas: Sequence[int],
    gates: Sequence[NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The features of some rows [p], each times what of it arrives; [p, d_x], a mean.

    `gates` has for each of the replicas how much every unit of each node counts; [p, d].
    """
    chosen = features.select(rows.to(features.values.device))
    X = _entries(chosen)
    X = np.asarray(X if isinstance(X, np.ndarray) else X.toarray())
    weights = [_numbers(first_weight[r]).T for r in replicas]
    parts = [each @ weight for each, weight in zip(gates, weights, strict=True)]
    found: NDArray[np.float64] = X * np.mean(parts, axis=0)
    return found


class _Arriving(NamedTuple):
    """How much of every unit of H(0) arrives, up to a factor by unit."""

    gates: NDArray[np.float64]  # [k, d]
    weight: NDArray[np.float64]  # [d, q'] G_ju W1_u = gates_ju weight_u
    constant: NDArray[np.float64]  # [q'] what the biases of the propagation layers add


def _parts(
    X: Any,
    W0: NDArray[np.float64],
    b0: NDArray[np.float64],
    Z: NDArray[np.float64],
    arriving: _Arriving,
) -> tuple[NDArray[np.float64], ...]:
    """The five parts for one replica, in the order of the fields; q' first."""
    gates, weight, constant = arriving
    at_features = np.asarray(X.T @ gates) * W0  # [d_x, d]
    own = np.asarray(X[:1].T @ gates[:1]) * W0
    return (
        ((Z * gates) @ weight).T,
        (at_features @ weight).T,
        (own @ weight).T,
        (b0 * gates.sum(0)) @ weight,
        constant,
    )


def _arriving(
    form: LinearForm,
    field: ReceptiveField,
    combinations: NDArray[np.float64],
    replicas: Iterable[int],
) -> Iterator[list[_Arriving]]:
    """For these replicas, what arrives at all combinations together or at each on its own."""
    paths, width = on_cpu(form.paths), form.states.shape[-1]
    keeps_apart = all(unit.keeps_units_apart for unit in form.units)
    has_gates = form.last_gate is not None or any(unit.gate is not None for unit in form.units)
    rows = path_rows(field, paths)[0].numpy() if keeps_apart and not has_gates else None
    for r in replicas:
        W1 = combinations
        if form.last_weight is not None:
            W1 = _numbers(form.last_weight[r]) @ combinations
        first = np.ones((1, 1)) if form.gate is None else _numbers(form.gate[r])
        if rows is not None:
            gates = np.broadcast_to(rows[r][:, None] * first, (len(rows[r]), width))
            yield [_Arriving(gates, W1, np.zeros(W1.shape[1]))]
            continue
        layers = [
            (_matrices(field, hop, unit, width_read, r), hop, unit)
            for hop, unit, width_read in zip(
                paths.hops, form.units, field.sizes[:0:-1], strict=True
            )
        ]
        if keeps_apart:
            # What arrives of a unit does not depend on the combination.
            gates, _ = _back(form, layers, r, np.ones(width))
            yield [_Arriving(gates * first, W1, np.zeros(W1.shape[1]))]
            continue
        found = [_back(form, layers, r, column) for column in W1.T]
        yield [
            _Arriving(gates * first, np.ones((width, 1)), np.array([constant]))
            for gates, constant in found
        ]


def _back(
    form: LinearForm,
    layers: list[tuple[list[Any], Hop, Units]],
    r: int,
    wanted: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """How much of H(0) [k, d] arrives at the target's `wanted` [d'] units, and the biases' part.

    The layers are gone through from the last to the first, by transposed matrices.
    """
    if form.last_gate is not None:
        wanted = wanted * _numbers(form.last_gate[r, 0])
    *earlier, last = form.paths.combination
    arriving, restarted, constant = last * wanted[None], np.zeros((1, 1)), 0.0
    for (matrices, hop, unit), of_target in zip(reversed(layers), reversed(earlier), strict=True):
        if unit.gate is not None:
            arriving = arriving * _numbers(unit.gate[r])
        if unit.bias is not None:
            constant += float(arriving.sum(0) @ _numbers(unit.bias[r]))
        sent = hop.keep * _sent(matrices, arriving, sums_heads=unit.sums_heads)
        back = hop.restart * arriving if hop.restart else None
        if unit.weight is not None:
            mixing = _numbers(unit.weight[r]).T
            sent, back = sent @ mixing, None if back is None else back @ mixing
        if back is not None:
            restarted = _longer(back, layers[0][0][0].shape[1]) + restarted
        if of_target:
            sent[0] += of_target * wanted
        arriving = sent
    return arriving + restarted, constant


def _sent(
    matrices: list[Any], arriving: NDArray[np.float64], *, sums_heads: bool
) -> NDArray[np.float64]:
    """What arrives of the states that a layer propagates, head by head; [n, d K]."""
    if len(matrices) == 1:
        return np.asarray(matrices[0].T @ arriving)
    heads = len(matrices)
    by_head = [arriving if sums_heads else arriving[:, k::heads] for k in range(heads)]
    sent = [matrix.T @ each for matrix, each in zip(matrices, by_head, strict=True)]
    return np.stack(sent, axis=-1).reshape(len(sent[0]), -1)


def _longer(rows: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The same rows, followed by rows of zeros."""
    return np.pad(rows, ((0, count - len(rows)), (0, 0)))


def _matrices(field: ReceptiveField, hop: Hop, unit: Units, read: int, r: int) -> list[Any]:
    """Replica r's P of one layer, one matrix per head; [rows computed, rows read] each."""
    if unit.heads is None:
        return [_matrix(field, hop.attention.edges[r], hop.attention.loops[r], read)]
    edges, loops = (each[r].unbind(-1) for each in unit.heads)
    return [_matrix(field, *each, read) for each in zip(edges, loops, strict=True)]


def _matrix(field: ReceptiveField, edges: Tensor, loops: Tensor, width: int) -> Any:
    """P from the weights of edges [m'] and loops [rows]; [rows, width]."""
    from scipy.sparse import csr_array, eye_array

    graph, rows = field.graph, loops.numel()
    offsets, columns = graph.offsets[: rows + 1].cpu(), graph.columns[: edges.numel()].cpu()
    entries = (_numbers(edges), columns.numpy(), offsets.numpy())
    own = eye_array(rows, width).multiply(_numbers(loops)[:, None])
    return csr_array(csr_array(entries, shape=(rows, width)) + own)


def _entries(x: Features) -> Any:
    """Features, dense or sparse; [k, d_x] float64."""
    from scipy.sparse import csr_array

    if isinstance(x, DenseFeatures):
        return _numbers(x.values)
    parts = (_numbers(x.values), x.columns.cpu().numpy(), x.offsets.cpu().numpy())
    return csr_array(parts, shape=(x.rows, x.width))


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().to(torch.float64).numpy()


def _bias(values: Tensor | None, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """A layer's bias, or zeros where it has none; [R, width]."""
    return np.zeros(shape) if values is None else _numbers(values)
