"""What a run would predict for a node if some edges were missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.explanation._changes import Changes, changed_run, explained_run, is_structural
from agnn.files import plain, plain_id
from agnn.graph import Graph, ReceptiveField, View
from agnn.runs import Run

_MOST_TOGETHER: Final = 4_000_000  # weights computed at once: some 100 MB


class Removal:
    """One node of a run, predicted again and again with some edges removed."""

    def __init__(self, run: Run, node: int) -> None:
        self._run = explained_run(run)
        self._node = node
        self._view = self._run.view_of(node)

    @property
    def cost(self) -> int:
        """The weights that one prediction computes: edges and nodes, times layers and replicas."""
        field = self._view.field
        return (field.graph.edges + field.nodes.numel()) * field.hops * self._run.replicas

    def probabilities(
        self, pairs: Iterable[tuple[int, int]], *, replica: int | None = None
    ) -> NDArray[np.float64]:
        """Return the node's probabilities [c] without these undirected edges, pairs of indices.

        Those of the ensemble, or of one replica.
        """
        graph = self._run.graph
        ends = _edge_ends(graph, pairs)
        if ends.numel() and is_structural(self._run):
            gone = Changes(removed=tuple((int(i), int(j)) for i, j in ends.T if i < j))
            changed = changed_run(self._run, gone)
            return self._probabilities(changed.scores_around([self._node]), replica)
        weights = graph.weights_as(torch.float64)
        if weights is not None:
            weights = weights[graph.edge_places(*ends)]
        view = view_without(self._view, ends, weights)
        with torch.no_grad():
            return self._probabilities(self._run.network(view).softmax(-1).cpu(), replica)

    def effects(
        self, pairs: Iterable[tuple[int, int]], *, replica: int | None = None
    ) -> NDArray[np.float64]:
        """Return how far the probability of the predicted class falls without each edge; [p].

        Positive where the edge supports the prediction, negative where it speaks against it.
        """
        before = self.probabilities((), replica=replica)
        answer = int(before.argmax())
        effects: NDArray[np.float64] = (
            before[answer] - self.singly(pairs, replica=replica)[:, answer]
        )
        return effects

    def singly(
        self, pairs: Iterable[tuple[int, int]], *, replica: int | None = None
    ) -> NDArray[np.float64]:
        """Return the node's probabilities [p, c] without each of these edges alone.

        They are computed together: the node's surroundings stand there once for every edge, and
        the model runs once on all of them.
        """
        removals = [_edge_ends(self._run.graph, [pair]) for pair in pairs]
        if not removals:
            return np.empty((0, self._run.data.classes))
        graph = self._run.graph
        if is_structural(self._run) or graph.weights is not None or self._view.field.sizes[0] != 1:
            pairs_again = [(int(ends[0, 0]), int(ends[1, 0])) for ends in removals]
            return np.stack([self.probabilities([pair], replica=replica) for pair in pairs_again])
        together = max(1, _MOST_TOGETHER // max(self.cost, 1))
        after = []
        for start in range(0, len(removals), together):
            view = views_without(self._view, torch.stack(removals[start : start + together]))
            with torch.no_grad():
                scores = self._run.network(view).softmax(-1).cpu()
            if replica is not None:
                after.append(scores[replica].double().numpy())
            else:
                after.append(self._run.ensemble_of(scores).probabilities)
        return np.concatenate(after)

    def _probabilities(self, scores: Tensor, replica: int | None) -> NDArray[np.float64]:
        """Return the target's probabilities [c] from scores [R, 1, c]."""
        if replica is not None:
            return np.asarray(scores[replica, 0].double().numpy())
        return np.asarray(self._run.ensemble_of(scores).probabilities[0])


