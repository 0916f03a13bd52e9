"""What to label next: nodes that stand for many others that no label speaks for yet."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agnn.data import NodeData
from agnn.data.scaling import suited_scaling
from agnn.errors import InputError
from agnn.files import plain_id
from agnn.graph import adjacency, normalise_rows
from agnn.tables import Column, ResultTable, Row

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from agnn.runs import Run

_DIRECTIONS: Final = 64  # singular directions of wide features
_HOPS: Final = 2
_MOST_CANDIDATES: Final = 4_000  # of a larger graph as many are drawn
_MOST_REPRESENTED: Final = 4_000  # nodes that a candidate's gain is summed over; likewise
_AT_ONCE: Final = 256  # rows of distances in memory
# Several numbers: a synthetic graph may have drawn its classes with the seed 0 itself.
_SEED: Final = (0, 7, 31)
_NO_GAIN: Final = 1e-6  # of the largest gain: rounding


class Suggestion(NamedTuple):
    """A node to label, and for how many others its label would speak."""

    node: int  # index in the data
    id: Hashable
    title: str  # of the node; "" where there is none
    stands_for: int
    """Other unlabelled nodes that are more like it than like any suggested or labelled one."""

    prediction: str | None = None  # by a run
    probability: float | None = None

    @property
    def reason(self) -> str:
        """Why this node, in a phrase."""
        if not self.stands_for:
            return "like no other node without a label"
        return (
            f"stands for {self.stands_for:,} {'node' if self.stands_for == 1 else 'nodes'} like it"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the values and the reason as JSON values."""
        return self._asdict() | {"id": plain_id(self.id), "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Nodes to label next, each the best addition to those before it."""

    data: NodeData
    nodes: tuple[Suggestion, ...]
    asked: int  # for so many

    @property
    def share(self) -> float:
        """The share of the unlabelled nodes that the suggested ones stand for."""
        unlabelled = self.data.nodes - self.data.labelled.size
        return sum(1 + node.stands_for for node in self.nodes) / unlabelled

    @cached_property
    def table(self) -> ResultTable:
        """A row per suggestion."""
        has_titles = "title" in self.data.texts
        has_predictions = any(node.prediction is not None for node in self.nodes)
        columns = (
            Column("node", ("id",), is_name=True),
            *([Column("title", ("title",), is_name=True)] if has_titles else []),
            Column("stands for", ("stands_for",), is_number=True),
            *(
                [
                    Column("predicted", ("prediction",), is_name=True),
                    Column("probability", ("probability",), digits=2, is_number=True),
                ]
                if has_predictions
                else []
            ),
            Column("reason", ("reason",)),
        )
        rows = tuple(
            Row(
                (
                    str(node.id),
                    *([node.title] if has_titles else []),
                    node.stands_for,
                    *([node.prediction, node.probability] if has_predictions else []),
                    node.reason,
                )
            )
            for node in self.nodes
        )
        return ResultTable(columns, rows, "What to label next")

    @property
    def sentences(self) -> list[str]:
        """What the suggestions are, and why there may be fewer than were asked for."""
        labelled = int(self.data.labelled.size)
        unlabelled = self.data.nodes - labelled
        sentences = [
            f"{len(self.nodes):,} of {unlabelled:,} nodes without a label. They stand for "
            f"{self.share:.0%} of these; the others are more like the {labelled:,} labelled nodes."
            if self.share < 1.0
            else f"{len(self.nodes):,} nodes that together stand for all {unlabelled:,} without a "
            f"label."
        ]
        if len(self.nodes) < self.asked:
            sentences.append("Any further node would repeat one of these or a labelled one.")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "labelled": int(self.data.labelled.size),
            "nodes": self.data.nodes,
            "suggestions": [node.to_dict() for node in self.nodes],
        }

    def _repr_html_(self) -> str:
        return str(self.table.html())

    def __repr__(self) -> str:
        return f"Suggestions({len(self.nodes)} nodes of {self.data.name})"


def suggest(
    source: Run | NodeData, count: int = 20, *, among: ArrayLike | None = None
) -> Suggestions:
    """Return the nodes to label next: those that stand for most nodes without a label.

    A node is described by its features, their mean over its neighbours and that over two hops, each
    of length 1. Greedily the node is taken that brings all nodes closest to a node which has a
    label or was taken before, by squared distance as in k-means. So it needs no labels, and a node
    like one that is labelled or suggested already is not suggested again. `among` are the nodes
    that can be labelled, by index; by default all. Given a run, it also says what that predicts.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> unlabelled = agnn.NodeData.build(
    ...     name="papers", features=cora.features, labels=[-1] * cora.nodes, edges=cora.edges,
    ...     class_names=cora.class_names,
    ... )
    >>> first, *others = suggest(unlabelled, 20).nodes
    >>> first.stands_for > 20, len(others)
    (True, 19)
    """
    data = source if isinstance(source, NodeData) else source.data
    unlabelled = np.flatnonzero(data.labels < 0)
    candidates = unlabelled if among is None else np.intersect1d(unlabelled, np.asarray(among))
    if count < 1:
        raise InputError(f"`count` (--count) must be at least 1; got {count}.")
    if not candidates.size:
        which = "every node" if among is None else "every node of `among`"
        raise InputError(f"{which} of '{data.name}' has a label: there is nothing to suggest.")
    if count > candidates.size:
        where = "" if among is None else " in `among`"
        raise InputError(
            f"`count` (--count) is {count:,}, but '{data.name}' has {candidates.size:,} nodes "
            f"without a label{where}; ask for fewer."
        )
    points = describe_nodes(data)
    chosen = choose_nodes(points, candidates, data.labelled, count)
    owners = _nearest(points, unlabelled, np.concatenate([data.labelled, chosen]))
    stands_for = np.bincount(owners, minlength=data.labelled.size + chosen.size)
    predictions = None
    if not isinstance(source, NodeData):
        predictions = source.predict([data.node_ids[node] for node in chosen.tolist()])
    nodes = [
        Suggestion(
            node=node,
            id=data.node_ids[node],
            title=data.text_of(node, "title"),
            stands_for=int(stands_for[data.labelled.size + k]) - 1,
            prediction=None if predictions is None else str(predictions.classes[k]),
            probability=None if predictions is None else float(predictions.confidence[k]),
        )
        for k, node in enumerate(chosen.tolist())
    ]
    return Suggestions(data, tuple(nodes), count)


