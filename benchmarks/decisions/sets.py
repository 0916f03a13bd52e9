"""Prediction sets, thresholds and novelty: whether they keep what they promise on real graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

import agnn
from agnn.data import NodeData, Split, make_splits
from agnn.decisions import AskedNodes, calibrate_novelty, calibrate_sets, choose_threshold
from agnn.decisions._suggest import describe_nodes
from agnn.errors import InputError
from agnn.methods import Majority
from agnn.metrics import Summary
from agnn.runs import KnownResults, Run
from agnn.tables import Column, ResultTable, Row

COVERAGES = (0.8, 0.9, 0.95)
_SPLIT = "5-fold-cross-fit"  # what the default takes where a step is slow; a quick one: ten folds
LINEAR = "linear"  # classifier of `linear_run`
_SHARPNESS = 5.0  # of its probabilities
_JUDGING = 2000  # labels of a draw, at most
Row4 = tuple[float, float, float, float]  # coverage, mean size, share of one class, share of none


def halves(run: Run, draws: int) -> list[tuple[list[str], list[str], NDArray[np.int64]]]:
    """Return random halves of the test nodes: ids that calibrate, ids that judge, their labels."""
    generator = np.random.Generator(np.random.PCG64(0))
    test = run.split.test
    drawn = []
    for _ in range(draws):
        order = generator.permutation(test)
        half = test.size // 2
        first, second = ([run.data.node_ids[n] for n in part] for part in np.split(order, [half]))
        drawn.append((first, second, run.data.labels[order[half:]]))
    return drawn


def measure_sets(run: Run, coverage: float, score: str, draws: int) -> list[Row4]:
    """Return coverage, mean size, share with one class and share with none, for each draw."""
    rows = []
    for calibrating, judging, labels in halves(run, draws):
        rule = calibrate_sets(run, coverage, score=score, calibrate_on=calibrating)
        sets = rule.predict(AskedNodes.known(run, judging))
        rows.append(_figures(sets.is_member, labels))
    return rows


def measure_mapie(run: Run, coverage: float, score: str, draws: int) -> list[Row4]:
    """Return the same for MAPIE's sets from the same probabilities."""
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    probabilities = run.scores[run.members].double().mean(0).numpy()

    class Known(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(run.data.classes)

        def fit(self, X: object, y: object) -> Known:
            return self

        def predict_proba(self, X: NDArray[np.int64]) -> NDArray[np.float64]:
            return probabilities[X[:, 0]]

        def predict(self, X: NDArray[np.int64]) -> NDArray[np.int64]:
            return self.predict_proba(X).argmax(1)

        def __sklearn_is_fitted__(self) -> bool:
            return True

    rows = []
    for calibrating, judging, labels in halves(run, draws):
        first, second = (np.array([[run.node(i)] for i in ids]) for ids in (calibrating, judging))
        peer = SplitConformalClassifier(
            Known(),
            confidence_level=coverage,
            conformity_score=score,
            prefit=True,
            random_state=0,
        )
        peer.conformalize(first, run.data.labels[first[:, 0]])
        _, members = peer.predict_set(second)
        rows.append(_figures(members[:, :, 0], labels))
    return rows


def _figures(is_member: NDArray[np.bool_], labels: NDArray[np.int64]) -> Row4:
    sizes = is_member.sum(1)
    covered = is_member[np.arange(labels.size), labels]
    return covered.mean(), sizes.mean(), (sizes == 1).mean(), (sizes == 0).mean()


def sets_table(runs: Sequence[Run], draws: int, *, has_mapie: bool) -> ResultTable:
    """Return the table of the three scores at the three coverages, MAPIE's beside them."""
    columns = (
        Column("data", ("data",)),
        Column("method", ("method",)),
        Column("score", ("score",)),
        Column("wanted", ("wanted",), digits=2),
        Column("coverage", ("coverage", "coverage_se"), digits=4),
        Column("mean size", ("size", "size_se"), digits=3),
        Column("one class", ("single",), digits=3),
        Column("no class", ("empty",), digits=3),
    )
    rows = []
    for run in runs:
        for coverage in COVERAGES:
            measured = {
                score: measure_sets(run, coverage, score, draws) for score in ("lac", "aps", "daps")
            }
            if has_mapie:
                measured |= {
                    f"MAPIE {score}": measure_mapie(run, coverage, score, draws)
                    for score in ("lac", "aps")
                }
            for score, figures in measured.items():
                covered, size, single, empty = zip(*figures, strict=True)
                cells = (Summary(covered), Summary(size), np.mean(single), np.mean(empty))
                rows.append(Row((run.data.name, run.method.title, score, coverage, *cells)))
    return ResultTable(columns, tuple(rows), f"Halves of the test nodes, {draws} draws")


def with_labels_of(data: NodeData, nodes: NDArray[np.int64]) -> NodeData:
    """Return the data without the labels and splits of all other nodes."""
    labels = np.full(data.nodes, -1)
    labels[nodes] = data.labels[nodes]
    labels.setflags(write=False)
    return replace(data, labels=labels, splits={})


def linear_run(data: NodeData, inputs: NDArray[np.float32], seed: int) -> Run:
    """Return a cross-fitted run of a linear classifier that takes milliseconds.

    Ridge regression on the nodes' descriptions with a fixed penalty: many draws become cheap, and
    what sets promise holds for any classifier.
    """
    splits = make_splits(data, _SPLIT, [seed])
    one_hot = np.eye(data.classes)
    penalty = np.eye(inputs.shape[1])
    scores = []
    for split in splits:
        known = inputs[split.train].astype(np.float64)
        weights = np.linalg.solve(
            known.T @ known + penalty, known.T @ one_hot[data.labels[split.train]]
        )
        shares = np.exp(_SHARPNESS * (inputs @ weights))
        scores.append(shares / shares.sum(1, keepdims=True))
    known_results = KnownResults(scores=torch.tensor(np.stack(scores)), temperature=1.0)
    return Run(
        data=data,
        method=Majority(),  # stands for a method without a network
        splits=tuple(splits),
        seeds=tuple(range(len(splits))),
        accuracy=Summary([0.0]),
        split_spec=_SPLIT,
        known=known_results,
    )


def cross_fitted_table(
    data: NodeData, method: str, labels: int, draws: int, epochs: int | None = None
) -> ResultTable:
    """Return what cross-fitted sets and thresholds reach on labels that were held back.

    In each draw some labels are given, at most a third of all. All of them train, test and
    calibrate; the others judge.
    """
    labels = min(labels, data.labelled.size // 3)
    generator = np.random.Generator(np.random.PCG64(0))
    covered: dict[float, list[Row4]] = {coverage: [] for coverage in COVERAGES}
    precisions = []
    reported = []
    inputs = describe_nodes(data) if method == LINEAR else None
    for draw in range(draws):
        order = generator.permutation(data.labelled)
        known, judging = np.split(order, [labels])
        given = with_labels_of(data, known)
        if method == LINEAR:
            run = linear_run(given, inputs, draw)
        else:
            prepared = agnn.preset_method(method, "random", data.name)
            run = agnn.evaluate(prepared, given, _SPLIT, seed=draw, changes={"epochs": epochs})
        judging = judging[:_JUDGING]
        ids = [data.node_ids[node] for node in judging]
        truth = data.labels[judging]
        for coverage in COVERAGES:
            sets = run.predict_set(coverage, ids)
            covered[coverage].append(_figures(sets.is_member, truth))
        common = int(np.bincount(data.labels[known]).argmax())
        try:
            threshold = choose_threshold(run, data.class_names[common], precision=0.9)
        except InputError:
            continue
        acted = threshold.acts_on(run.predict(ids))
        if not acted.any():
            continue
        precisions.append(100.0 * float((truth[acted] == common).mean()))
        reported.append(threshold.precision.percent or 0.0)
    rows = []
    for coverage, figures in covered.items():
        cover, size, single, empty = zip(*figures, strict=True)
        cells = (Summary(cover), Summary(size), np.mean(single), np.mean(empty))
        rows.append(Row((data.name, method, f"sets at {coverage:g}", *cells)))
    if precisions:
        cells = (Summary(precisions), Summary(reported), None, None)
        rows.append(Row((data.name, method, "precision 0.9 (% reached, % reported)", *cells)))
    columns = (
        Column("data", ("data",)),
        Column("method", ("method",)),
        Column("what", ("what",)),
        Column("coverage", ("coverage", "coverage_se"), digits=4),
        Column("mean size", ("size", "size_se"), digits=3),
        Column("one class", ("single",), digits=3),
        Column("no class", ("empty",), digits=3),
    )
    return ResultTable(columns, tuple(rows), f"{labels} labels, cross-fitted, {draws} draws")


def without_class(data: NodeData, label: int) -> NodeData:
    """Return the data in which no node of a class has a label; its fixed split without them."""
    new_label = np.full(data.classes + 1, -1)  # the last is what -1 stands for
    kept = [other for other in range(data.classes) if other != label]
    new_label[kept] = np.arange(len(kept))
    labels = new_label[data.labels]
    labels.setflags(write=False)
    fixed = data.split("fixed")
    parts = (part[data.labels[part] != label] for part in fixed.parts.values())
    return replace(
        data,
        labels=labels,
        class_names=tuple(data.class_names[other] for other in kept),
        splits={"fixed": Split("fixed", *parts)},
    )


def measure_novelty(
    run: Run, data: NodeData, label: int, rate: float, draws: int
) -> tuple[float, list[float], list[float]]:
    """Return the AUROC of a class that `run` was trained without, false alarms and finds.

    `data` has the class; false alarms and the share that is found are those of each draw.
    """
    from sklearn.metrics import roc_auc_score

    test = data.split("fixed").test
    left_out = [data.node_ids[node] for node in test if data.labels[node] == label]
    areas, alarms, finds = [], [], []
    for calibrating, judging, _ in halves(run, draws):
        rule = calibrate_novelty(run, rate, calibrate_on=calibrating)
        novelty = rule.predict(AskedNodes.known(run, judging + left_out))
        is_new = np.arange(len(novelty)) >= len(judging)
        areas.append(roc_auc_score(is_new, -novelty.p_values))
        alarms.append(float(novelty.is_novel[~is_new].mean()))
        finds.append(float(novelty.is_novel[is_new].mean()))
    return float(np.mean(areas)), alarms, finds


def novelty_table(replicas: Mapping[str, int], rate: float, draws: int) -> ResultTable:
    """Return how well left-out classes are found, over all classes of each dataset."""
    rows = []
    for name, count in replicas.items():
        data = agnn.load_dataset(name)
        method = agnn.preset_method("agnn", "fixed", name)
        measured = []
        for label in range(data.classes):
            run = agnn.evaluate(method, without_class(data, label), "fixed", replicas=count)
            measured.append(measure_novelty(run, data, label, rate, draws))
        areas = Summary([area for area, _, _ in measured])
        alarms = Summary([alarm for _, of_class, _ in measured for alarm in of_class])
        finds = Summary([float(np.mean(found)) for _, _, found in measured])
        rows.append(Row((name, areas, alarms, finds)))
    columns = (
        Column("data", ("data",)),
        Column("AUROC over classes", ("auroc", "auroc_se"), digits=3),
        Column(f"false alarms at {rate:g}", ("alarms", "alarms_se"), digits=4),
        Column("found", ("found", "found_se"), digits=3),
    )
    return ResultTable(columns, tuple(rows), f"One class left out, {draws} draws a class")
