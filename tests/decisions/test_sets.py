"""Prediction sets hold the true class as often as they promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from zlib import crc32

import numpy as np
import pytest
import torch
from made_up_runs import fixed_run, folded_run, made_up_data, made_up_run, made_up_scores
from numpy.typing import NDArray

from agnn.data import Split
from agnn.decisions import AskedNodes, Wanted, calibrate_sets
from agnn.decisions._sets import cumulative_scores
from agnn.errors import InputError
from agnn.runs import KnownResults, Run
from agnn.runs._model_card import _decisions

SCORES = ("lac", "aps", "daps")


def ids_of_tested(run: Run) -> list[str]:
    return [run.data.node_ids[node] for node in run.split.test]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("coverage", ["0.5", "0.8", "0.9", "0.95"])
def test_each_node_left_out_in_turn_is_covered_exactly_as_often_as_promised(
    score: str, coverage: str
) -> None:
    """Among n + 1 nodes with different scores, ceil((n + 1) coverage) are covered: no chance."""
    run = fixed_run(nodes=65)
    ids = ids_of_tested(run)
    covered = 0
    for left_out in ids:
        others = [node_id for node_id in ids if node_id != left_out]
        sets = run.predict_set(float(coverage), [left_out], score=score, calibrate_on=others)
        covered += bool(sets.is_member[0, run.data.labels[run.node(left_out)]])
    assert covered == ceil(len(ids) * Fraction(coverage))


@pytest.mark.parametrize("score", SCORES)
def test_by_class_each_class_is_covered_exactly_as_often_as_promised(score: str) -> None:
    run = fixed_run(nodes=95)
    ids = ids_of_tested(run)
    labels = run.data.labels[run.split.test]
    covered = np.zeros(3, dtype=int)
    for left_out, label in zip(ids, labels, strict=True):
        others = [node_id for node_id in ids if node_id != left_out]
        sets = run.predict_set(0.8, [left_out], score=score, by_class=True, calibrate_on=others)
        covered[label] += sets.is_member[0, label]
    counts = np.bincount(labels)
    assert covered.tolist() == [ceil(count * Fraction("0.8")) for count in counts.tolist()]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("by_class", [False, True])
def test_a_calibrating_node_has_the_set_that_the_others_give_it(score: str, by_class: bool) -> None:
    run = fixed_run(nodes=95)
    ids = ids_of_tested(run)
    together = run.predict_set(
        0.8, ids, score=score, by_class=by_class, calibrate_on="test"
    ).p_values
    for k in (0, 7, 50):
        others = [node_id for node_id in ids if node_id != ids[k]]
        rule = calibrate_sets(run, 0.8, score=score, by_class=by_class, calibrate_on=others)
        alone = rule.predict(AskedNodes.known(run, [ids[k]])).p_values
        np.testing.assert_allclose(together[k], alone[0])


def judged_score(run: Run, node: int, label: int, labelled: int) -> float:
    """How badly a class fits a node, by the mean of the replicas that test a labelled node."""
    judges = [r for r, split in enumerate(run.splits) if labelled in split.test]
    return float(1.0 - run.scores.numpy()[judges, node, label].mean())


def with_unknown_labels(whole: Run, nodes: NDArray[np.int64]) -> Run:
    """The same scores where some nodes have no label and are in no fold."""
    labels = np.array(whole.data.labels)
    labels[nodes] = -1
    splits = (
        Split(split.name, np.setdiff1d(split.train, nodes), [], np.setdiff1d(split.test, nodes))
        for split in whole.splits
    )
    return replace(whole, data=replace(whole.data, labels=labels), splits=tuple(splits))


@pytest.mark.parametrize("passes", [1, 2])
def test_a_new_node_is_judged_by_the_replicas_of_a_labelled_node_drawn_by_its_id(
    passes: int,
) -> None:
    run = with_unknown_labels(folded_run(passes=passes), np.array([3, 58]))
    known = [node for node in range(60) if node not in (3, 58)]
    values = [judged_score(run, other, run.data.labels[other], other) for other in known]
    sets = run.predict_set(0.9, ["3", "58"])
    for row, node in enumerate((3, 58)):
        like = known[crc32(str(node).encode()) % 58]
        for label in range(3):
            score = judged_score(run, node, label, like)
            expected = (1 + sum(value >= score for value in values)) / 59
            assert sets.p_values[row, label] == pytest.approx(expected)
    assert run.predict_set(0.9, ["58"]).p_values.tolist() == sets.p_values[1:].tolist()


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("by_class", [False, True])
def test_cross_fitted_sets_cover_as_often_as_promised_where_replicas_disagree(
    passes: int, by_class: bool
) -> None:
    """New nodes from the same source, 80 draws: the mean is within three standard errors.

    The mean of all replicas would cover more: they disagree about the new nodes.
    """
    shares = []
    promised = []
    for seed in range(80):
        whole = folded_run(nodes=240, passes=passes, seed=seed, disagreement=2.0)
        asked = np.arange(100, 240)
        run = with_unknown_labels(whole, asked)
        sets = run.predict_set(0.8, by_class=by_class)
        labels = whole.data.labels[asked]
        shares.append(sets.is_member[asked, labels].mean())
        # Of n labels and a new one ceil((n + 1) 0.8) are covered: a little more than 0.8.
        compared = np.bincount(run.data.labels[:100])[labels] if by_class else np.array([100])
        promised.append((np.ceil((compared + 1) * 0.8 - 1e-9) / (compared + 1)).mean())
    difference = np.array(shares) - promised
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    assert abs(difference.mean()) < 3 * error
    assert error < 0.006


def test_a_labelled_node_is_compared_with_the_others_by_the_replicas_that_left_it_out() -> None:
    """Over two passes a node has two judges, whose mean counts."""
    run = folded_run(passes=2)
    labels = run.data.labels
    values = [judged_score(run, node, labels[node], node) for node in range(60)]
    for node, label in ((0, 0), (17, 2), (59, 1)):
        score = judged_score(run, node, label, node)
        others = sum(values[other] >= score for other in range(60) if other != node)
        actual = run.predict_set(0.9, [str(node)]).p_values[0, label]
        assert actual == pytest.approx((1 + others) / 60)


def test_validation_nodes_do_not_calibrate_and_the_message_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"validation nodes chose the epoch.*--split cross-fit"):
        fixed_run().predict_set(0.9)
    with pytest.raises(InputError, match="takes 'test' or a list of ids; got 'validation'"):
        fixed_run().predict_set(0.9, calibrate_on="validation")
    with pytest.raises(InputError, match=r"node '0' cannot calibrate: it is not a test node"):
        fixed_run().predict_set(0.9, calibrate_on=["0", "7"])


@pytest.mark.parametrize("coverage", [-1.0, 0.0, 1.0, 90.0, float("nan"), "0.9", None, True])
def test_a_coverage_outside_0_and_1_is_refused(coverage: object) -> None:
    with pytest.raises(InputError, match=r"`coverage` must be between 0 and 1, such as 0.9"):
        folded_run().predict_set(coverage)  # type: ignore[arg-type]


def test_no_nodes_have_no_sets() -> None:
    sets = folded_run().predict_set(0.9, [])
    assert (len(sets), repr(sets)) == (0, "PredictionSets(0 nodes, coverage 0.9)")


def test_too_few_labels_for_the_coverage_are_refused_with_the_number_needed() -> None:
    run = fixed_run(nodes=30)
    ids = ids_of_tested(run)
    assert run.predict_set(0.9, calibrate_on=ids[:9]).rule.reference.count == 9
    with pytest.raises(InputError, match=r"0.9 needs at least 9 labels to calibrate; there are 8"):
        run.predict_set(0.9, calibrate_on=ids[:8])
    with pytest.raises(InputError, match=r"within every class needs at least 19 labels of each"):
        run.predict_set(0.95, by_class=True, calibrate_on="test")


def test_the_epochs_that_tested_nodes_chose_calibrate_nothing() -> None:
    run = replace(folded_run(), split_spec="5-fold")
    watched = replace(run, method=type(run.method)())
    object.__setattr__(watched.method, "watched", "test")
    with pytest.raises(InputError, match="every tested label of this run also chose an epoch"):
        watched.predict_set(0.9)


def test_unknown_scores_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown score 'lacs'; did you mean 'lac'"):
        folded_run().predict_set(0.9, score="lacs")  # type: ignore[arg-type]


def test_cumulative_scores_add_the_classes_before_and_half_of_the_class() -> None:
    scores = cumulative_scores(np.array([[0.2, 0.5, 0.3]]))
    np.testing.assert_allclose(scores, [[0.9, 0.25, 0.65]])


def test_daps_is_half_of_a_node_and_half_of_the_mean_of_its_neighbours() -> None:
    run = fixed_run()
    mean = run.scores.numpy().mean(0)
    own = cumulative_scores(mean)
    rule = calibrate_sets(run, 0.9, score="daps", calibrate_on="test")
    (judge,) = rule.reference.judges
    values = rule.reference.values
    labels = run.data.labels
    beside = {10: (9, 11), 30: (29, 31), 57: (56, 0), 58: (58,), 59: (59,)}
    for node, neighbours in beside.items():
        expected = 0.5 * own[node] + 0.5 * own[list(neighbours)].mean(0)
        place = np.flatnonzero(judge.nodes == node)[0]
        np.testing.assert_allclose(values[place], expected[labels[node]])


def test_class_coverages_count_the_calibrating_nodes_whose_set_has_their_class() -> None:
    run = folded_run(nodes=90)
    sets = run.predict_set(0.7)
    labels = run.data.labels
    is_covered = sets.is_member[np.arange(90), labels]
    shares = sets.rule.class_coverages
    assert tuple(shares) == run.data.class_names
    for label, share in enumerate(shares.values()):
        assert share.of == (labels == label).sum()
        assert share.count == is_covered[labels == label].sum()
    assert sum(share.count for share in shares.values()) == 63  # 0.7 of 90
    assert sets.rule.to_dict()["mean_size"] == pytest.approx(sets.sizes.mean())
    assert [row["labels"] for row in sets.rule.table.records()] == np.bincount(labels).tolist()


def test_a_class_that_is_hardly_covered_is_named() -> None:
    run = folded_run(nodes=90)
    scores = run.scores.clone()
    scores[:, :, 2] *= 1e-3  # never likely
    scores /= scores.sum(-1, keepdim=True)
    biased = replace(run, known=KnownResults(scores=scores, temperature=1.0))
    warnings = biased.predict_set(0.7).warnings
    assert any("of class 'class 2' only" in warning for warning in warnings), warnings
    assert not biased.predict_set(0.7, by_class=True).warnings


def test_the_sizes_are_said_in_a_sentence_and_among_those_of_the_command() -> None:
    rules = Wanted(coverage=0.5).calibrate(folded_run(nodes=90))
    rule = rules.sets
    assert rule is not None
    one, none = (100 * np.mean(rule.sizes == size) for size in (1, 0))
    assert (
        f"a set holds {np.mean(rule.sizes):.2f} classes on average; {one:.0f} % hold one class and "
        f"can be acted on, {none:.0f} % hold none." in rules.sentences[1]
    )


def test_empty_sets_are_named_where_they_are_many() -> None:
    run = folded_run(nodes=90)
    rule = calibrate_sets(run, 0.3)
    share = f"{100 * (rule.sizes == 0).mean():.0f} % of the sets of labelled nodes are empty"
    assert rule.warnings[0].startswith(share)
    assert not any("empty" in warning for warning in calibrate_sets(run, 0.95).warnings)


def test_the_guarantee_is_one_sentence_with_its_assumption() -> None:
    assert folded_run().predict_set(0.9).rule.guarantee == (
        "About 90 % of the sets hold the true class, if the nodes asked about are drawn like the "
        "60 labels that calibrated them."
    )
    split = fixed_run().predict_set(0.9, calibrate_on="test").rule.guarantee
    assert split.startswith("At least 90 % of the sets hold the true class, if")


def test_the_model_card_says_what_sets_promise_and_where_they_fall_short() -> None:
    run = folded_run(nodes=300)
    scores = run.scores.clone()
    scores[:, np.flatnonzero(run.data.labels == 2)[:26], 2] *= 1e-3  # never likely
    scores /= scores.sum(-1, keepdim=True)
    biased = replace(run, known=KnownResults(scores=scores, temperature=1.0))
    rule = calibrate_sets(biased, 0.9)
    lines = "\n".join(_decisions(biased))
    assert f"{rule.guarantee} {rule.size_sentence}" in lines
    assert "- Warning: of the nodes of class 'class 2' only" in lines


def test_nodes_unlike_the_labelled_ones_get_a_warning() -> None:
    data = made_up_data(300)
    scores = made_up_scores(data, 1)
    split = Split("fixed", list(range(5)), [], list(range(5, 150)))
    run = made_up_run(data, scores, [split])
    assert not run.predict_set(0.8, calibrate_on="test").warnings
    strange = scores.copy()
    strange[:, 150:] = 1 / 3  # of none of the classes
    other = made_up_run(data, strange, [split])
    assert (
        "are not like the labelled ones" in other.predict_set(0.8, calibrate_on="test").warnings[0]
    )
    # Only the nodes asked about count.
    assert not other.predict_set(0.8, ids_of_tested(run), calibrate_on="test").warnings


def test_every_decision_is_warned_of_nodes_that_no_label_speaks_for() -> None:
    data = made_up_data(300)
    scores = made_up_scores(data, 1)
    scores[:, 150:] = 1 / 3
    run = made_up_run(data, scores, [Split("fixed", list(range(5)), [], list(range(5, 150)))])
    for decision in ({"coverage": 0.8}, {"false_alarms": 0.1}, {"class_name": "class 1"}):
        goal = {"recall": 0.5} if "class_name" in decision else {}
        rules = Wanted(**decision, **goal, calibrate_on="test").calibrate(run)
        _, warnings = rules.apply(AskedNodes.known(run))
        assert "are not like the labelled ones" in warnings[0], decision


def test_data_with_times_gets_a_warning() -> None:
    run = fixed_run()
    timed = replace(run, data=run.data.with_splits({"time": run.split}))
    assert "of other times than the labelled ones" in timed.predict_set(
        0.8, calibrate_on="test"
    ).warnings[0]  # fmt: skip


def test_sets_are_columns_that_read_and_an_empty_one_says_so(tmp_path) -> None:
    import pandas as pd

    run = folded_run(nodes=90)
    sets = run.predict_set(0.3)
    assert (sets.sizes == 0).any()
    assert (sets.sizes > 0).any()
    sets.save(tmp_path / "sets.csv")
    sets.save(tmp_path / "sets.parquet")
    texts = pd.read_csv(tmp_path / "sets.csv")
    lists = pd.read_parquet(tmp_path / "sets.parquet")
    assert texts["set_size"].tolist() == lists["set_size"].tolist() == sets.sizes.tolist()
    assert [list(names) for names in lists["set"]] == sets.sets
    expected = [" | ".join(names) or "none of the classes fits" for names in sets.sets]
    assert texts["set"].tolist() == expected
    assert sets.to_dict()["set"] == sets.sets


def test_the_most_probable_class_comes_first_in_a_set() -> None:
    sets = folded_run().predict_set(0.95)
    names = sets.predictions.class_names
    for row, members in zip(sets.predictions.probabilities, sets.sets, strict=True):
        shares = [row[names.index(name)] for name in members]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_mapie_gives_the_same_sets(coverage: float) -> None:
    """LAC is a quantile of 1 - p; MAPIE computes the same one from an estimator."""
    classification = pytest.importorskip("mapie.classification")
    from sklearn.base import BaseEstimator, ClassifierMixin

    run = fixed_run(nodes=205, replicas=1)
    probabilities = run.scores[0].numpy()

    class Known(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(3)

        def fit(self, X, y):
            return self

        def predict_proba(self, X):
            return probabilities[X[:, 0]]

        def predict(self, X):
            return self.predict_proba(X).argmax(1)

        def __sklearn_is_fitted__(self) -> bool:
            return True

    calibrating, asked = run.split.test[:100], run.split.test[100:]
    peer = classification.SplitConformalClassifier(
        Known(), confidence_level=coverage, conformity_score="lac", prefit=True
    )
    peer.conformalize(calibrating[:, None], run.data.labels[calibrating])
    _, theirs = peer.predict_set(asked[:, None])
    ids = run.data.node_ids
    sets = run.predict_set(
        coverage, [ids[node] for node in asked], calibrate_on=[ids[node] for node in calibrating]
    )
    assert (sets.is_member == theirs[:, :, 0]).all()


def test_sets_come_from_scores_without_the_temperature() -> None:
    """The temperature was fitted to labels, with cross-fitting to those that calibrate."""
    run = folded_run()
    hot = replace(run, known=KnownResults(scores=run.scores, temperature=3.0))
    assert (hot.predict_set(0.8).p_values == run.predict_set(0.8).p_values).all()
    assert torch.equal(hot.scores, run.scores)


def test_sure_predictions_of_training_nodes_are_no_reason_for_a_warning() -> None:
    """They are asked about, too, where all nodes are, but their labels are known."""
    data = made_up_data(300)
    scores = made_up_scores(data, 1)
    scores[:, :150] = np.eye(3)[data.labels[:150]]
    split = Split("fixed", list(range(150)), [], list(range(150, 270)))
    run = made_up_run(data, scores, [split])
    assert not run.predict_set(0.8, calibrate_on="test").warnings
