"""What the page asks: one run, or two beside each other, on the same data."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.errors import InputError
from agnn.explanation import neighbourhood, without_edges
from agnn.web.explore.class_cells import ClassCells
from agnn.web.explore.differences import Differences, differences
from agnn.web.explore.joint_layout import joint_layout
from agnn.web.explore.marks import class_marks
from agnn.web.explore.node_search import NodeSearch
from agnn.web.explore.picture import Picture
from agnn.web.explore.records import plain_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.explanation import OpenedRun

_KEPT: Final = 40_000_000  # weights of all layers and replicas that are kept in memory: 160 MB


class Explorer:
    """One or two opened runs and what is kept between questions about them.

    Every answer is in what JSON has. One question about nodes is answered at a time, and one about
    classes, which may take long on a large graph: they share what is computed on first use.
    """

    def __init__(self, runs: Sequence[OpenedRun]) -> None:
        self.runs = tuple(runs)
        first = self.runs[0].data
        for other in self.runs[1:]:
            if other.data.fingerprint != first.fingerprint:
                raise InputError(
                    f"both runs must have the same data; got '{first.name}' and "
                    f"'{other.data.name}' with other nodes, labels, edges or splits."
                )
        self.data = first
        self.search = NodeSearch(first, self.runs[0].trained.graph)
        self.node_lock, self.class_lock = threading.Lock(), threading.Lock()
        self._cells = [ClassCells(run.trained) for run in self.runs]

    def prepare(self) -> None:
        """Compute what the first question would wait for."""
        for run in self.runs:
            run.probabilities  # noqa: B018 kept on first use
            graph, model = run.trained.graph, run.trained.model
            if run.replicas * model.hops * (graph.edges + graph.nodes) <= _KEPT:
                run.trained.kept_weights  # noqa: B018 likewise
        self.runs[0].node(str(self.data.node_ids[self.start]))
        self.around(self.start, hops=1, limit=2, replica=None)

    @cached_property
    def start(self) -> int:
        """The node a visitor sees first: a test node with neighbours, answered with doubt.

        Of the first thousand test nodes with 4 to 12 neighbours the least certain one.
        """
        run = self.runs[0]
        test = np.asarray(run.split.test if run.split.test.size else np.arange(self.data.nodes))
        degrees = run.trained.graph.degrees.numpy()[test]
        fitting = test[(degrees >= 4) & (degrees <= 12)][:1000]
        if not fitting.size:
            return int(test[degrees.argmax()])
        return int(fitting[run.probabilities[fitting].max(1).argmin()])

    def about(self) -> dict[str, Any]:
        """What does not change while the page is open."""
        graph = self.runs[0].trained.graph
        return {
            "data": self.data.name,
            "nodes": graph.nodes,
            "edges": graph.edges // 2,
            "start": str(self.data.node_ids[self.start]),
            "classes": class_marks(self.data.class_names),
            "runs": [_about_run(run) for run in self.runs],
        }

    def around(self, node: int, *, hops: int, limit: int, replica: int | None) -> dict[str, Any]:
        """The neighbourhood of a node as every run sees it."""
        pictures = [
            self._picture(run, node, hops=hops, limit=limit, replica=replica) for run in self.runs
        ]
        largest = max(float(each.shares.max()) for each in pictures)
        radii = [each.radii(largest) for each in pictures]
        places = joint_layout([each.shown for each in pictures], [each.max(0) for each in radii])
        sides = [
            each.to_dict(place, own)
            for each, place, own in zip(pictures, places, radii, strict=True)
        ]
        return {"node": self.node_record(node), "sides": sides}

    def _picture(
        self, run: OpenedRun, node: int, *, hops: int, limit: int, replica: int | None
    ) -> Picture:
        """What a run sees; of a run with fewer replicas the last one."""
        own = None if replica is None else min(replica, run.replicas - 1)
        shown = neighbourhood(run.trained, node, run.splits[own or 0], hops=hops, limit=limit)
        if own is None:
            return Picture(shown, run.probabilities[shown.nodes], None)
        return Picture(shown, shown.scores[own], own)

    def without(self, node: int, pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """The mean probabilities of a node in every run, with all edges and without some."""
        return {
            "before": [plain_numbers(run.probabilities[node]) for run in self.runs],
            "after": [plain_numbers(without_edges(run, node, pairs)) for run in self.runs],
        }

    def node_record(self, node: int) -> dict[str, Any]:
        """What a list of nodes says about one."""
        return {
            "index": node,
            "id": str(self.data.node_ids[node]),
            "label": int(self.data.labels[node]),
            "degree": int(self.runs[0].trained.graph.degrees[node]),
            "answers": [int(run.probabilities[node].argmax()) for run in self.runs],
        }

    @cached_property
    def differing(self) -> Differences:
        """Where the two runs differ."""
        if len(self.runs) < 2:
            raise InputError("there is one run; start with --compare RUN2 to see two.")
        return differences(*self.runs)

    def cells(self, run: int) -> ClassCells:
        """The class heat map of a run."""
        _check("run", run, 0, len(self.runs) - 1)
        return self._cells[run]

    def cell_edges(
        self, run: int, layer: int, receiver: int, sender: int, limit: int
    ) -> dict[str, Any]:
        """The edges behind a cell of the heat map, the most relevant first; layers from 1."""
        cells = self.cells(run)
        _check("layer", layer, 1, self.runs[run].trained.model.hops)
        _check("receiver", receiver, 0, self.data.classes - 1)
        _check("sender", sender, 0, self.data.classes - 1)
        found = cells.edges(layer - 1, receiver, sender, limit)
        for end in ("receivers", "senders"):
            found[end] = [str(self.data.node_ids[node]) for node in found[end]]
        return found


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(f"`{name}` must be from {low} to {high}; got {value}.")


def _about_run(run: OpenedRun) -> dict[str, Any]:
    model, saved = run.trained.model, run.saved
    accuracy = saved.config["accuracy"]
    return {
        "title": run.method.title,
        "folder": saved.folder.name,
        "replicas": run.replicas,
        "layers": model.hops,
        "accuracy": {key: accuracy[key] for key in ("mean", "standard_error", "n")},
    }
