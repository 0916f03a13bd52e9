"""The margin over the second class as a sum of steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agnn.explanation import Margin, Step, WholeGraph, explain, reach_of
from agnn.methods import get_method
from agnn.runs import Run, evaluate
from explore_runs import ALONE, HUB, explored_data

NODES = (HUB, ALONE, 100, 17)


@pytest.fixture(scope="module", params=["agnn", "gcn", "gat"])
def run(request: pytest.FixtureRequest) -> Run:
    fields = {"epochs": 10}
    return evaluate(get_method(request.param)(**fields), explored_data(), "fixed", seeds=range(2))


def logits(run: Run, node: int) -> torch.Tensor:
    with torch.no_grad():
        return run.network(run.view_of(node))[:, 0].double()


@pytest.mark.parametrize("node", NODES)
def test_the_steps_sum_to_the_difference_of_the_mean_logits(run: Run, node: int) -> None:
    found = Margin.of(run, node)
    mean = logits(run, node).mean(0)
    wanted = float(mean[found.answer] - mean[found.second])
    assert found.total == pytest.approx(wanted, abs=1e-5)
    assert sum(step.value for step in found.steps) == pytest.approx(wanted, abs=1e-5)
    assert found.answer == int(run.probabilities[node].argmax())
    assert [step.kind for step in found.steps[:2]] == ["constant", "itself"]


def test_one_replica_has_its_own_margin(run: Run) -> None:
    found = Margin.of(run, HUB, replica=1)
    own = logits(run, HUB)[1]
    first, second = torch.topk(own, 2).values.tolist()
    assert found.total == pytest.approx(first - second, abs=1e-5)


def test_an_explanation_has_the_same_steps_and_nodes(run: Run) -> None:
    found = explain(run, HUB, limit=5)
    lead = Margin.of(run, HUB)
    assert [step.value for step in found.lead.steps] == [step.value for step in lead.steps]
    by_node = dict(zip(lead.nodes.tolist(), lead.added, strict=True))
    for each in (found.itself, *found.neighbours, *found.for_answer):
        assert each.over_second == pytest.approx(by_node[each.node], abs=1e-5)
    assert found.margin_constant == pytest.approx(lead.constant)


def test_the_features_of_a_node_and_the_first_bias_sum_to_its_part(run: Run) -> None:
    from agnn.explanation import HeldLogits

    view = run.view_of(100)
    held = HeldLogits.of(run.network, view)
    lead = np.array([1.0, -1.0, 0.0])
    added, _ = held.node_contributions(lead, range(run.replicas))
    features = held.feature_contributions(lead, range(run.replicas), [0, 2])
    x = run.data.features.toarray()[view.field.nodes[[0, 2]].numpy()]
    assert (features[x == 0] == 0).all()
    if all(first.bias is None for first in held.first):
        np.testing.assert_allclose(features.sum(1), added[[0, 2]], atol=1e-5)


def test_main_reasons_are_named_only_where_they_are_most_of_what_speaks_for_it(run: Run) -> None:
    names = run.data.class_names
    spread = 0
    for node in range(0, run.data.nodes, 7):
        lead = Margin.of(run, node)
        words = lead.sentence("M", names)
        assert words.startswith(f"M predicts {names[lead.answer]} (")
        assert f"ahead of {names[lead.second]}" in words
        addends = np.sort([lead.constant, *lead.added])
        in_favour = addends[addends > 0].sum()
        is_most = addends[-3:][addends[-3:] > 0].sum() >= in_favour / 2
        assert ("mostly because of" in words) == (is_most and addends[-1] > 0.005)
        assert ("spread over" in words) == (not is_most)
        best = max(lead.steps, key=lambda step: step.value if step.kind != "rest" else -np.inf)
        if best.value > 0.005:
            name = {"itself": "its own features", "constant": "the model's constant"}
            said = f" {name.get(best.kind, best.name)} (+{best.value:.2f})"
            assert said in words.partition("against it")[0]
        spread += not is_most
    if run.method.name != "gat":  # whose constant is most, after so few epochs
        assert 0 < spread < len(range(0, run.data.nodes, 7))


def test_groups_are_all_nodes_of_a_distance_and_a_label(run: Run) -> None:
    lead = Margin.of(run, HUB)
    groups = [step for step in lead.steps if step.kind == "group"]
    if run.method.name == "gat":  # see above
        assert not groups
        return
    assert groups, "the hub's reasons are spread"
    listed = [step.node for step in lead.steps if step.kind in ("itself", "node")]
    beside = {int(j) for i, j in run.data.edges.T if i == HUB}
    beside |= {int(i) for i, j in run.data.edges.T if j == HUB}
    names = run.data.class_names
    for name, value in ((step.name, step.value) for step in groups):
        is_near = "neighbour" in name
        label = next((k for k, each in enumerate(names) if f"labelled {each}" in name), -1)
        if "other classes" in name:
            label = ({0, 1, 2} - {lead.answer, lead.second}).pop()
        members = [
            (node, added)
            for node, added in zip(lead.nodes.tolist(), lead.added, strict=True)
            if node not in listed and (node in beside) == is_near and run.data.labels[node] == label
        ]
        assert int(name.split()[0].replace(",", "")) == len(members)
        assert value == pytest.approx(sum(added for _, added in members), abs=1e-6)
    assert sum(step.nodes for step in groups) + len(listed) == lead.nodes.size
    assert ("other" in groups[0].name.replace("of other", "")) == (len(listed) > 1)


def test_the_largest_single_node_is_named_where_reasons_are_spread() -> None:
    from agnn.explanation._steps import reasons_text

    group = Step("group", 0.9, 1101, title="1,101 neighbours labelled red")
    largest = Step("node", 0.15, node=290, id="290")
    own = Step("itself", 0.13, node=1)
    assert reasons_text([own, group], largest) == (
        "; the reasons are spread over 1,101 nodes: 1,101 neighbours labelled red (+0.90) and its "
        "own features (+0.13); the largest single one is 290 (+0.15)"
    )
    assert "single" not in reasons_text([own, largest, group], largest)
    against = Step("group", -0.2, 7, title="7 farther nodes labelled green")
    assert reasons_text([own, against], None).endswith(
        "; 7 farther nodes labelled green (\u22120.20) speak most against it"
    )


def test_steps_are_json_values(run: Run) -> None:
    from agnn.files import json_text

    text = json_text(Margin.of(run, 61).to_dict())
    assert "<script>" in text or "\\u003c" in text


@pytest.mark.parametrize("replica", [None, 1])
def test_a_lookup_in_the_whole_graph_gives_the_same_margin(run: Run, replica: int | None) -> None:
    whole = WholeGraph.of(run)
    for node in NODES:
        one = Margin.of(run, node, replica=replica)
        two = Margin.of(run, node, replica=replica, reach=reach_of(run, node, whole))
        assert (one.answer, one.second) == (two.answer, two.second)
        np.testing.assert_allclose(one.added, two.added, atol=1e-5)
        assert [step.name for step in one.steps] == [step.name for step in two.steps]
        for a, b in zip(one.steps, two.steps, strict=True):
            assert by_name(a) == pytest.approx(by_name(b), abs=1e-5)


def by_name(step: Step) -> dict[str, float]:
    return {feature.name: feature.value for feature in step.features}


def test_the_sentence_never_calls_a_prediction_certain(run: Run) -> None:
    from dataclasses import replace

    found = Margin.of(run, 100)
    for chance, words in ((0.9962, "(over 99 %)"), (0.994, "(99 %)"), (0.814, "(81 %)")):
        probabilities = np.full(len(run.data.class_names), 0.0)
        probabilities[found.answer] = chance
        said = replace(found, probabilities=probabilities).sentence("M", run.data.class_names)
        assert words in said
