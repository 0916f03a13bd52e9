"""What agnn does in each case, through the functions that its users call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agnn.data import NodeData, load_dataset
from agnn.graph import Graph, SparseFeatures
from agnn.kernels import cosine_attention
from agnn.methods import NetworkMethod
from agnn.networks import AGNN
from agnn.training import (
    Problem,
)
from agnn.training._loop import TrainingRun

if TYPE_CHECKING:
    from benchmarks.timing import Action


def layer(graph: Graph, h: Tensor, gradient: Tensor) -> Action:
    """One attention layer forward and backward, to h and beta; h and gradient [n, d]."""
    states = h[None].clone().requires_grad_()  # [1, n, d]
    beta = torch.ones(1, requires_grad=True)

    def forward_and_backward() -> None:
        out = cosine_attention(graph, states, beta)
        torch.autograd.grad(out, (states, beta), gradient[None])

    return forward_and_backward


def preset(dataset: str) -> AGNN:
    """The paper's AGNN for the dataset's fixed split."""
    return AGNN.preset("fixed", dataset)


def training_run(method: NetworkMethod, data: NodeData, replicas: int = 1) -> TrainingRun:
    """A training run on the fixed split, before its first step."""
    seeds = range(replicas)
    graph = Graph.from_edges(data.edges, data.nodes)
    features = SparseFeatures.from_scipy(data.scaled_features("sum"))
    model = method.build(features.width, data.classes, seeds, "auto")
    splits = [data.split("fixed")] * replicas
    problem = Problem(features, graph, data.labels, splits, seeds)
    return TrainingRun(model, problem, method.recipe())


def step(dataset: str) -> Action:
    """One training step: forward with dropout, loss, backward, Adam."""
    return training_run(preset(dataset), load_dataset(dataset)).update


def network_step(method: type[NetworkMethod], dataset: str) -> Action:
    """One training step of another network at its preset."""
    return training_run(method.preset("fixed", dataset), load_dataset(dataset)).update


def endless_epoch(run: TrainingRun) -> Action:
    """An epoch that may be repeated without end, though the run's history has an end."""
    last = run.training_loss.shape[0] - 1

    def again() -> None:
        if int(run.number) == last:
            run.number.zero_()
        run.epoch()

    return again


def epoch(dataset: str, replicas: int) -> Action:
    """One epoch of all replicas: a step, and a look at the validation nodes."""
    return endless_epoch(training_run(preset(dataset), load_dataset(dataset), replicas))
