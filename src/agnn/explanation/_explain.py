"""Explain a run's prediction for one node."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation._contributions import Contributions, contributions
from agnn.explanation._explained_run import explained_run, left_out_note
from agnn.explanation._explanation import (
    Explanation,
    FeatureShare,
    ReachingNode,
    Rest,
    TrainingClass,
)
from agnn.explanation._flow import model_paths, path_rows
from agnn.explanation._margin import feature_names, first_two, held_logits, margin_on
from agnn.explanation._relevance import edge_relevance
from agnn.kernels import Attention
from agnn.metrics import ensemble_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from agnn.graph import ReceptiveField
    from agnn.runs import Run


def explain(run: Run, node: int, *, limit: int = 10) -> Explanation:
    """The reasons for the prediction at one node, given by its index: see `run.node(id)`.

    At most `limit` neighbours, training nodes and features are listed; the rest is counted. The
    cost is that of the model's input for this one node. The predictions for the listed nodes are
    included where they are cheap: in a graph of up to 100,000 nodes, where `run.scores` is
    known, and where these nodes have few neighbours.
    """
    if limit < 1:
        raise InputError(f"`limit` must be at least 1; got {limit}.")
    left_out, run = left_out_note(run), explained_run(run)
    model, view = run.network, run.view_of(node)
    held = held_logits(run, view)
    with torch.no_grad():
        scores = model(view).softmax(-1).cpu()
    said = ensemble_of(scores, run.temperature)
    chances = said.probabilities[0]
    answer, second = first_two(chances)
    paths = model_paths(model, view)
    rows = path_rows(view.field, paths)
    taken_apart = contributions(held, _combinations(answer, second, run.data.classes))
    weights = [hop.attention for hop in paths.hops]
    reach = _Reach(run, view.field, weights, rows[0].numpy(), taken_apart.nodes)
    neighbours = reach.heaviest(limit)
    allies, rivals = reach.for_answer(limit), reach.for_second(limit)
    training = reach.training(limit)
    listed = reach.listed([0, *neighbours, *allies, *rivals, *training])
    label = int(run.data.labels[node])
    features = _features(run, taken_apart)
    return Explanation(
        node=node,
        id=run.data.node_ids[node],
        data_name=run.data.name,
        method=run.method.title,
        replicas=run.replicas,
        class_names=run.data.class_names,
        answer=answer,
        second=second,
        probabilities=chances,
        uncalibrated=ensemble_of(scores).probabilities[0],
        temperature=run.temperature,
        disagreement=float(said.disagreement[0]),
        label=label,
        trained_in=listed[0].trained_in,
        betas=None if model.betas is None else tuple(model.betas.mean(0).tolist()),
        is_attention=paths.is_attention,
        lead=margin_on(run, view, held=held),
        itself=listed[0],
        neighbours=tuple(listed[k] for k in neighbours),
        rest=_rest(reach, neighbours),
        for_answer=tuple(listed[k] for k in allies),
        for_second=tuple(listed[k] for k in rivals),
        training=_by_class(reach),
        training_nodes=tuple(listed[k] for k in training),
        features=tuple(sorted(features, key=lambda each: -each.toward_answer)[:limit]),
        features_for_second=tuple(
            each
            for each in sorted(features, key=lambda each: each.over_second)[:limit]
            if each.over_second < 0
        ),
        notes=(*left_out, *paths.notes),
        url=run.data.text_of(node, "url"),
        description=run.data.text_of(node, "description"),
    )


def _combinations(answer: int, second: int, classes: int) -> NDArray[np.float64]:
    """The predicted class's logit less the mean of all, and less the second's; [c, 2]."""
    found = np.zeros((classes, 2))
    found[answer] += 1.0
    found[:, 0] -= 1.0 / classes
    found[second, 1] -= 1.0
    return found


def _features(run: Run, parts: Contributions) -> list[FeatureShare]:
    """The features that add anything."""
    names = feature_names(run)
    found = np.flatnonzero(np.any(parts.features != 0, axis=0))
    return [
        FeatureShare(
            feature=int(k),
            name=f"feature {k}" if names is None else names[k],
            toward_answer=float(parts.features[0, k]),
            over_second=float(parts.features[1, k]),
            own=float(parts.own_features[0, k]),
        )
        for k in found
    ]


def _rest(reach: _Reach, listed: list[int]) -> Rest:
    """All nodes that reach the target, less itself and those that are listed."""
    left = np.ones(reach.weights.size, dtype=bool)
    left[[0, *listed]] = False
    toward, over = reach.added[:, left].sum(1)
    return Rest(int(left.sum()), float(reach.weights[left].sum()), float(toward), float(over))


def _by_class(reach: _Reach) -> tuple[TrainingClass, ...]:
    """The training nodes that reach the target by class, the heaviest class first."""
    names = reach.run.data.class_names
    counts, weights = reach.training_by_class()
    order = np.argsort(-weights, kind="stable")
    return tuple(
        TrainingClass(names[c], int(counts[c]), float(weights[c])) for c in order if counts[c]
    )


class _Reach:
    """The k nodes of a target's receptive field, the target first, with their weights."""

    def __init__(
        self,
        run: Run,
        field: ReceptiveField,
        weights: Sequence[Attention],
        row: NDArray[np.float64],
        added: NDArray[np.float64],
    ) -> None:
        """`row` [R, k] is what of each node arrives, `added` [2, k] is by `contributions`."""
        self.run = run
        self.nodes: NDArray[np.int64] = field.nodes.cpu().numpy()
        self.added = added
        self.shares = row / row.sum(1, keepdims=True)  # [R, k] each replica's, summing to 1
        self.weights: NDArray[np.float64] = self.shares.mean(0)
        self._sizes = np.array(field.sizes)
        self._beside = field.graph.senders[: int(field.graph.offsets[1])].cpu().numpy()
        first = [Attention(w.edges[:, : self._beside.size], w.loops[:, :1]) for w in weights]
        graph = field.graph.to("cpu")
        self._attention = _own_row(first)
        self._relevance = _own_row([edge_relevance(graph, each) for each in first])

    @cached_property
    def is_train(self) -> NDArray[np.bool_]:
        """[R, k] The nodes whose labels each replica was trained on."""
        different = {id(split): split for split in self.run.splits}
        rows = {key: np.isin(self.nodes, split.train) for key, split in different.items()}
        return np.stack([rows[id(split)] for split in self.run.splits])

    def heaviest(self, limit: int) -> list[int]:
        """Positions of the most attended nodes, without the target."""
        return self._first(np.arange(1, self.nodes.size), -self.weights, limit)

    def for_answer(self, limit: int) -> list[int]:
        """Positions of those that add most to the predicted class's logit, less the mean of all."""
        return self._first(np.flatnonzero(self.added[0] > 0), -self.added[0], limit)

    def for_second(self, limit: int) -> list[int]:
        """Positions of those that add most to the second class's logit, less the first's."""
        return self._first(np.flatnonzero(self.added[1] < 0), self.added[1], limit)

    def training(self, limit: int) -> list[int]:
        """Positions of the most attended training nodes."""
        shown = (self.shares * self.is_train).mean(0)
        return self._first(np.flatnonzero(shown > 0), -shown, limit)

    def training_by_class(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The number of training nodes of each class that reach the target, and their weight."""
        data = self.run.data
        labels, known = data.labels[self.nodes], self.is_train.any(0)
        weight = (self.shares * self.is_train).mean(0)
        counts = np.bincount(labels[known], minlength=data.classes)
        sums: NDArray[np.float64] = np.zeros(data.classes)
        np.add.at(sums, labels[known], weight[known])
        return counts, sums

    def listed(self, places: Iterable[int]) -> dict[int, ReachingNode]:
        """The nodes at these positions, as data."""
        wanted = sorted(set(places))
        nodes, data = self.nodes[wanted], self.run.data
        said = self.run.ensemble_at(nodes) if self.run.is_cheap(nodes) else None
        beside = {int(place): k for k, place in enumerate([0, *self._beside.tolist()])}
        edge_weights = self.run.graph.weights_between(int(self.nodes[0]), nodes)
        found = {}
        for k, place in enumerate(wanted):
            label, column = int(data.labels[nodes[k]]), beside.get(place)
            found[place] = ReachingNode(
                node=int(nodes[k]),
                id=data.node_ids[nodes[k]],
                hops=int(np.searchsorted(self._sizes, place, side="right")),
                weight=float(self.weights[place]),
                attention=None if column is None else tuple(self._attention[:, column].tolist()),
                relevance=None if column is None else tuple(self._relevance[:, column].tolist()),
                label=None if label < 0 else data.class_names[label],
                trained_in=float(self.is_train[:, place].mean()),
                prediction=None if said is None else data.class_names[said.answers[k]],
                confidence=None if said is None else float(said.probabilities[k].max()),
                toward_answer=float(self.added[0, place]),
                over_second=float(self.added[1, place]),
                title=data.text_of(int(nodes[k]), "title") or None,
                edge_weight=edge_weights[k],
            )
        return found

    @staticmethod
    def _first(places: NDArray[np.int64], order: NDArray[np.float64], limit: int) -> list[int]:
        """The `limit` positions with the lowest `order`; equal ones by position."""
        first: list[int] = places[np.argsort(order[places], kind="stable")[:limit]].tolist()
        return first


def _own_row(layers: Sequence[Attention]) -> NDArray[np.float64]:
    """The target's row of every layer, itself first, then its neighbours; [l, 1 + |N(i)|]."""
    return np.stack(
        [np.append(each.loops.double().mean(0), each.edges.double().mean(0)) for each in layers]
    )
