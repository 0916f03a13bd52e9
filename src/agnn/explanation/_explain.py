"""Explain a run's prediction for one node."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.explanation._changes import explained_run, left_out_note
from agnn.explanation._contributions import Contributions
from agnn.explanation._explanation import (
    Explanation,
    FeatureShare,
    ReachingNode,
    Rest,
    TrainingClass,
)
from agnn.explanation._margin import feature_name, held_logits, margin_on
from agnn.explanation._reach import Reach
from agnn.explanation._relevance import relevance
from agnn.graph import Graph
from agnn.metrics import Ensemble
from agnn.runs import Run


def explain(run: Run, node: int, *, limit: int = 10) -> Explanation:
    """Explain the prediction at one node, given by its index: see `run.node(id)`.

    At most `limit` neighbours, training nodes and features are listed; the rest is counted. The
    cost is that of the model's input for this one node. The predictions for the listed nodes are
    included where they are cheap: in a graph of up to 100,000 nodes, where `run.scores` is
    known, and where these nodes have few neighbours.
    """
    if limit < 1:
        raise InputError(f"`limit` must be at least 1; got {limit}.")
    left_out = left_out_note(run)
    run = explained_run(run)
    model = run.network
    view = run.view_of(node)
    held = held_logits(run, view)
    with torch.no_grad():
        scores = model(view).softmax(-1).cpu()
    lead = margin_on(run, view, held)
    reach = Reach.of_view(model, view)
    added = held.contributions(_combinations(lead.answer, lead.second, run.data.classes))
    toward_answer, over_second = added.nodes
    is_train = _training_nodes(run, reach)
    weights = reach.shares.mean(0)
    training_weights = (reach.shares * is_train).mean(0)
    # Places in the reach; the explained node itself is at place 0.
    neighbours = _first(np.arange(1, weights.size), -weights, limit)
    for_answer = _first(np.flatnonzero(toward_answer > 0), -toward_answer, limit)
    for_second = _first(np.flatnonzero(over_second < 0), over_second, limit)
    training = _first(np.flatnonzero(training_weights > 0), -training_weights, limit)
    positions = {0, *neighbours, *for_answer, *for_second, *training}
    listed = _reaching_nodes(run, reach, added, is_train, positions)
    features = _feature_shares(run, added)
    return Explanation(
        data_name=run.data.name,
        method=run.method.title,
        replicas=run.replicas,
        class_names=run.data.class_names,
        uncalibrated=Ensemble.of_scores(scores).probabilities[0],
        temperature=run.temperature,
        disagreement=float(Ensemble.of_scores(scores, run.temperature).disagreement[0]),
        label=int(run.data.labels[node]),
        betas=None if model.betas is None else tuple(model.betas.mean(0).tolist()),
        is_attention=reach.paths.is_attention,
        lead=lead,
        itself=listed[0],
        neighbours=tuple(listed[k] for k in neighbours),
        rest=_rest(weights, added, [0, *neighbours]),
        for_answer=tuple(listed[k] for k in for_answer),
        for_second=tuple(listed[k] for k in for_second),
        training=_training_classes(run, reach, is_train, training_weights),
        training_nodes=tuple(listed[k] for k in training),
        features=tuple(sorted(features, key=lambda share: -share.toward_answer)[:limit]),
        features_for_second=tuple(
            share
            for share in sorted(features, key=lambda share: share.over_second)[:limit]
            if share.over_second < 0
        ),
        notes=(*left_out, *reach.paths.notes),
        url=run.data.text_of(node, "url"),
        description=run.data.text_of(node, "description"),
    )


def _combinations(answer: int, second: int, classes: int) -> NDArray[np.float64]:
    """Return the predicted class's logit less the mean of all, and less the second's; [c, 2]."""
    combinations = np.zeros((classes, 2))
    combinations[answer] += 1.0
    combinations[:, 0] -= 1.0 / classes
    combinations[second, 1] -= 1.0
    return combinations


def _first(nodes: NDArray[np.int64], order: NDArray[np.float64], limit: int) -> list[int]:
    """Return the `limit` nodes with the lowest `order`; equal ones by number."""
    first_nodes: list[int] = nodes[np.argsort(order[nodes], kind="stable")[:limit]].tolist()
    return first_nodes


def _training_nodes(run: Run, reach: Reach) -> NDArray[np.bool_]:
    """Return which nodes' labels each replica was trained on; [R, k]."""
    nodes = reach.nodes.numpy()
    different = {id(split): split for split in run.splits}
    rows = {key: np.isin(nodes, split.train) for key, split in different.items()}
    return np.stack([rows[id(split)] for split in run.splits])


