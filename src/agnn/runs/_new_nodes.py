"""Nodes that come after training: their features, their edges, and the model's input for them.

The cost is that of the new nodes' neighbourhood. The graph of the run is neither copied nor sorted
again: the nodes within reach of the new ones are collected hop by hop over the run's own rows and
the new edges, and only the edges among them are put into a small graph.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import Tensor

from agnn.data import ReadKeywords
from agnn.errors import InputError
from agnn.graph import Graph, ReceptiveField, View
from agnn.methods import NetworkMethod
from agnn.runs._inference import Inference

if TYPE_CHECKING:
    from agnn.data.tables import NewNodes


def scores_of_new(
    inference: Inference, nodes: Any, edges: Any, **options: Unpack[ReadKeywords]
) -> tuple[tuple[Hashable, ...], Tensor]:
    """Return the ids of the new nodes in two tables, and their class probabilities [R, k, c]."""
    from agnn.data import tables

    data = inference.data
    method = inference.method
    if data.preprocessing is None:
        raise InputError(f"'{data.name}' was not made from a table: new nodes cannot be added.")
    is_by_row = isinstance(method, NetworkMethod) and method.features_by_row
    if data.preprocessing.is_structural or not is_by_row:
        # New edges change the features of known nodes, so everything is computed again.
        grown = tables.with_new_nodes(data, nodes, edges, **options)
        new_nodes = torch.arange(data.nodes, grown.nodes)
        scores = Inference(inference.model, grown, method, data).scores_around(new_nodes)
        return grown.node_ids[data.nodes :], scores
    new = tables.NewNodes.read(data, nodes, edges, **options)
    return new.ids, inference.scores_of(view_of_new(inference, new))


def view_of_new(inference: Inference, new: NewNodes) -> View:
    """Return the model's input for the new nodes, exactly as in the whole larger graph."""
    from scipy import sparse

    graph = inference.graph
    hops = inference.model.hops
    count = len(new.ids)
    extra, extra_weights = _new_edges(graph, new)
    rings = _rings(graph, extra, torch.arange(graph.nodes, graph.nodes + count), hops)
    nodes = torch.sort(torch.cat(rings)).values  # known nodes, then new ones: as in the whole graph
    inner = torch.cat(rings[:-1]) if hops else rings[0]
    inner = inner[inner < graph.nodes]
    inner_edges = graph.row_edges(inner)
    receivers = torch.repeat_interleave(inner, graph.degrees[inner])
    is_among = torch.isin(extra, nodes).all(0)
    known_pairs = torch.stack([receivers, graph.columns[inner_edges].to(torch.int64)])
    pairs = torch.cat([known_pairs, extra[:, is_among]], 1)
    weights = None
    if graph.weights is not None and extra_weights is not None:
        weights = torch.cat([graph.weights[inner_edges], extra_weights[is_among]])
    local = Graph.from_edges(torch.searchsorted(nodes, pairs), nodes.numel(), weights)
    targets = torch.arange(nodes.numel() - count, nodes.numel())
    field = ReceptiveField.around(local.to(inference.device), targets.to(inference.device), hops)
    degrees = graph.weighted_degrees.new_zeros(nodes.numel())
    is_known = nodes < graph.nodes
    degrees[is_known] = graph.weighted_degrees[nodes[is_known]]
    is_inside = torch.isin(extra[0], nodes)
    degrees += torch.bincount(
        torch.searchsorted(nodes, extra[0][is_inside]),
        None if extra_weights is None else extra_weights[is_inside].double(),
        minlength=nodes.numel(),
    )
    rows = [inference.data.feature_rows(nodes[is_known].numpy()), new.features]
    features = inference.features_of_rows(sparse.vstack(rows, format="csr")).to(inference.device)
    return View(features.select(field.nodes), field, degrees.to(inference.device)[field.nodes])


def _new_edges(graph: Graph, new: NewNodes) -> tuple[Tensor, Tensor | None]:
    """Return the edges that the graph lacks, each once per direction [2, e], and weights [e].

    There are weights where the graph has some.
    """
    pairs = torch.from_numpy(new.edges)
    among_known = (pairs < graph.nodes).all(0)
    positions = graph.edge_places(*pairs[:, among_known])
    is_new = torch.ones(pairs.shape[1], dtype=torch.bool)
    is_new[among_known] = positions < 0
    pairs = pairs[:, is_new]
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    if graph.weights is None or new.edge_weights is None:
        return edges, None
    return edges, torch.from_numpy(new.edge_weights)[is_new].repeat(2)


def _rings(graph: Graph, extra: Tensor, targets: Tensor, hops: int) -> list[Tensor]:
    """Return the nodes at 0, 1, ..., `hops` hops from the targets, over old and new edges."""
    is_seen = torch.zeros(graph.nodes + targets.numel(), dtype=torch.bool)
    is_seen[targets] = True
    rings = [targets]
    for _ in range(hops):
        ring = rings[-1]
        old = graph.columns[graph.row_edges(ring[ring < graph.nodes])].to(torch.int64)
        beside = torch.cat([old, extra[1][torch.isin(extra[0], ring)]])
        outer = torch.unique(beside[~is_seen[beside]])
        is_seen[outer] = True
        rings.append(outer)
    return rings
