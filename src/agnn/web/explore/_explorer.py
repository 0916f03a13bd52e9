"""The answers behind the page, for one run or for two on the same data."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.errors import InputError
from agnn.explanation import (
    Removal,
    WholeGraph,
    counterfactual,
    explained_run,
    margin,
    neighbourhood,
    reach_of,
    removal_effects,
    run_with_betas,
    without_edges,
)
from agnn.web.explore._class_map import ClassMap
from agnn.web.explore._cohorts import Cohorts
from agnn.web.explore._marks import class_marks
from agnn.web.explore._node_map import node_map
from agnn.web.explore._node_search import NodeSearch
from agnn.web.explore._picture import Picture, joint_layout
from agnn.web.explore._records import plain_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.explanation import Margin
    from agnn.runs import Run

_MOST_KEPT: Final = 40_000_000  # weights of all layers and replicas kept in memory: 160 MB
_MOST_WEIGHTS: Final = 60_000_000  # computed to remove edges one by one: about a second
_FEWEST_TRIALS: Final = 5
_MOST_TRIED: Final = 200  # neighbours in a search for what changes a prediction
_MOST_LISTED: Final = 500  # nodes of a cohort


class Explorer:
    """One or two opened runs, and what is kept between requests.

    Every answer consists of JSON values. Requests about nodes share what is computed on first use
    and take turns (`node_lock`). So do requests about classes (`class_lock`), which may take long
    on a large graph.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(explained_run(run) for run in runs)
        first = self.runs[0].data
        for other in self.runs[1:]:
            if other.data.fingerprint != first.fingerprint:
                raise InputError(
                    f"both runs must have the same data; '{first.name}' and '{other.data.name}' "
                    f"differ in nodes, labels, edges or splits."
                )
        self.data = first
        self.search = NodeSearch(first, self.runs[0].graph)
        self.node_lock, self.class_lock = threading.Lock(), threading.Lock()
        self._whole: dict[int, WholeGraph] = {}  # by the identity of the run
        self._changed: tuple[tuple[float, ...], Run] | None = None
        self._maps = [ClassMap(run) for run in self.runs]

    def prepare(self) -> None:
        """Compute now what the first requests would have to wait for."""
        for run in self.runs:
            run.precompute()
            graph, model = run.graph, run.network
            if run.replicas * model.hops * (graph.edges + graph.nodes) <= _MOST_KEPT:
                self._whole[id(run)] = WholeGraph.of(run)
        self.runs[0].node(str(self.data.node_ids[self.start]))
        self.around(self.start, hops=1, limit=2, replica=None)
        _ = self.map  # laid out once, then kept with the run

    @cached_property
    def start(self) -> int:
        """The node that the page shows first.

        Of two runs the clearest difference; else the least certain one of the first thousand test
        nodes with 4 to 12 neighbours.
        """
        run = self.runs[0]
        if len(self.runs) > 1 and (differing := self.cohorts.find("differ").nodes).size:
            return int(differing[0])
        test = np.asarray(run.split.test if run.split.test.size else np.arange(self.data.nodes))
        degrees = run.graph.degrees.numpy()[test]
        fitting = test[(degrees >= 4) & (degrees <= 12)][:1000]
        if not fitting.size:
            return int(test[degrees.argmax()])
        return int(fitting[run.probabilities[fitting].max(1).argmin()])

    def about(self) -> dict[str, Any]:
        """Facts that do not change while the page is open."""
        graph = self.runs[0].graph
        return {
            "data": self.data.name,
            "nodes": graph.nodes,
            "edges": graph.edges // 2,
            "start": str(self.data.node_ids[self.start]),
            "classes": class_marks(self.data.class_names),
            "runs": [_about_run(run) for run in self.runs],
            "cohorts": [each.to_dict() for each in self.cohorts.all.values()],
            "confusion": self.cohorts.confusion(),
        }

    def around(
        self,
        node: int,
        *,
        hops: int,
        limit: int,
        replica: int | None,
        betas: tuple[float, ...] | None = None,
    ) -> dict[str, Any]:
        """The neighbourhood of a node as every run sees it.

        `replica` is one that all runs have, or None for the mean of all. With `betas`, the first
        run is seen as it would be with these.
        """
        if replica is not None:
            _check("replica", replica, 0, min(run.replicas for run in self.runs) - 1)
        pictures = [
            self._picture(run, node, hops=hops, limit=limit, replica=replica)
            for run in self._seen(betas)
        ]
        largest = max(float(each.sizes.max()) for each in pictures)
        radii = [each.radii(largest) for each in pictures]
        places = joint_layout([each.shown for each in pictures], [each.max(0) for each in radii])
        sides = [
            each.to_dict(place, own)
            for each, place, own in zip(pictures, places, radii, strict=True)
        ]
        for side, run, picture in zip(sides, self.runs, pictures, strict=True):
            if "title" in self.data.texts:
                for each in side["nodes"]:
                    each["title"] = self.data.text_of(each["index"], "title") or None
            if (lead := picture.shown.lead) is not None:
                said = lead.sentence(run.method.title, self.data.class_names)
                side["why"] |= {"sentence": said, "by_class": self._by_class(lead)}
        return {"node": self.node_record(node), "sides": sides}

    def _by_class(self, lead: Margin) -> list[dict[str, Any]]:
        """What all other nodes that reach the target add, by their label; -1 is without one."""
        labels = self.data.labels[lead.nodes[1:]]
        counts, sums = (
            np.bincount(labels + 1, weights, self.data.classes + 1)
            for weights in (None, lead.added[1:])
        )
        order = np.argsort(-np.abs(sums), kind="stable")
        return [
            {"label": int(k) - 1, "nodes": int(counts[k]), "value": round(float(sums[k]), 6)}
            for k in order
            if counts[k]
        ]

    def removals(
        self, node: int, pairs: Sequence[tuple[int, int]], replica: int | None
    ) -> dict[str, Any]:
        """The effect of removing each edge alone, in every run.

        Where that would take long, only that of the first edges; None for the others.
        """
        found = []
        for run in self.runs:
            trials = max(_FEWEST_TRIALS, _MOST_WEIGHTS // max(Removal(run, node).cost, 1))
            effects = removal_effects(run, node, pairs[:trials], replica=replica)
            found.append([*plain_numbers(effects), *[None] * (len(pairs) - effects.size)])
        return {"effects": found}

    def _seen(self, betas: tuple[float, ...] | None) -> tuple[Run, ...]:
        """The runs, the first with other betas if some are given."""
        if betas is None:
            return self.runs
        if self._changed is None or self._changed[0] != betas:  # one is kept: a slider moves on
            self._changed = betas, run_with_betas(self.runs[0], betas)
        return self._changed[1], *self.runs[1:]

    def change(self, node: int) -> dict[str, Any]:
        """The fewest edges of the node whose removal changes the first run's prediction."""
        degree = int(self.runs[0].graph.degrees[node])
        if degree > _MOST_TRIED:
            raise InputError(f"it has {degree} neighbours; at most {_MOST_TRIED} are tried.")
        found = counterfactual(self.runs[0], node)
        pairs = [] if found is None else [[node, each] for each in found.nodes]
        return {"edges": pairs, "is_smallest": found is not None and found.is_smallest}

    def _picture(
        self, run: Run, node: int, *, hops: int, limit: int, replica: int | None
    ) -> Picture:
        """What a run sees around a node."""
        reach = reach_of(run, node, self._whole.get(id(run)))
        lead = margin(run, node, replica=replica, reach=reach)
        shown = neighbourhood(
            run, node, run.splits[replica or 0], hops=hops, limit=limit, reach=reach, lead=lead
        )
        if replica is None:
            return Picture(shown, run.probabilities[shown.nodes], None)
        return Picture(shown, shown.scores[replica], replica)

    def without(self, node: int, pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """The mean probabilities of a node in every run, with all edges and without some."""
        return {
            "before": [plain_numbers(run.probabilities[node]) for run in self.runs],
            "after": [plain_numbers(without_edges(run, node, pairs)) for run in self.runs],
        }

    def node_record(self, node: int) -> dict[str, Any]:
        """One entry in a list of nodes."""
        return {
            "index": node,
            "id": str(self.data.node_ids[node]),
            "label": int(self.data.labels[node]),
            "degree": int(self.runs[0].graph.degrees[node]),
            "answers": [int(run.probabilities[node].argmax()) for run in self.runs],
            **{kind: values[node] for kind, values in self.data.texts.items() if values[node]},
        }

    @cached_property
    def cohorts(self) -> Cohorts:
        """Nodes that are worth a look."""
        return Cohorts(self.runs)

    def cohort(self, key: str) -> dict[str, Any]:
        """A cohort with the ids and indices of its first nodes."""
        found = self.cohorts.find(key)
        nodes = found.nodes[:_MOST_LISTED].tolist()
        ids = [str(self.data.node_ids[node]) for node in nodes]
        return {**found.to_dict(), "nodes": nodes, "ids": ids}

    @cached_property
    def map(self) -> dict[str, Any]:
        """All nodes as points."""
        return node_map(self.runs[0]).to_dict(self.runs[0])

    def class_map(self, run: int) -> ClassMap:
        """The class map of a run."""
        _check("run", run, 0, len(self.runs) - 1)
        return self._maps[run]

    def cell_edges(
        self, run: int, layer: int, receiver: int, sender: int, limit: int
    ) -> dict[str, Any]:
        """The most relevant edges of a cell of the class map; layers count from 1."""
        cells = self.class_map(run)
        _check("layer", layer, 1, self.runs[run].network.hops)
        _check("receiver", receiver, 0, self.data.classes - 1)
        _check("sender", sender, 0, self.data.classes - 1)
        found = cells.edges(layer - 1, receiver, sender, limit)
        for end in ("receivers", "senders"):
            found[end] = [str(self.data.node_ids[node]) for node in found[end]]
        return found


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(f"`{name}` must be from {low} to {high}; got {value}.")


def _about_run(run: Run) -> dict[str, Any]:
    accuracy = run.accuracy
    return {
        "title": run.method.title,
        "folder": "" if run.folder is None else run.folder.name,
        "replicas": run.replicas,
        "layers": run.network.hops,
        "betas": None if run.betas is None else plain_numbers(np.mean(run.betas, axis=0)),
        "accuracy": {key: getattr(accuracy, key) for key in ("mean", "standard_error", "n")},
    }
