"""Why a run answers for a node as it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation.contributions import Contributions, contributions
from agnn.explanation.explanation import Explanation
from agnn.explanation.flow import on_cpu, path_rows
from agnn.explanation.reach import Reach
from agnn.explanation.reaching_node import FeatureShare, Rest, TrainingClass
from agnn.metrics import ensemble_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation.opened_run import OpenedRun
    from agnn.graph import View
    from agnn.nn import LinearForm


def explain(opened: OpenedRun, node: int, *, limit: int = 10) -> Explanation:
    """The reasons for the answer at one node, given by its index: see `opened.node(id)`.

    At most `limit` neighbours, training nodes and features are listed; the rest is counted. AGNN,
    GCN and GLN can be explained. Costs what the model reads for this one node. What it answers at
    the listed nodes is told where that is cheap: in a graph of up to 100,000 nodes, where
    `opened.scores` is there, and where these nodes are no hubs.
    """
    if limit < 1:
        raise InputError(f"`limit` must be at least 1; got {limit}.")
    model, view = opened.trained.model, opened.trained.view_of(node)
    form = linear_form(opened, view)
    with torch.no_grad():
        scores = model(view).softmax(-1).cpu()
    said = ensemble_of(scores, opened.temperature)
    chances = said.probabilities[0]
    answer, second = _first_two(chances)
    paths = on_cpu(form.paths)
    rows = path_rows(view.field, paths)
    taken_apart = contributions(form, view, combinations(answer, second, opened.data.classes))
    weights = [hop.attention for hop in paths.hops]
    reach = Reach(opened, view.field, weights, rows[0].numpy(), taken_apart.nodes)
    neighbours = reach.heaviest(limit)
    allies, rivals = reach.for_answer(limit), reach.for_second(limit)
    training = reach.training(limit)
    listed = reach.listed([0, *neighbours, *allies, *rivals, *training])
    label = int(opened.data.labels[node])
    features = _features(opened, taken_apart)
    return Explanation(
        node=node,
        id=opened.data.node_ids[node],
        data_name=opened.data.name,
        method=opened.method.title,
        replicas=opened.replicas,
        class_names=opened.data.class_names,
        answer=answer,
        second=second,
        probabilities=chances,
        uncalibrated=ensemble_of(scores).probabilities[0],
        temperature=opened.temperature,
        disagreement=float(said.disagreement[0]),
        label=label,
        trained_in=listed[0].trained_in,
        betas=None if model.betas is None else tuple(model.betas.mean(0).tolist()),
        margin=float(taken_apart.nodes[1].sum() + taken_apart.constant[1]),
        margin_constant=float(taken_apart.constant[1]),
        itself=listed[0],
        neighbours=tuple(listed[k] for k in neighbours),
        rest=_rest(reach, neighbours),
        for_answer=tuple(listed[k] for k in allies),
        for_second=tuple(listed[k] for k in rivals),
        training=_by_class(reach),
        training_nodes=tuple(listed[k] for k in training),
        features=tuple(sorted(features, key=lambda each: -each.toward_answer)[:limit]),
        features_for_second=tuple(
            each
            for each in sorted(features, key=lambda each: each.over_second)[:limit]
            if each.over_second < 0
        ),
        notes=paths.notes,
    )


def linear_form(opened: OpenedRun, view: View) -> LinearForm:
    """The run's model on a view with its weights and gates held; raises where it has no such."""
    model = opened.trained.model
    form = model.linear_form(view)
    if form is None:
        raise InputError(f"{opened.method.title} cannot be explained: {model.unexplained}.")
    return form


def _first_two(chances: NDArray[np.float64]) -> tuple[int, int]:
    """The classes with the highest and the next highest probability."""
    order = np.argsort(-chances, kind="stable")
    return int(order[0]), int(order[min(1, order.size - 1)])


def combinations(answer: int, second: int, classes: int) -> NDArray[np.float64]:
    """The answer's logit less the mean of all, and less the second's; [c, 2]."""
    found = np.zeros((classes, 2))
    found[answer] += 1.0
    found[:, 0] -= 1.0 / classes
    found[second, 1] -= 1.0
    return found


def _features(opened: OpenedRun, parts: Contributions) -> list[FeatureShare]:
    """The features that add anything."""
    made = opened.data.preprocessing
    names = None if made is None else made.feature_names
    found = np.flatnonzero(np.any(parts.features != 0, axis=0))
    return [
        FeatureShare(
            feature=int(k),
            name=f"feature {k}" if names is None else names[k],
            toward_answer=float(parts.features[0, k]),
            over_second=float(parts.features[1, k]),
            own=float(parts.own_features[0, k]),
        )
        for k in found
    ]


def _rest(reach: Reach, listed: list[int]) -> Rest:
    """All nodes that reach the target, less itself and those that are listed."""
    left = np.ones(reach.weights.size, dtype=bool)
    left[[0, *listed]] = False
    toward, over = reach.added[:, left].sum(1)
    return Rest(int(left.sum()), float(reach.weights[left].sum()), float(toward), float(over))


def _by_class(reach: Reach) -> tuple[TrainingClass, ...]:
    """The training nodes that reach the target by class, the heaviest class first."""
    names = reach.opened.data.class_names
    counts, weights = reach.training_by_class()
    order = np.argsort(-weights, kind="stable")
    return tuple(
        TrainingClass(names[c], int(counts[c]), float(weights[c])) for c in order if counts[c]
    )