def describe_nodes(data: NodeData) -> NDArray[np.float32]:
    """Return X, AX and A^2 X side by side, rows of length 1 each; [n, 3 d].

    A is the mean over a node and its neighbours, X the features, in at most 64 singular directions.
    Without features it is the graph's own.
    """
    from scipy import sparse
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    edges = adjacency(data.edges, data.nodes, data.edge_weights)
    mean = normalise_rows(sparse.csr_array(edges + sparse.eye_array(data.nodes)))
    features: Any = data.scaled_features(suited_scaling(data)) if data.feature_count else mean
    is_sparse = sparse.issparse(features)
    width = min(_DIRECTIONS, data.nodes - 1)
    if features.shape[1] > max(width, 1):
        features = TruncatedSVD(max(width, 1), random_state=0).fit_transform(features)
    elif is_sparse:
        features = features.toarray()
    parts = [np.asarray(features, dtype=np.float64)]
    for _ in range(_HOPS):
        parts.append(np.asarray(mean @ parts[-1]))
    return np.hstack([normalize(part) for part in parts]).astype(np.float32)


def choose_nodes(
    points: NDArray[np.float32],
    candidates: NDArray[np.int64],
    labelled: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return up to `count` candidates, by index, that bring all points closest to a chosen one.

    Greedily, each time the candidate with the largest gain: the sum over the points of what their
    squared distance to the nearest labelled or chosen point falls by. A gain only ever falls, so
    one that still leads when it is computed again is the largest (Minoux 1978).
    """
    source = np.random.default_rng(_SEED)  # for graphs too large to look at every pair of nodes
    everything = np.arange(len(points))
    represented = points[np.sort(source.permutation(everything)[:_MOST_REPRESENTED])]
    sample = np.sort(source.permutation(candidates)[: max(_MOST_CANDIDATES, count)])
    # Rows of length 1 in each part are at most this far from each other.
    nearest = np.full(len(represented), 4.0 * (_HOPS + 1.0), dtype=np.float32)
    for start in range(0, labelled.size, _AT_ONCE):
        batch = labelled[start : start + _AT_ONCE]
        nearest = np.minimum(nearest, _distances(points[batch], represented).min(0))
    gains = np.concatenate(
        [
            _gains(points[sample[start : start + _AT_ONCE]], represented, nearest)
            for start in range(0, sample.size, _AT_ONCE)
        ]
    )
    # The smallest of these is the largest gain, and of equal ones the first node.
    waiting = [(-gain, node) for gain, node in zip(gains.tolist(), sample.tolist(), strict=True)]
    heapq.heapify(waiting)
    least = _NO_GAIN * max(float(gains.max()), 1.0)
    chosen: list[int] = []
    while waiting and len(chosen) < count:
        _, node = heapq.heappop(waiting)
        distances = _distances(points[[node]], represented)[0]
        gain = float(np.maximum(nearest - distances, 0.0).sum(dtype=np.float64))
        if waiting and (-gain, node) > waiting[0]:
            heapq.heappush(waiting, (-gain, node))
            continue
        if gain <= least:
            break
        chosen.append(node)
        nearest = np.minimum(nearest, distances)
    return np.array(chosen, dtype=np.int64)


def _gains(
    points: NDArray[np.float32], represented: NDArray[np.float32], nearest: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return what the distances fall by in all if each point is chosen; [k]."""
    falls = np.maximum(nearest - _distances(points, represented), 0.0)
    return np.asarray(falls.sum(1, dtype=np.float64))


def _distances(points: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the squared distance of each point [k, d] to each of the others [m, d]; [k, m]."""
    squares = np.square(points).sum(1)[:, None] + np.square(others).sum(1) - 2.0 * points @ others.T
    return np.asarray(np.maximum(squares, 0.0))


def _nearest(
    points: NDArray[np.float32], nodes: NDArray[np.int64], centres: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each node [k] the place of the nearest centre; itself if it is one."""
    nearest_of_batches = [
        _distances(points[nodes[start : start + _AT_ONCE]], points[centres]).argmin(1)
        for start in range(0, nodes.size, _AT_ONCE)
    ]
    nearest = np.concatenate(nearest_of_batches)
    place_of = {centre: position for position, centre in enumerate(centres.tolist())}
    for k, node in enumerate(nodes.tolist()):
        nearest[k] = place_of.get(node, nearest[k])  # not a twin of it
    return nearest
