"""The objective of training on several random versions of every replica.

Cross-entropy at the training nodes, averaged over the versions, and a term that pulls the
versions of a node together (Feng et al. 2020). Labels enter through the cross-entropy alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from agnn.graph import Features, Graph, View
from agnn.kernels import Dropout, consistency, cross_entropy, random_words
from agnn.networks._model import VersionedModel
from agnn.training import Targets

# Where the random numbers of the sample come from: beyond any place that a model drops at.
_SAMPLE_PLACE = 2**20 + 1


@dataclass(frozen=True)
class ConsistencySettings:
    """How versions of a replica are drawn together."""

    versions: int = 2  # S
    strength: float = 1.0  # lambda
    temperature: float = 0.5  # T: below 1 the mean prediction is sharpened
    # Nodes whose mean prediction is less sure count zero; 0 is chance, 1 / c, and 1 certainty.
    confidence: float = 0.0
    warm_up: int = 1  # steps over which the strength rises to its value
    sample: int | None = None  # nodes per step that are drawn together; None: all

    def threshold(self, classes: int) -> float:
        """The probability that a node's mean prediction must reach in order to count."""
        chance = 1.0 / classes
        return chance + self.confidence * (1.0 - chance) if self.confidence > 0 else 0.0


class Consistency:
    """The objective of a model on a graph: call it once per step.

    The consistency term is a mean over all nodes, or over a sample that every step draws anew.
    The sample depends on the step alone, so it is the same for all replicas, and a step computes
    only what the training nodes and the sample depend on.
    """

    def __init__(
        self, model: VersionedModel, features: Features, graph: Graph, settings: ConsistencySettings
    ) -> None:
        self.model = model
        self.features = features
        self.graph = graph
        self.settings = settings
        self.is_whole = settings.sample is None or settings.sample >= graph.nodes
        self.draws = Dropout((0,), (0.0,), graph.device).at(_SAMPLE_PLACE)

    def __call__(self, targets: Targets, dropout: Dropout) -> Tensor:
        """One number per replica [R]."""
        chosen = self.settings
        view, rows, sample = self._whole(targets) if self.is_whole else self._part(targets, dropout)
        logits = self.model.version_logits(view, dropout, chosen.versions)  # [R, S, targets, c]
        target_rows = rows[:, None, :, None].expand(-1, chosen.versions, -1, logits.shape[-1])
        losses = _version_mean(targets, logits.gather(2, target_rows), self.model.backend)
        apart = consistency(
            logits if sample is None else logits[:, :, sample],
            temperature=chosen.temperature,
            confidence=chosen.threshold(logits.shape[-1]),
            backend=self.model.backend,
        )
        rise = (dropout.epoch / chosen.warm_up).clamp(max=1.0).to(logits.dtype)
        return losses + chosen.strength * rise * apart

    @cached_property
    def _everything(self) -> View:
        return View.whole(self.features, self.graph, self.model.hops)

    def _whole(self, targets: Targets) -> tuple[View, Tensor, Tensor | None]:
        """All nodes: the view, the training nodes' rows [R, k], no sample."""
        return self._everything, targets.nodes, None

    def _part(self, targets: Targets, dropout: Dropout) -> tuple[View, Tensor, Tensor | None]:
        """What training nodes and a sample depend on, and the rows of both."""
        positions = torch.arange(self.settings.sample or 0, device=self.graph.device)
        draws = replace(self.draws, epoch=dropout.epoch)
        random = random_words(draws, positions, torch.zeros_like(positions))[0]  # below 2^32
        sample = torch.unique((random * self.graph.nodes) >> 32)
        nodes = torch.unique(torch.cat([targets.nodes.flatten(), sample]))
        view = View.around(self.features, self.graph, nodes, self.model.hops)
        return view, view.field.rows_of(targets.nodes), view.field.rows_of(sample)


def _version_mean(targets: Targets, picked: Tensor, backend: str) -> Tensor:
    """The cross-entropy of each replica, averaged over its versions; `picked` [R, S, k, c]."""
    versions = picked.shape[1]
    labels = targets.labels.repeat_interleave(versions, 0)
    weights = targets.weights.repeat_interleave(versions, 0)
    losses = cross_entropy(picked.flatten(0, 1), labels, weights, backend=backend)
    total, *further_losses = losses.view(-1, versions).unbind(1)
    for loss in further_losses:
        total = total + loss
    return total / versions
