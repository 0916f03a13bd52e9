"""Labels that chose nothing: which nodes may calibrate a decision, and by which replicas."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from agnn.data import NodeData, SplitSpec
from agnn.errors import InputError
from agnn.graph import adjacency, normalise_rows
from agnn.runs import Predictions, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import ReadKeywords

TEST: Final = "test"


@dataclass(frozen=True, eq=False)
class Judges:
    """Replicas that predict together, and labelled nodes that neither trained nor chose them."""

    replicas: NDArray[np.int64]  # by index
    nodes: NDArray[np.int64]  # [k] ascending

    def probabilities(self, scores: Tensor) -> NDArray[np.float64]:
        """Return the mean over these replicas of scores [R, n, c]; [n, c].

        Without the temperature of the run: that was fitted to labels.
        """
        return np.asarray(scores[self.replicas].double().mean(0).cpu().numpy())


@dataclass(frozen=True, eq=False)
class AskedNodes:
    """Nodes that a decision is asked about, in the graph around them."""

    predictions: Predictions  # [k]
    scores: Tensor  # [R, n, c] of every node of the graph
    rows: NDArray[np.int64]  # [k] where the nodes are in `scores`
    data: NodeData | None  # the graph; None where only the asked nodes themselves were computed
    is_known: bool = False  # whether the graph is the run's own

    @classmethod
    def known(cls, run: Run, ids: Sequence[Hashable] | None = None) -> AskedNodes:
        """Return nodes of the run's graph, by their ids, or all."""
        rows = np.arange(run.data.nodes)
        if ids is not None:
            rows = np.array([run.node(node_id) for node_id in ids], dtype=np.int64)
        return cls(run.predict(ids), run.scores, rows, run.data, is_known=True)

    @classmethod
    def out_of_fold(cls, run: Run) -> AskedNodes:
        """Return the tested nodes, each predicted by replicas that were not trained on it."""
        predictions = run.predict_out_of_fold()
        return replace(cls.known(run, predictions.ids), predictions=predictions)

    @classmethod
    def of_graph(cls, run: Run, data: NodeData) -> AskedNodes:
        """Return all nodes of a graph: the run's, or another with the same features."""
        if run.is_trained_on(data):
            return cls.known(run)
        scores = run.scores_on(data)
        predictions = Predictions.of_data(data, run.data.class_names, run.ensemble_of(scores))
        return cls(predictions, scores, np.arange(data.nodes), data)

    @classmethod
    def new(
        cls,
        run: Run,
        nodes: Any,
        edges: Any,
        *,
        has_neighbours: bool = True,
        **options: Unpack[ReadKeywords],
    ) -> AskedNodes:
        """Return nodes that were not there in training, as `Run.predict_new` reads them.

        With `has_neighbours` the whole larger graph is computed, which scores that average over
        neighbours need.
        """
        if not has_neighbours:
            predictions, scores = run.score_new(nodes, edges, **options)
            return cls(predictions, scores, np.arange(len(predictions)), None)
        from agnn.data.tables import with_new_nodes

        grown = with_new_nodes(run.data, nodes, edges, **options)
        rows = np.arange(run.data.nodes, grown.nodes)
        scores = run.scores_on(grown)
        predictions = Predictions.of_data(
            grown, run.data.class_names, run.ensemble_of(scores[:, rows]), rows.tolist()
        )
        return cls(replace(predictions, labels=None), scores, rows, grown)

    def neighbour_mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of values [n, d] over each node's neighbours; its own without any."""
        if self.data is None:
            raise InputError("this score needs the neighbours of the nodes; ask with their graph.")
        matrix = normalise_rows(adjacency(self.data.edges, self.data.nodes))
        is_alone = np.diff(matrix.indptr) == 0
        mean = np.asarray(matrix @ values)
        return np.where(is_alone[:, None], values, mean)


def find_judges(
    run: Run, calibrate_on: str | Sequence[Hashable] | None = None
) -> tuple[Judges, ...]:
    """Return the nodes that may calibrate decisions on this run, with the replicas that judge them.

    These are the nodes that a replica tests. With cross-fitting or nested folds they are all labels
    and are used by default. A split into three parts has other uses for its test nodes: that they
    calibrate is asked for by `calibrate_on="test"`, or by the ids of some of them. Its validation
    nodes cannot calibrate: they chose the epoch.
    """
    spec = SplitSpec.parse(run.split_spec)
    if run.caveat is not None:
        raise InputError(
            f"every tested label of this run also chose an epoch (split '{run.split_spec}'), so "
            f"none can calibrate a decision; train with cross-fitting (--split cross-fit)."
        )
    if calibrate_on is None and spec.folds == 1:
        raise InputError(
            f"this run has no out-of-fold predictions (split '{run.split_spec}'), and its "
            f"validation nodes chose the epoch. Train with cross-fitting (--split cross-fit), "
            f"where every label calibrates, or let the test nodes calibrate "
            f"(--calibrate-on test, calibrate_on='test')."
        )
    if isinstance(calibrate_on, str) and calibrate_on != TEST:
        raise InputError(f"`calibrate_on` takes 'test' or a list of ids; got '{calibrate_on}'.")
    groups: dict[bytes, list[int]] = {}
    for replica in run.members.tolist():
        groups.setdefault(run.splits[replica].test.tobytes(), []).append(replica)
    judges = [
        Judges(np.array(replicas), np.sort(run.splits[replicas[0]].test))
        for replicas in groups.values()
    ]
    if calibrate_on is None or isinstance(calibrate_on, str):
        return tuple(judges)
    nodes = np.array([run.node(node_id) for node_id in calibrate_on], dtype=np.int64)
    tested = np.concatenate([judge.nodes for judge in judges])
    if (outside := nodes[~np.isin(nodes, tested)]).size:
        raise InputError(
            f"node {run.data.node_ids[int(outside[0])]!r} cannot calibrate: it is not a test node "
            f"of this run ({outside.size} of {nodes.size} are not)."
        )
    chosen = [Judges(judge.replicas, judge.nodes[np.isin(judge.nodes, nodes)]) for judge in judges]
    return tuple(judge for judge in chosen if judge.nodes.size)
