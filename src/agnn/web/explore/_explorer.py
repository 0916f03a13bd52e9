"""The answers behind the page, for one run or for two on the same data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.decisions import AskedNodes, Audit, PredictionSets, audit, calibrate_sets
from agnn.drawing import QUICK, class_mark, joint_layout
from agnn.errors import InputError
from agnn.explanation import (
    Changes,
    Counterfactual,
    Margin,
    Neighbourhood,
    Removal,
    WholeGraph,
    changed_run,
    explained_run,
    feature_name,
    own_features,
    reach_of,
)
from agnn.metrics import Summary
from agnn.palette import ink_on
from agnn.runs import Run
from agnn.web.explore._class_map import ClassMap
from agnn.web.explore._cohorts import SUSPICIOUS, Cohorts
from agnn.web.explore._node_map import NodeMap, node_map
from agnn.web.explore._node_search import NodeSearch
from agnn.web.explore._picture import Picture, add_removed, drawn_radii, plain_numbers

_MOST_KEPT: Final = 250_000_000  # weights of all layers and replicas kept in memory: 1 GB
_MOST_WEIGHTS: Final = 60_000_000  # computed to remove edges one by one: about a second
_FEWEST_TRIALS: Final = 5
_MOST_TRIED: Final = 200  # neighbours in a search for what changes a prediction
_MOST_LISTED: Final = 500  # nodes of a cohort
_MOST_FEATURES: Final = 100  # of a node in a list
_MOST_COVERAGES: Final = 10  # whose sets are kept in memory
_AS_TRAINED: Final = Changes()


class Explorer:
    """One or two opened runs, and what is kept between requests.

    Every answer consists of JSON values. Requests about nodes share what is computed on first use
    and take turns (`node_lock`). So do requests about classes (`class_lock`), which may take long
    on a large graph.
    """

    def __init__(self, runs: Sequence[Run], layout: NodeMap | None = None) -> None:
        self.opened = tuple(runs)
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
        self.node_lock = threading.Lock()
        self.class_lock = threading.Lock()
        self._whole: dict[int, WholeGraph] = {}  # by the identity of the run
        self._changed: tuple[Changes, tuple[Run, ...]] | None = None
        self._sets: dict[tuple[int, float], PredictionSets | str] = {}  # by run and coverage
        self._maps = [ClassMap(run) for run in self.runs]
        self._layout = layout

    def prepare(self) -> None:
        """Compute now what the first requests would have to wait for."""
        for run in self.runs:
            run.precompute()
            graph = run.graph
            model = run.network
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
            "classes": _class_marks(self.data.class_names),
            "runs": [_about_run(run) for run in self.runs],
            "cohorts": [cohort.to_dict() for cohort in self.cohorts.all.values()],
            "confusion": self.cohorts.confusion(),
        }

    def around(
        self,
        node: int,
        *,
        hops: int,
        limit: int,
        replica: int | None,
        changes: Changes = _AS_TRAINED,
    ) -> dict[str, Any]:
        """The neighbourhood of a node as every run sees it on the changed graph.

        `replica` is one that all runs have, or None for the mean of all. Betas are changed in the
        first run. What was removed is laid out too, where it would be if it were still there.
        """
        if replica is not None:
            _check("replica", replica, 0, min(run.replicas for run in self.runs) - 1)
        seen = self._runs_with(changes)
        old = self.runs if changes.removed else ()
        before, pictures = (
            [self._picture(run, node, hops=hops, limit=limit, replica=replica) for run in runs]
            for runs in (old, seen)
        )
        radii = drawn_radii(pictures)
        # The graph with all edges first: it decides where nodes lie, so that they stay there.
        laid_out = np.unique([node for picture in before for node in picture.around.nodes.tolist()])
        sizes = [
            np.where(np.isin(picture.around.nodes, laid_out), 0.0, picture_radii.max(0))
            for picture, picture_radii in zip(pictures, radii, strict=True)
        ]
        places = joint_layout(
            [picture.around for picture in (*before, *pictures)],
            [*(picture_radii.max(0) for picture_radii in drawn_radii(before)), *sizes],
            QUICK,
        )
        sides = [
            picture.to_dict(positions, picture_radii)
            for picture, positions, picture_radii in zip(
                pictures, places[len(old) :], radii, strict=True
            )
        ]
        if changes:
            for side, run in zip(sides, self.runs, strict=True):
                side["before"] = plain_numbers(self._chances(run, np.array([node]), replica)[0])
        for k in range(len(old)):
            around = before[k].around
            chances = self._chances(seen[k], around.nodes, replica)
            add_removed(sides[k], around, places[k], chances, changes.removed)
        for side, run, picture in zip(sides, self.runs, pictures, strict=True):
            if "title" in self.data.texts:
                for dot in side["nodes"]:
                    dot["title"] = self.data.text_of(dot["index"], "title") or None
            if (lead := picture.around.lead) is not None:
                sentence = lead.sentence(run.method.title, self.data.class_names)
                side["why"] |= {"sentence": sentence, "by_class": self._by_class(lead)}
        return {"node": self.node_record(node), "sides": sides, "names": self._names(changes)}

    def _names(self, changes: Changes) -> dict[str, Any]:
        """What the nodes and features of the changes are called, by index."""
        columns = sorted({column for _, column in changes.dropped})
        return {
            "nodes": {node: self.data.name_of(node) for node in changes.nodes},
            "features": {column: feature_name(self.runs[0], column) for column in columns},
        }

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
        self,
        node: int,
        pairs: Sequence[tuple[int, int]],
        replica: int | None,
        changes: Changes = _AS_TRAINED,
    ) -> dict[str, Any]:
        """The effect of removing each edge alone, in every run.

        Where that would take long, only that of the first edges; None for the others.
        """
        effects_by_run = []
        for run in self._runs_with(changes):
            trials = max(_FEWEST_TRIALS, _MOST_WEIGHTS // max(Removal(run, node).cost, 1))
            effects = Removal(run, node).effects(pairs[:trials], replica=replica)
            effects_by_run.append([*plain_numbers(effects), *[None] * (len(pairs) - effects.size)])
        return {"effects": effects_by_run}

    def _runs_with(self, changes: Changes) -> tuple[Run, ...]:
        """The runs on the changed graph, the first with other betas if some are given."""
        if not changes:
            return self.runs
        if self._changed is None or self._changed[0] != changes:  # one is kept: a slider moves on
            first = changed_run(self.runs[0], changes)
            others = replace(changes, betas=None)
            self._changed = changes, (first, *(changed_run(r, others) for r in self.runs[1:]))
        return self._changed[1]

    def change(self, node: int, changes: Changes = _AS_TRAINED) -> dict[str, Any]:
        """The fewest edges of the node whose removal changes the first run's prediction."""
        run = self._runs_with(changes)[0]
        degree = int(run.graph.degrees[node])
        if degree > _MOST_TRIED:
            raise InputError(f"it has {degree} neighbours; at most {_MOST_TRIED} are tried.")
        changed = Counterfactual.of(run, node)
        pairs = [] if changed is None else [[node, other] for other in changed.nodes]
        return {"edges": pairs, "is_smallest": changed is not None and changed.is_smallest}

    def features(
        self, target: int, node: int, replica: int | None, changes: Changes = _AS_TRAINED
    ) -> dict[str, Any]:
        """A node's features that add or take most at the target, and how many it has."""
        features = own_features(self._runs_with(changes)[0], target, node, replica=replica)
        return {
            "count": len(features),
            "features": [
                feature._asdict() | {"value": round(feature.value, 6)}
                for feature in features[:_MOST_FEATURES]
            ],
        }

    def _picture(
        self, run: Run, node: int, *, hops: int, limit: int, replica: int | None
    ) -> Picture:
        """What a run sees around a node."""
        reach = reach_of(run, node, self._whole.get(id(run)))
        lead = Margin.of(run, node, replica=replica, reach=reach)
        around = Neighbourhood.of(
            run, node, run.splits[replica or 0], hops=hops, limit=limit, reach=reach, lead=lead
        )
        return Picture(around, self._chances(run, around.nodes, replica), replica)

    def _chances(
        self, run: Run, nodes: NDArray[np.int64], replica: int | None
    ) -> NDArray[np.float64]:
        """The probabilities [k, c] of some nodes by the ensemble or by one replica."""
        chances: NDArray[np.float64]
        if replica is not None:
            chances = run.scores_at(nodes)[replica].double().numpy()
        elif run in self.runs:  # all are known
            chances = run.probabilities[nodes]
        else:
            chances = run.ensemble_at(nodes).probabilities
        return chances

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
        """A cohort with the ids and indices of its first nodes.

        Of suspicious labels also why each is suspicious, and the class to correct it to.
        """
        cohort = self.cohorts.find(key)
        nodes = cohort.nodes[:_MOST_LISTED].tolist()
        ids = [str(self.data.node_ids[node]) for node in nodes]
        record = {**cohort.to_dict(), "nodes": nodes, "ids": ids}
        if key != SUSPICIOUS:
            return record
        suspicious = self._audit.suspicious[: len(nodes)]
        reasons = [
            f"Suspicious label: models that were not trained on it predict {label.prediction} "
            f"({label.probability:.0%}), and {label.label} has {label.label_probability:.0%}. "
            f"{label.reason}"
            for label in suspicious
        ]
        proposed = [self.data.class_names.index(label.prediction) for label in suspicious]
        return record | {"reasons": reasons, "proposed": proposed}

    @cached_property
    def _audit(self) -> Audit:
        return audit(self.runs[0])

    def sets(self, node: int, coverage: float) -> dict[str, Any]:
        """The prediction set of a node by every run as trained, or why a run has none."""
        return {"sets": [self._set(k, node, coverage) for k in range(len(self.runs))]}

    def _set(self, run: int, node: int, coverage: float) -> dict[str, Any]:
        if (run, coverage) not in self._sets:
            if len(self._sets) >= _MOST_COVERAGES:
                self._sets.clear()
            self._sets[run, coverage] = _all_sets(self.runs[run], coverage)
        sets = self._sets[run, coverage]
        if isinstance(sets, str):
            return {"classes": None, "said": sets}
        order = np.argsort(-sets.predictions.probabilities[node], kind="stable")
        is_member = sets.rule.is_in_set(sets.p_values[node])
        classes = [label for label in order.tolist() if is_member[label]]
        return {"classes": classes, "said": sets.rule.guarantee}

    @cached_property
    def layout(self) -> NodeMap:
        """Where nodes lie on the map: as given, or as kept with the first run."""
        return self._layout or node_map(self.runs[0])

    @cached_property
    def map(self) -> dict[str, Any]:
        """All nodes as points."""
        return self.layout.to_dict(self.runs[0])

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
        edges = cells.edges(layer - 1, receiver, sender, limit)
        for end in ("receivers", "senders"):
            edges[end] = [str(self.data.node_ids[node]) for node in edges[end]]
        return edges


