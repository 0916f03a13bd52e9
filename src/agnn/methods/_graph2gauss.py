"""Graph2Gauss: Gaussian embeddings whose divergences rank nodes by their distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor
from torch.nn.functional import elu

from agnn.data import NodeData
from agnn.graph import Graph, SparseFeatures
from agnn.kernels import adam_step, feature_linear
from agnn.methods._embedding import EmbeddingMethod, Vectors, of_unit_length
from agnn.networks import Count, Positive, generators, glorot_uniform, register


@register
@dataclass(frozen=True)
class Graph2Gauss(EmbeddingMethod):
    """A Gaussian N(mu_i, diag sigma_i) for each node, computed from its features.

    With h = ReLU(X W + b): mu = h M + a and sigma = ELU(h S + s) + 1. Let E_ij = KL(N_j | N_i).
    The loss is the mean of E_ij^2 + exp(-E_ik) over triples in which j is nearer to i than k.
    The vectors are the mu_i, scaled to length 1.
    """

    name: ClassVar[str] = "graph2gauss"
    title: ClassVar[str] = "Graph2Gauss"
    cites: ClassVar[str] = "Bojchevski and Günnemann 2018"
    uses_blas: ClassVar[bool] = True

    width: Count = 64  # the program's default, as are the next two
    hidden: Count = 512  # width of the hidden layer
    learning_rate: Positive = 1e-3  # of Adam
    # The program takes all nodes in each of up to 2000 steps and stops by held-out edges. Ours
    # draws each node 50 times on average, in batches: minutes on PubMed, and no held-out edge.
    epochs: Count = 50
    batch: Count = 64  # nodes per step

    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d]; without features the rows of A + I are the features."""
        (source,) = generators([seed])
        x = _features(data, graph)
        weights = _initial(x.width, self.hidden, self.width, source)
        m, v = ([torch.zeros_like(w) for w in weights] for _ in range(2))
        ranked = RankedNodes(graph)
        rates = torch.tensor([self.learning_rate])
        steps = self.epochs * ranked.anchors.numel() // self.batch
        for step in range(1, steps + 1):
            slopes = _slopes(weights, x, *ranked.draw(self.batch, source))
            decays = torch.zeros(len(weights), 1)
            adam_step(weights, slopes, m, v, torch.tensor([step]), rates, decays)
        with torch.no_grad():
            return of_unit_length(gaussians(weights, x)[0].numpy())


def _features(data: NodeData, graph: Graph) -> SparseFeatures:
    if data.feature_count:
        return SparseFeatures.from_scipy(data.features)
    from scipy.sparse import coo_array, eye_array

    ends = (graph.receivers.numpy(), graph.senders.numpy())
    ones = torch.ones(graph.edges).numpy()
    size = (graph.nodes, graph.nodes)
    return SparseFeatures.from_scipy((coo_array((ones, ends), size) + eye_array(*size)).tocsr())


def _initial(features: int, hidden: int, width: int, source: Generator) -> list[Tensor]:
    """Return Glorot's W [1, d_x, h], M and S [1, h, d], and their biases, which are zero."""
    shapes = ((features, hidden), (hidden, width), (hidden, width))
    weights = [glorot_uniform([source], *shape) for shape in shapes]
    biases = [torch.zeros(1, columns) for _, columns in shapes]
    return [parameter.requires_grad_() for parameter in (*weights, *biases)]


def gaussians(weights: list[Tensor], x: SparseFeatures) -> tuple[Tensor, Tensor]:
    """Return mu and sigma of the rows of x; each [n, d]."""
    input_weight, mean, spread, *biases = weights
    h = feature_linear(x, input_weight, biases[0])[0].relu()
    return h @ mean[0] + biases[1], elu(h @ spread[0] + biases[2]) + 1.0 + 1e-14


def divergence(i: tuple[Tensor, Tensor], j: tuple[Tensor, Tensor]) -> Tensor:
    """Return E_ij = KL(N_j | N_i) [k] of Gaussians with means and variances [k, d]."""
    (mean, variance) = i
    (other_mean, spread) = j
    ratio = spread / variance
    return 0.5 * (ratio + (mean - other_mean) ** 2 / variance - 1.0 - ratio.log()).sum(1)


def _slopes(
    weights: list[Tensor], x: SparseFeatures, nodes: Tensor, is_further: Tensor
) -> list[Tensor]:
    """Return the gradients of the mean loss over the valid triples of a draw of `RankedNodes`."""
    distinct, rows = torch.unique(nodes, return_inverse=True)
    mean, variance = gaussians(weights, x.select(distinct))
    at = [(mean[row], variance[row]) for row in rows]
    to_near, to_second, to_any = (divergence(at[0], far) for far in at[1:])
    triples = (
        (to_near, to_second, is_further[0]),
        (to_near, to_any, is_further[1]),
        (to_second, to_any, is_further[0] & is_further[1]),
    )
    costs = torch.cat([(near**2 + torch.exp(-far))[valid] for near, far, valid in triples])
    # Divided by at least 1, because a batch may have no valid triple.
    return list(torch.autograd.grad(costs.sum() / max(costs.numel(), 1), weights))


class RankedNodes:
    """Random nodes i, each with a neighbour, a node two steps away and an arbitrary node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.anchors = graph.degrees.nonzero().squeeze(1)
        self.edges = graph.receivers * graph.nodes + graph.senders  # ascending

    def draw(self, batch: int, source: Generator) -> tuple[Tensor, Tensor]:
        """Return nodes [4, batch]: i, one step from i, two steps from i, an arbitrary node.

        The last two may be i or a neighbour of i by chance. The second result [2, batch] is true
        where they are not.
        """
        picks = torch.randint(self.anchors.numel(), (batch,), generator=source)
        i = self.anchors[picks]
        neighbour = self._neighbour(i, source)
        two = self._neighbour(self._neighbour(i, source), source)
        any_node = torch.randint(self.graph.nodes, (batch,), generator=source)
        is_further = torch.stack([self._is_further(i, two), self._is_further(i, any_node)])
        return torch.stack([i, neighbour, two, any_node]), is_further

    def _neighbour(self, nodes: Tensor, source: Generator) -> Tensor:
        degrees = self.graph.degrees[nodes]
        steps = (torch.rand(nodes.numel(), generator=source) * degrees).long()
        # Rounding may give the degree itself.
        return self.graph.senders[self.graph.offsets[nodes] + steps.minimum(degrees - 1)]

    def _is_further(self, i: Tensor, j: Tensor) -> Tensor:
        key = i * self.graph.nodes + j
        position = torch.searchsorted(self.edges, key).clamp_max(self.edges.numel() - 1)
        return (self.edges[position] != key) & (i != j)
