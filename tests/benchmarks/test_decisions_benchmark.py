"""The tables of benchmarks.decisions say what they were made from."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.decisions.sets import (
    halves,
    measure_novelty,
    measure_sets,
    sets_table,
    with_labels_of,
    without_class,
)
from benchmarks.decisions.suggest import measure, peer_nodes, result_table

from agnn.networks import GCN
from agnn.runs import evaluate


@pytest.fixture(scope="module")
def run(toy):
    return evaluate(GCN(epochs=5, hidden=4), toy, "fixed", (0, 1))


def test_halves_calibrate_and_judge_every_test_node_once(run):
    for calibrating, judging, labels in halves(run, 3):
        nodes = [run.node(node_id) for node_id in [*calibrating, *judging]]
        assert sorted(nodes) == sorted(run.split.test.tolist())
        assert labels.tolist() == run.data.labels[nodes[len(calibrating) :]].tolist()
    assert halves(run, 2)[0][0] != halves(run, 2)[1][0]


def test_coverage_is_counted_on_the_judging_half(run):
    calibrating, judging, labels = halves(run, 1)[0]
    sets = run.predict_set(0.5, judging, calibrate_on=calibrating)
    ((covered, size, single, empty),) = measure_sets(run, 0.5, "lac", 1)
    assert covered == sets.is_member[np.arange(labels.size), labels].mean()
    assert size == sets.sizes.mean()
    assert (single, empty) == ((sets.sizes == 1).mean(), (sets.sizes == 0).mean())


def test_the_table_has_a_row_for_each_score_and_coverage(run):
    table = sets_table([run], 2, has_mapie=False)
    assert [row["score"] for row in table.records()] == ["lac", "aps", "daps"] * 3


def test_a_class_that_is_left_out_has_no_label_and_is_in_no_part(toy):
    rest = without_class(toy, 0)
    assert rest.class_names == toy.class_names[1:]
    assert ((rest.labels == -1) == ((toy.labels == 0) | (toy.labels == -1))).all()
    for part in rest.split("fixed").parts.values():
        assert (rest.labels[part] >= 0).all()
    assert with_labels_of(toy, np.array([3])).labelled.tolist() == [3]


def test_novelty_is_measured_with_the_class_that_was_left_out(toy):
    run = evaluate(GCN(epochs=5, hidden=4), without_class(toy, 0), "fixed", (0,))
    area, alarms, finds = measure_novelty(run, toy, 0, 0.2, 3)
    assert 0 <= area <= 1
    assert len(alarms) == len(finds) == 3


def test_suggested_labels_stand_beside_random_ones_on_the_same_test_nodes(toy):
    results = [*measure((0, 1), [toy], (10, 20), "linear")]
    table = result_table(results).records()
    assert [(row["labels"], row["n"]) for row in table] == [(10, 2), (20, 2)]
    for row in table:
        expected = [
            [value for _, size, way, value in results if (size, way) == (row["labels"], name)]
            for name in ("suggest", "random")
        ]
        suggested, drawn = (np.mean(values) for values in expected)
        assert row["difference"] == pytest.approx(suggested - drawn)


@pytest.mark.parametrize("name", ["TypiClust", "CoreSet", "MaxHerding"])
def test_a_peer_takes_other_nodes_of_the_pool_in_every_batch(name):
    pytest.importorskip("skactiveml")
    points = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    pool = np.arange(10, 50)
    first, second = peer_nodes(points, pool, (5, 12), name, 0)
    assert second[:5].tolist() == first.tolist()
    assert np.unique(second).size == 12
    assert np.isin(second, pool).all()