def _all_sets(run: Run, coverage: float) -> PredictionSets | str:
    """Return the prediction sets of all nodes, or why there are none."""
    try:
        return calibrate_sets(run, coverage).predict(AskedNodes.known(run))
    except InputError as error:
        return str(error)


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(f"`{name}` must be from {low} to {high}; got {value}.")


def _class_marks(class_names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return name, colour, ink and shape of every class in order, and last of unlabelled nodes."""
    names = dict(enumerate(class_names)) | {-1: "no label"}
    marks = {label: class_mark(label) for label in names}
    return [
        {
            "name": name,
            "colour": marks[label].colour,
            "ink": ink_on(marks[label].colour),
            "shape": marks[label].svg_path,
            "is_empty": label < 0,
        }
        for label, name in names.items()
    ]


def _about_run(run: Run) -> dict[str, Any]:
    return {
        "title": run.method.title,
        "folder": "" if run.folder is None else run.folder.name,
        "replicas": run.replicas,
        "layers": run.network.hops,
        "betas": None if run.betas is None else plain_numbers(np.mean(run.betas, axis=0)),
        "accuracy": summary_record(run.accuracy),
    }


def summary_record(values: Summary) -> dict[str, Any]:
    """A mean with its standard error, as JSON values."""
    return {key: getattr(values, key) for key in ("mean", "standard_error", "n")}