def _feature_shares(run: Run, added: Contributions) -> list[FeatureShare]:
    """Return the features that add anything."""
    columns = np.flatnonzero(np.any(added.features != 0, axis=0))
    return [
        FeatureShare(
            feature=int(k),
            name=feature_name(run, int(k)),
            toward_answer=float(added.features[0, k]),
            over_second=float(added.features[1, k]),
            own=float(added.own_features[0, k]),
        )
        for k in columns
    ]


def _rest(weights: NDArray[np.float64], added: Contributions, listed: list[int]) -> Rest:
    """Return all nodes that reach the target, less those that are listed, together."""
    is_left = np.ones(weights.size, dtype=bool)
    is_left[listed] = False
    toward, over = added.nodes[:, is_left].sum(1)
    return Rest(int(is_left.sum()), float(weights[is_left].sum()), float(toward), float(over))


def _training_classes(
    run: Run, reach: Reach, is_train: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[TrainingClass, ...]:
    """Return the training nodes that reach the target by class, the heaviest class first."""
    data = run.data
    of_any = np.any(is_train, axis=0)  # replica
    labels = data.labels[reach.nodes.numpy()[of_any]]
    counts = np.bincount(labels, minlength=data.classes)
    totals: NDArray[np.float64] = np.zeros(data.classes)
    np.add.at(totals, labels, weights[of_any])
    return tuple(
        TrainingClass(data.class_names[c], int(counts[c]), float(totals[c]))
        for c in np.argsort(-totals, kind="stable")
        if counts[c]
    )


def _reaching_nodes(
    run: Run,
    reach: Reach,
    added: Contributions,
    is_train: NDArray[np.bool_],
    positions: Iterable[int],
) -> dict[int, ReachingNode]:
    """Return the nodes at these places in the reach, by place."""
    data = run.data
    ordered = sorted(set(positions))
    nodes = reach.nodes.numpy()[ordered]
    weights = reach.shares.mean(0)
    predictions = run.ensemble_at(nodes) if run.is_cheap(nodes) else None
    edge_weights = _weights_between(run.graph, int(reach.nodes[0]), nodes)
    own_rows = _own_rows(reach)
    listed = {}
    for k, position in enumerate(ordered):
        node = int(nodes[k])
        label = int(data.labels[node])
        attention, relevances = own_rows.get(position, (None, None))
        listed[position] = ReachingNode(
            node=node,
            id=data.node_ids[node],
            hops=int(np.searchsorted(reach.sizes, position, side="right")),
            weight=float(weights[position]),
            attention=attention,
            relevance=relevances,
            label=None if label < 0 else data.class_names[label],
            trained_in=float(is_train[:, position].mean()),
            prediction=None if predictions is None else data.class_names[predictions.answers[k]],
            confidence=None if predictions is None else float(predictions.probabilities[k].max()),
            toward_answer=float(added.nodes[0, position]),
            over_second=float(added.nodes[1, position]),
            title=data.text_of(node, "title") or None,
            edge_weight=edge_weights[k],
        )
    return listed


def _own_rows(reach: Reach) -> dict[int, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Return every layer's attention and relevance at the target's row, by place of the sender.

    The means over the replicas, for the target itself and its neighbours.
    """
    degree = int(reach.layers[0].lengths[0])
    senders = [0, *reach.layers[0].senders[:degree].tolist()]
    rows = [
        torch.from_numpy(np.hstack([layer.loops[:, :1], layer.edges[:, :degree]]))
        for layer in reach.layers
    ]
    degrees = torch.full((len(senders),), degree)
    attention = torch.stack([row.double().mean(0) for row in rows], 1).tolist()
    relevances = [relevance(row, degrees).double().mean(0) for row in rows]
    by_sender = zip(attention, torch.stack(relevances, 1).tolist(), strict=True)
    return {
        sender: (tuple(weights), tuple(departures))
        for sender, (weights, departures) in zip(senders, by_sender, strict=True)
    }


def _weights_between(graph: Graph, node: int, neighbours: NDArray[np.int64]) -> list[float | None]:
    """Return the weights of the edges from `node` to `neighbours` [k].

    None where there is no edge, and everywhere in a graph without weights.
    """
    if graph.weights is None:
        return [None] * neighbours.size
    senders = torch.from_numpy(neighbours).to(graph.device)
    positions = graph.edge_places(torch.full_like(senders, node), senders).tolist()
    return [None if position < 0 else float(graph.weights[position]) for position in positions]
