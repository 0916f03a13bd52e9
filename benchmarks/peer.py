"""torch_geometric's AGNN: its layer, and the model and loop of its own example."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor, nn

if TYPE_CHECKING:
    from agnn.data import NodeData
    from benchmarks.timing import Action

with warnings.catch_warnings():
    # PyG 2.8 calls torch.jit.script while it is imported, which torch deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.nn import AGNNConv


def _as_it_is(module: nn.Module) -> Callable[..., Any]:
    return module


def layer(
    edges: Tensor,
    h: Tensor,
    gradient: Tensor,
    prepare: Callable[[nn.Module], Callable[..., Any]] = _as_it_is,
) -> Action:
    """One attention layer forward and backward, to h and beta; h and gradient [n, d].

    `edges` include the self-loops; `prepare` is what is done to the layer before its first call.
    """
    conv = AGNNConv(add_self_loops=False).to(h.device)
    states, prepared = h.clone().requires_grad_(), prepare(conv)

    def forward_and_backward() -> None:
        torch.autograd.grad(prepared(states, edges), (states, conv.beta), gradient)

    return forward_and_backward


class DenseInput(nn.Module):
    """dropout(X) W + b with X as a dense matrix: how the example feeds it."""

    def __init__(self, data: NodeData, width: int = 16) -> None:
        super().__init__()
        self.x = torch.from_numpy(data.scaled_features("sum").toarray())
        self.linear = nn.Linear(data.feature_count, width)

    def forward(self) -> Tensor:
        """States [n, d]."""
        out: Tensor = self.linear(F.dropout(self.x, training=self.training))
        return out


class Example(nn.Module):
    """The model of PyG's example, examples/agnn.py, with any number of layers.

    The example has two, the first with a fixed beta; `learned` says it layer by layer.
    """

    def __init__(
        self, first: nn.Module, classes: int, learned: Sequence[bool], *, add_loops: bool,
        width: int = 16,
    ) -> None:  # fmt: skip
        super().__init__()
        self.first = first
        self.layers = nn.ModuleList(
            AGNNConv(requires_grad=flag, add_self_loops=add_loops) for flag in learned
        )
        self.last = nn.Linear(width, classes)

    def forward(self, edges: Tensor) -> Tensor:
        """Log-probabilities [n, c]."""
        h = F.relu(self.first())
        for layer in self.layers:
            h = layer(h, edges)
        h = F.dropout(h, training=self.training)
        return F.log_softmax(self.last(h), dim=1)


class Training:
    """The example's loop: a step on the training nodes, one look at the whole graph."""

    def __init__(self, model: nn.Module, edges: Tensor, data: NodeData) -> None:
        self.model, self.edges = model, edges
        self.labels = torch.from_numpy(np.array(data.labels))
        split = data.split("fixed")
        self.masks = [self._mask(part) for part in (split.train, split.validation, split.test)]
        self.optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def _mask(self, nodes: np.ndarray) -> Tensor:
        mask = torch.zeros_like(self.labels, dtype=torch.bool)
        mask[torch.from_numpy(np.array(nodes))] = True
        return mask

    def step(self) -> None:
        """One update of all parameters."""
        self.model.train()
        self.optimiser.zero_grad()
        train = self.masks[0]
        F.nll_loss(self.model(self.edges)[train], self.labels[train]).backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    @torch.no_grad()
    def look(self) -> list[float]:
        """Accuracy on the training, validation and test nodes."""
        self.model.eval()
        answers = self.model(self.edges).argmax(1)
        return [
            int((answers[mask] == self.labels[mask]).sum()) / int(mask.sum())
            for mask in self.masks
        ]  # fmt: skip

    def epoch(self) -> None:
        """A step and a look."""
        self.step()
        self.look()
