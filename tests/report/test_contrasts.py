"""Nodes that one model knows and another does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agnn.data import Split
from agnn.errors import InputError
from agnn.report._paper_figures import find_contrasts
from agnn.runs import KnownResults, Run
from toy_runs import run_of
from zoo import ZOO
from zoo_models import random_model, zoo_data, zoo_model


def answering(right: dict[int, list[float]], name: str = "random") -> Run:
    """A model whose replicas give the true class these probabilities; elsewhere 0.9."""
    data = zoo_data(name)
    trained = run_of(random_model("gcn"), data, splits=(SPLIT,) * 3)
    scores = torch.empty(3, data.nodes, 3)
    for node, label in enumerate(data.labels.tolist()):
        true = torch.tensor(right.get(node, [0.9] * 3))
        # The rest goes to one other class, so that less than 0.5 is a wrong answer.
        scores[:, node, (label + 1) % 3] = 1 - true
        scores[:, node, (label + 2) % 3] = 0.0
        scores[:, node, label] = true
    return replace(trained, known=KnownResults(scores))


SPLIT = Split("test", np.array([0]), np.array([1]), np.arange(2, 200))
ANY = range(1, 201)
WRONG = [0.1, 0.1, 0.1]


def test_contrasts_are_the_test_nodes_that_most_know_here_and_most_miss_there() -> None:
    right = answering({5: [0.9, 0.9, 0.1], 6: [0.9, 0.1, 0.1], 7: WRONG})
    wrong = answering({1: WRONG, 5: WRONG, 6: WRONG, 7: WRONG, 8: [0.1, 0.9, 0.9], 9: WRONG})
    assert sorted(find_contrasts(right, wrong, SPLIT, 9, sizes=ANY)) == [5, 9]


def test_the_clearest_contrast_is_first() -> None:
    right = answering({5: [0.9, 0.9, 0.1], 9: [0.6, 0.6, 0.6], 11: [0.8, 0.8, 0.8]})
    wrong = answering(dict.fromkeys((5, 9, 11, 30, 20), WRONG))
    found = find_contrasts(right, wrong, SPLIT, 9, sizes=ANY)
    assert found == [20, 30, 11, 9, 5], "by replicas, then probability, then index"
    assert find_contrasts(right, wrong, SPLIT, 2, sizes=ANY) == [20, 30]


def test_neighbourhoods_that_can_be_drawn_come_before_clearer_ones() -> None:
    right, wrong = answering({20: [0.9, 0.9, 0.1]}), answering({20: WRONG, 30: WRONG})
    within = torch.matrix_power(ZOO["random"].neighbourhoods().double(), 2) > 0
    size = {node: int(within[node].sum()) for node in (20, 30)}
    assert size[20] != size[30]
    assert find_contrasts(right, wrong, SPLIT, 2, sizes=ANY) == [30, 20]
    only = range(size[20], size[20] + 1)
    assert find_contrasts(right, wrong, SPLIT, 2, sizes=only) == [20, 30]


def test_two_models_of_different_data_are_refused() -> None:
    with pytest.raises(InputError, match="must have the same data; got 'random' and 'path'"):
        find_contrasts(zoo_model("agnn", "random"), zoo_model("gcn", "path"), SPLIT, 1)
