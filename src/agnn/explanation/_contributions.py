"""A node's logits as a sum: what each node and each feature that reaches it adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import DenseFeatures, Features, View
from agnn.kernels import FirstStates, holding
from agnn.networks import NodeModel

_ROUNDING: Final = 1e-6  # share of a sum's terms below which what is left is rounding


@dataclass(frozen=True, eq=False)
class HeldLogits:
    """The logits of a view's one target, with attention and gates held as they are.

    They are an affine function of the first layer's output Z = X W0 + b0. So the gradient G of any
    combination of them at Z takes it apart, exactly:

        combination = constant + sum over j of <G_j, Z_j>
        <G_j, Z_j>  = <G_j, b0> + sum over f of x_jf (W0 G_j)_f

    It is exact for these inputs and not a forecast: without an edge, weights and gates would be
    different. A network with several maps of the features has a Z for each of them.
    """

    features: Features  # X of the view's k nodes
    logits: Tensor  # [R, c]
    first: tuple[FirstStates, ...]

    @classmethod
    def of(cls, model: NodeModel, view: View) -> HeldLogits:
        """Run the model on a view with one target."""
        with torch.enable_grad(), holding() as held:
            logits = model(view)[:, 0]
        return cls(view.features, logits, tuple(held.first))

    @property
    def replicas(self) -> range:
        """All replicas."""
        return range(len(self.logits))

    def arriving(self, combination: NDArray[np.float64], replicas: Sequence[int]) -> list[Arriving]:
        """Return G of a combination [c] of the logits, its mean over some replicas, by map."""
        weights = self.logits.new_zeros(self.logits.shape)
        weights[list(replicas)] = torch.from_numpy(combination).to(weights) / len(replicas)
        gradients = torch.autograd.grad(
            self.logits,
            [first_states.states for first_states in self.first],
            weights,
            retain_graph=True,
            allow_unused=True,
        )
        return [
            Arriving(_numbers(gradient), first_states)
            for gradient, first_states in zip(gradients, self.first, strict=True)
            if gradient is not None  # a map that only attention reads has none
        ]

    def value(self, combination: NDArray[np.float64], replicas: Sequence[int]) -> float:
        """Return the combination itself."""
        return float((_numbers(self.logits[list(replicas)]) @ combination).mean())

    def contributions(self, combinations: NDArray[np.float64]) -> Contributions:
        """Take the logits times `combinations` [c, q] apart."""
        X = _entries(self.features)
        parts = []
        for combination in combinations.T:
            maps = self.arriving(combination, self.replicas)
            nodes, constant = self._nodes_and_constant(maps, combination, self.replicas)
            features = sum((part.by_feature(X) for part in maps), np.zeros(X.shape[1]))
            own_features = sum((part.by_feature(X[:1]) for part in maps), np.zeros(X.shape[1]))
            bias = sum(part.by_bias() for part in maps)
            parts.append((nodes, features, own_features, bias, constant))
        return Contributions(*(np.array(part) for part in zip(*parts, strict=True)))

    def node_contributions(
        self, combination: NDArray[np.float64], replicas: Sequence[int]
    ) -> tuple[NDArray[np.float64], float]:
        """Return what each of the view's k nodes adds to a combination [c], and the constant.

        The means over some replicas: [k] and a number, which sum to the combination of the logits.
        The features are not read, so the cost is small even where the view is the whole of a large
        graph.
        """
        maps = self.arriving(combination, replicas)
        return self._nodes_and_constant(maps, combination, replicas)

    def feature_contributions(
        self,
        combination: NDArray[np.float64],
        replicas: Sequence[int],
        places: Sequence[int],
    ) -> NDArray[np.float64]:
        """Return what each feature of the p nodes at `places` in the view adds; [p, d_x].

        A row and the part of the first bias sum to what `node_contributions` has for the node.
        """
        rows = torch.tensor(list(places))
        return sum(
            (
                features_at(self.features, rows, part.first.weight, part.gradient[:, list(places)])
                for part in self.arriving(combination, replicas)
            ),
            np.zeros((len(rows), self.features.width)),
        )

    def _nodes_and_constant(
        self,
        maps: Sequence[Arriving],
        combination: NDArray[np.float64],
        replicas: Sequence[int],
    ) -> tuple[NDArray[np.float64], float]:
        nodes = sum((part.by_node() for part in maps), np.zeros(self.features.rows))
        constant = self.value(combination, replicas) - float(nodes.sum())
        # A network without biases has no constant: what is left is the rounding of the kernels.
        is_rounding = abs(constant) <= _ROUNDING * float(np.abs(nodes).sum())
        return nodes, 0.0 if is_rounding else constant


class Arriving:
    """How much of every unit of a map's output arrives at a combination of the logits."""

    def __init__(self, gradient: NDArray[np.float64], first: FirstStates) -> None:
        self.gradient = gradient  # G [R, k, d]
        self.first = first

    def by_node(self) -> NDArray[np.float64]:
        """Return what each node adds; [k]."""
        added: NDArray[np.float64] = (self.gradient * _numbers(self.first.states)).sum((0, 2))
        return added

    def by_feature(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature of the rows of X adds, at the first rows of Z; [d_x]."""
        rows = X.shape[0]
        parts = [
            (np.asarray(X.T @ gradient[:rows]) * weight).sum(1)
            for gradient, weight in zip(self.gradient, _numbers(self.first.weight), strict=True)
        ]
        total: NDArray[np.float64] = np.sum(parts, axis=0)
        return total

    def by_bias(self) -> float:
        """Return what the map's bias adds at all nodes."""
        if self.first.bias is None:
            return 0.0
        return float((self.gradient.sum(1) * _numbers(self.first.bias)).sum())


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


def features_at(
    features: Features, rows: Tensor, weight: Tensor, gradient: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what the features of some rows [p] add, given G there [R, p, d]; [p, d_x]."""
    X = _entries(features.select(rows.to(features.values.device)))
    X = np.asarray(X if isinstance(X, np.ndarray) else X.toarray())
    added: NDArray[np.float64] = X * np.einsum("rpd,rfd->pf", gradient, _numbers(weight))
    return added


def _entries(x: Features) -> Any:
    """Return features, dense or sparse; [k, d_x] float64."""
    from scipy.sparse import csr_array

    if isinstance(x, DenseFeatures):
        return _numbers(x.values)
    parts = (_numbers(x.values), x.columns.cpu().numpy(), x.offsets.cpu().numpy())
    return csr_array(parts, shape=(x.rows, x.width))


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().to(torch.float64).numpy()