def without_edges(run: Run, node: int, pairs: Iterable[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the node's probabilities [c] without these undirected edges, pairs of indices.

    The mean over the replicas at the run's temperature, as the run's own probabilities. Exact: the
    model is computed again on the node's neighbourhood, with new attention and new degrees.
    """
    return Removal(run, node).probabilities(pairs)


def view_without(view: View, ends: Tensor, weights: Tensor | None = None) -> View:
    """Return the view without these edges [2, k], both ways, in the whole graph's indices.

    `weights` [k] are those of the edges, where the graph has weights.

    The nodes stay where they are, also those that come to lie farther away, so every layer
    computes the rows that it did.
    """
    if not ends.numel():
        return view
    field = view.field
    ends = ends.to(field.graph.device)
    ascending, order = torch.sort(field.nodes)
    position = torch.searchsorted(ascending, ends).clamp(max=ascending.numel() - 1)
    is_inside = ascending[position] == ends  # [2, k]
    rows = order[position]
    # An edge beyond the rim still counts in the degree of the end that is inside.
    gone = torch.bincount(
        rows[0][is_inside[0]],
        None if weights is None else weights.to(field.graph.device)[is_inside[0]],
        minlength=field.nodes.numel(),
    )
    graph = _without(field.graph, rows[:, is_inside.all(0)])
    smaller = ReceptiveField(graph, field.nodes, None, field.sizes)
    return View(view.features, smaller, view.degrees - gone)


def views_without(view: View, removals: Tensor) -> View:
    """Return a view of one target once for every removal [p, 2, k], each without its edges.

    The copies share no edge. Each layer computes the rows of all copies; the targets come first, in
    the order of the removals. Edges have no weights.
    """
    field = view.field
    copies = removals.shape[0]
    size = field.nodes.numel()
    device = field.graph.device
    starts = torch.tensor([0, *field.sizes[:-1]], device=device)
    rings = torch.tensor(field.sizes, device=device) - starts
    # Nodes stand by hop: a ring of all copies, then the next ring of all copies.
    index = torch.arange(size, device=device)
    ring = torch.bucketize(index, torch.tensor(field.sizes, device=device), right=True)
    copy = torch.arange(copies, device=device)[:, None]
    row = copies * starts[ring] + copy * rings[ring] + index - starts[ring]  # [p, n]

    ascending, order = torch.sort(field.nodes)
    ends = removals.to(device)
    position = torch.searchsorted(ascending, ends.contiguous()).clamp(max=size - 1)
    is_inside = ascending[position] == ends  # [p, 2, k]
    gone_rows = order[position] + size * copy[..., None]
    degrees = view.degrees.repeat(copies)
    degrees = degrees - torch.bincount(gone_rows[:, 0][is_inside[:, 0]], minlength=degrees.numel())

    receivers = (field.graph.receivers + size * copy).flatten()
    senders = (field.graph.senders + size * copy).flatten()
    gone = gone_rows.transpose(0, 1)[:, is_inside.all(1)]  # [2, removed]
    width = copies * size
    is_kept = ~torch.isin(receivers * width + senders, gone[0] * width + gone[1])
    new_rows = row.flatten()
    receivers = new_rows[receivers[is_kept]]
    by_row = torch.argsort(receivers, stable=True)
    offsets = torch.zeros(width + 1, dtype=torch.int64, device=device)
    torch.cumsum(torch.bincount(receivers, minlength=width), dim=0, out=offsets[1:])
    columns = new_rows[senders[is_kept]][by_row].to(field.graph.columns.dtype)
    source = torch.argsort(new_rows)
    nodes = field.nodes.repeat(copies)[source]
    sizes = tuple(copies * count for count in field.sizes)
    joined = ReceptiveField(Graph(offsets, columns), nodes, None, sizes)
    return View(view.features.select(source % size), joined, degrees[source])


def _without(graph: Graph, pairs: Tensor) -> Graph:
    """Return the graph without the edges [2, k]; those that it does not hold are no matter."""
    keys = graph.receivers * graph.nodes + graph.senders
    is_kept = ~torch.isin(keys, pairs[0] * graph.nodes + pairs[1])
    degrees = torch.bincount(graph.receivers[is_kept], minlength=graph.nodes)
    offsets = torch.zeros_like(graph.offsets)
    torch.cumsum(degrees, dim=0, out=offsets[1:])
    weights = None if graph.weights is None else graph.weights[is_kept]
    return Graph(offsets, graph.columns[is_kept], graph.order, weights)


def _edge_ends(graph: Graph, pairs: Iterable[tuple[int, int]]) -> Tensor:
    """Return the edges both ways, each once; [2, k] int64. Raises for one that is not there."""
    ends = torch.tensor([(int(i), int(j)) for i, j in pairs], dtype=torch.int64).reshape(-1, 2)
    outside = ends[(ends < 0) | (ends >= graph.nodes)]
    if outside.numel():
        raise InputError(
            f"`pairs` names node {int(outside[0])}; the graph has 0 to {graph.nodes - 1}."
        )
    missing = ends[graph.edge_places(ends[:, 0], ends[:, 1]) < 0]
    if missing.numel():
        i, j = missing[0].tolist()
        raise InputError(f"`pairs` names the edge {i} - {j}, which the graph does not have.")
    directed: Tensor = torch.unique(torch.cat([ends, ends.flip(1)]), dim=0)
    return directed.T.contiguous()


_MOST_PAIRS: Final = 200  # tried; with more neighbours than 20 the smallest pair is not looked for


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A set of neighbours without whose edges another class is predicted."""

    nodes: tuple[int, ...]  # indices in the data
    ids: tuple[Hashable, ...]
    answer: int  # the class that is predicted then
    probabilities: NDArray[np.float64]  # [c] then
    is_smallest: bool  # no smaller set does it; otherwise only none of it can be left out
    trials: int

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON values."""
        ids = [plain_id(node_id) for node_id in self.ids]
        return dict(plain(vars(self) | {"ids": ids}))

    @classmethod
    def of(cls, run: Run, node: int) -> Counterfactual | None:
        """Return the smallest set of neighbours whose removal changes the prediction.

        None if no set does. Every neighbour is tried alone, and every pair if there are at most 20
        neighbours. Then neighbours are removed one after the other, the most harmful first, until
        the prediction changes; those that turn out to be unnecessary are put back. The result is
        minimal: none of it can be put back, but a smaller set of others may exist.
        """
        search = _Search(run, node)
        singles = [(k,) for k in range(len(search.beside))]
        if (changing := search.first_change(singles)) is not None:
            return search.result(changing, is_smallest=True)
        pairs = list(combinations(range(len(search.beside)), 2))
        is_exhaustive = len(pairs) <= _MOST_PAIRS
        if is_exhaustive and (changing := search.first_change(pairs)) is not None:
            return search.result(changing, is_smallest=True)
        changing = search.grow()
        if changing is None:
            return None
        least = search.prune(changing)
        return search.result(least, is_smallest=is_exhaustive and len(least) == 3)


class _Search:
    """Trials on one node; sets of neighbours are tuples of positions in `beside`."""

    def __init__(self, run: Run, node: int) -> None:
        self._run = run
        self._node = node
        self._removal = Removal(run, node)
        graph = run.graph
        row = slice(int(graph.offsets[node]), int(graph.offsets[node + 1]))
        self.beside: list[int] = graph.columns[row].tolist()
        self._answer = int(self._removal.probabilities(()).argmax())
        self._tried: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def first_change(self, sets: Iterable[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Return the set that makes the prediction least probable, of those that change it."""
        changing = [removed for removed in sets if self._changes(removed)]
        return min(changing, key=lambda removed: self._after(removed)[self._answer], default=None)

    def grow(self) -> tuple[int, ...] | None:
        """Add neighbours in the order of their effect alone, until the prediction changes."""
        alone = [float(self._after((k,))[self._answer]) for k in range(len(self.beside))]
        order = np.argsort(alone, kind="stable").tolist()
        for size in range(1, len(order) + 1):
            removed = tuple(sorted(order[:size]))
            if self._changes(removed):
                return removed
        return None

    def prune(self, removed: tuple[int, ...]) -> tuple[int, ...]:
        """Leave out those, tried in turn, that the set does not need."""
        for edge in removed:
            fewer = tuple(k for k in removed if k != edge)
            if fewer and self._changes(fewer):
                removed = fewer
        return removed

    def result(self, removed: tuple[int, ...], *, is_smallest: bool) -> Counterfactual:
        """Return the set as data."""
        nodes = tuple(self.beside[k] for k in removed)
        after = self._after(removed)
        return Counterfactual(
            nodes=nodes,
            ids=tuple(self._run.data.node_ids[k] for k in nodes),
            answer=int(after.argmax()),
            probabilities=after,
            is_smallest=is_smallest,
            trials=len(self._tried),
        )

    def _changes(self, removed: tuple[int, ...]) -> bool:
        return int(self._after(removed).argmax()) != self._answer

    def _after(self, removed: tuple[int, ...]) -> NDArray[np.float64]:
        if removed not in self._tried:
            pairs = [(self._node, self.beside[k]) for k in removed]
            self._tried[removed] = self._removal.probabilities(pairs)
        return self._tried[removed]
