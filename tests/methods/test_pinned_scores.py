"""Known values of the methods: exact after one step, bounded after twenty epochs.

Another CPU adds in another order. That moves a loss of the first steps by less than 1e-6; training
amplifies it, so what it reaches is bounded by an interval. A change of the initial weights by 15 %,
of dropout by 0.1, of the learning rate by 10 %, or a missing weight decay leaves at least one
interval of every method that has it.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from torch import stack, tensor

from agnn.methods import Task, get_method, method_names
from properties import assert_close


class Pinned(NamedTuple):
    """Cora, fixed split, seeds 0 to 2, 20 epochs."""

    first: tuple[float, float, float]  # training loss of each seed in the first epoch
    third: tuple[float, float, float]  # and in the third, which depends on two updates
    last: float  # mean training loss of the last epoch
    accuracy: float  # mean test accuracy in percent
    size: float  # mean sum of the absolute weights: the weight decay shrinks it


PINNED = {
    "agnn": Pinned((1.94359, 1.94604, 1.94536), (1.93618, 1.93540, 1.94056), 1.789, 76.7, 1298),
    "gcn": Pinned((1.94477, 1.94566, 1.94548), (1.93284, 1.93581, 1.93513), 1.76, 58.2, 1477),
    "gln": Pinned((1.94444, 1.94515, 1.94520), (1.92377, 1.92488, 1.92677), 1.686, 74.6, 1710),
    "multilayer_perceptron": Pinned(
        (1.94490, 1.94587, 1.94561), (1.93834, 1.93976, 1.94089), 1.782, 41.7, 892
    ),
    "semi_supervised_embedding": Pinned(
        (2.86070, 2.86451, 2.86036), (2.78678, 2.78343, 2.78846), 2.349, 45.1, 1986
    ),
    "appnp": Pinned((1.94603, 1.94672, 1.94497), (1.93970, 1.94079, 1.93918), 1.831, 71.2, 1120),
    "dcnn": Pinned((1.94310, 1.94433, 1.94262), (1.74762, 1.74834, 1.74687), 0.025, 77.4, 7024),
    "dynamic_filter": Pinned(
        (1.94606, 1.94570, 1.94591), (1.94243, 1.93854, 1.93943), 1.827, 66.0, 1776
    ),
    "gat": Pinned((1.94346, 1.94615, 1.95069), (1.93920, 1.93392, 1.93146), 1.891, 70.8, 1949),
    "gcnii": Pinned((1.94648, 1.94507, 1.94647), (1.95180, 1.93621, 1.94138), 1.863, 73.7, 2580),
    "graph_cnn": Pinned(
        (2.00786, 2.01992, 1.96568), (1.67575, 1.69141, 1.69167), 0.628, 73.5, 2532
    ),
    "monet": Pinned((1.94736, 1.94780, 1.94535), (1.91909, 1.91803, 1.91422), 1.374, 63.3, 3254),
    "agnn_plus": Pinned(
        (1.94625, 1.94917, 1.94431), (1.86855, 1.86425, 1.85577), 0.916, 82.9, 4068
    ),
    "chebnet": Pinned((1.94627, 1.94476, 1.95061), (1.89015, 1.90075, 1.89685), 1.095, 65.9, 4490),
    "fagcn": Pinned((1.94595, 1.94593, 1.94582), (1.94525, 1.94510, 1.94550), 1.943, 37.4, 429.5),
    "gatv2": Pinned((1.94676, 1.94341, 1.94745), (1.93274, 1.92970, 1.93537), 1.8, 76.0, 2932),
    "graphsage": Pinned(
        (1.97608, 1.97662, 1.94365), (1.78197, 1.78235, 1.77019), 0.6558, 78.9, 1.4e04
    ),
    "separated": Pinned(
        (2.56186, 2.65333, 2.65706), (1.69123, 1.68759, 1.62400), 0.04865, 52.9, 9867
    ),
    "transformer": Pinned(
        (1.95289, 1.94599, 1.95060), (1.90950, 1.90950, 1.90985), 1.465, 75.5, 6375
    ),
    "sgc": Pinned((1.94615, 1.94628, 1.94677), (1.66781, 1.66912, 1.66876), 0.4719, 79.4, 1.974e04),
}
CHANGES = {
    "gcnii": {"layers": 8},  # 64 layers would take long
    "agnn_plus": {"warm_up": 1},  # so that consistency counts fully
}
DEFAULTS = {"agnn_plus"}  # its own, not those of Cora: strength, temperature, dropout and decay
# Elsewhere, or nowhere: what they reach is tested, not pinned.
NOT_PINNED = {
    "boosting": "tests/methods/test_baselines.py", "majority": "tests/methods/test_baselines.py",
    "neu": "tests/methods/test_embeddings.py", "ridge": "tests/methods/test_baselines.py",
    "deepwalk": "tests/methods/test_embeddings.py", "line": "tests/methods/test_embeddings.py",
    "graph2gauss": "tests/methods/test_embeddings.py",
    "lasagne": "tests/methods/test_embeddings.py", "node2vec": "tests/methods/test_embeddings.py",
    "planetoid": "one of its two variants",
    "grand": "tests/networks/test_grand.py; minutes on Cora",
}  # fmt: skip


def test_every_method_is_pinned_or_has_a_reason() -> None:
    pinned = [*PINNED, *WITHOUT_EPOCHS, *PLANETOID, *NOT_PINNED]
    assert sorted(pinned) == sorted(method_names())


@pytest.mark.parametrize("name", PINNED)
def test_twenty_epochs_on_cora_start_and_end_where_they_did(name, cora):
    pinned, split = PINNED[name], cora.split("fixed")
    kind = get_method(name)
    method = kind() if name in DEFAULTS else kind.preset("fixed", "cora")
    method = method.with_fields(epochs=20, **CHANGES.get(name, {}))
    found = method.run(Task(cora, (split,) * 3, (0, 1, 2)))
    losses = found.history.training_loss
    assert_close(losses[0], tensor(pinned.first), 1e-5)
    assert_close(losses[2], tensor(pinned.third), 1e-4)
    assert float(losses[-1].mean()) == pytest.approx(pinned.last, rel=0.01)
    assert accuracy(found.scores, cora) == pytest.approx(pinned.accuracy, abs=3.0)
    weights = [p.detach().abs().flatten(1).sum(1) for p in found.model.parameters() if p.ndim > 1]
    assert float(stack(weights).sum(0).mean()) == pytest.approx(pinned.size, rel=0.02)


def accuracy(scores, data) -> float:
    """Percent of the test nodes, over all replicas."""
    test = data.split("fixed").test.copy()
    return 100.0 * float((scores[:, test].argmax(-1) == tensor(data.labels)[test]).double().mean())


# Cora, fixed split, published settings, seed 0: the test accuracy.
WITHOUT_EPOCHS = {
    "bootstrap": 70.5,
    "ica": 73.7,
    "label_propagation": 73.4,
    "manifold_regularisation": 64.4,
    "single_layer_perceptron": 57.6,
    "t_svm": 59.3,
}


@pytest.mark.parametrize("name", WITHOUT_EPOCHS)
def test_the_published_settings_on_cora_score_what_they_scored(name, cora):
    method = get_method(name).preset("fixed", "cora")
    found = method.run(Task(cora, (cora.split("fixed"),), (0,)))
    assert accuracy(found.scores, cora) == pytest.approx(WITHOUT_EPOCHS[name], abs=1.5)


# The toy graph, seeds 0 and 1, a few batches: the mean squared probability, a number that every
# step changes. Longer training amplifies rounding on this graph a hundredfold per hundred steps.
PLANETOID = {"planetoid_t": (0.1162994, 0.1129018), "planetoid_i": (0.1127449, 0.1135320)}


@pytest.mark.parametrize("name", PLANETOID)
def test_planetoid_takes_the_steps_that_it_took(name, toy):
    method = get_method(name)(label_batches=10, walk_batches=5, epochs=20)
    scores = method.run(Task(toy, (toy.split("fixed"),) * 2, (0, 1))).scores
    # A learning rate that is off by a fifth changes it by 1e-4 at least.
    assert_close(scores.square().mean((1, 2)), tensor(PLANETOID[name]), 1e-5)
