"""Ours and the peer's, side by side and ready to be called: one function a kind of case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

import torch
from torch import Tensor

from agnn.data import load_dataset
from agnn.networks import GAT, GCN
from benchmarks import ours, peer
from benchmarks.graphs import edge_index, edge_index_with_loops, graph_of
from benchmarks.peer_networks import GATExample, GCNExample
from benchmarks.peer_sparse import FORMATS, SparseInput
from benchmarks.timing import Action, fastest

_WIDTH = 16
_REPLICAS = 100


@dataclass(frozen=True)
class Pair:
    """Two actions that do the same work; one call of ours does that of `units` of the peer's."""

    ours: Action
    peer: Action
    units: int = 1
    notes: Mapping[str, object] = field(default_factory=dict)


def layer(graph: str) -> Pair:
    """One attention layer, forward and backward."""
    edges, h, gradient = _layer_inputs(graph)
    return Pair(ours.layer(graph_of(graph), h, gradient), peer.layer(edges, h, gradient))


def step(dataset: str) -> Pair:
    """One training step; the peer as its example has it."""
    return Pair(ours.step(dataset), example(dataset).step)


def step_sparse(dataset: str) -> Pair:
    """One training step; the peer with X in the fastest of torch's sparse forms."""
    steps = {form: sparse_example(dataset, form).step for form in FORMATS}
    form = fastest(steps, rounds=5)
    return Pair(ours.step(dataset), steps[form], notes={"peer_format": form})


def gat_step(dataset: str) -> Pair:
    """One training step of GAT; the peer as its example has it."""
    data = load_dataset(dataset)
    model = GATExample(data, GAT.preset("fixed", dataset).output_heads)
    training = peer.Training(model, edge_index(graph_of(dataset)), data)
    return Pair(ours.network_step(GAT, dataset), training.step)


def gcn_step(dataset: str) -> Pair:
    """One training step of GCN; the peer as its example has it."""
    data = load_dataset(dataset)
    training = peer.Training(GCNExample(data), edge_index(graph_of(dataset)), data)
    return Pair(ours.network_step(GCN, dataset), training.step)


def replicas(dataset: str) -> Pair:
    """One epoch with its evaluation, a hundred replicas of ours against the peer's example."""
    return Pair(ours.epoch(dataset, _REPLICAS), example(dataset).epoch, units=_REPLICAS)


def layer_compiled(graph: str) -> Pair:
    """As `layer`, the peer's under torch.compile."""
    torch.compiler.reset()  # each graph on its own: static shapes give the fastest code
    edges, h, gradient = _layer_inputs(graph)
    compiled = peer.layer(edges, h, gradient, prepare=torch.compile)
    return _after_first_call(Pair(ours.layer(graph_of(graph), h, gradient), compiled))


def step_compiled(dataset: str) -> Pair:
    """As `step`, the peer's model under torch.compile."""
    torch.compiler.reset()
    training = example(dataset)
    training.model.compile()
    return _after_first_call(Pair(ours.step(dataset), training.step))


def _layer_inputs(name: str) -> tuple[Tensor, Tensor, Tensor]:
    """The peer's edges, and states and their gradient for both, [n, d]."""
    graph = graph_of(name)
    source = torch.Generator().manual_seed(0)
    h, gradient = torch.randn(2, graph.nodes, _WIDTH, generator=source)
    return edge_index_with_loops(graph), h, gradient


def example(dataset: str) -> peer.Training:
    """The peer's training, as its example has it."""
    data = load_dataset(dataset)
    model = peer.Example(peer.DenseInput(data), data.classes, _learned(dataset), add_loops=True)
    return peer.Training(model, edge_index(graph_of(dataset)), data)


def sparse_example(dataset: str, form: str) -> peer.Training:
    """The peer's training with X in one of torch's sparse forms."""
    data = load_dataset(dataset)
    first = SparseInput(data, form)
    model = peer.Example(first, data.classes, _learned(dataset), add_loops=False)
    return peer.Training(model, edge_index_with_loops(graph_of(dataset)), data)


def _learned(dataset: str) -> list[bool]:
    """Whether each layer's beta is learned: as in ours."""
    return [beta.learned for beta in ours.preset(dataset).betas]


def _after_first_call(pair: Pair) -> Pair:
    start = perf_counter()
    pair.peer()
    return Pair(
        pair.ours, pair.peer, pair.units, {"peer_compile_seconds": perf_counter() - start}
    )  # fmt: skip
