"""The paper's figures from trained models: relevance by class, and contrasting neighbourhoods."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor

from agnn.data import Split
from agnn.errors import InputError
from agnn.explanation import (
    Neighbourhood,
    Relevance,
)
from agnn.report._charts import relevance_heat_map
from agnn.report._neighbourhoods import DRAWABLE, MOST_DRAWN, Panel, neighbourhood_figure
from agnn.runs import Run
from agnn.studies import Drawing, NeighbourhoodPanel, Panel as DrawingPanel, RelevancePanel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def panel_relevances(panel: DrawingPanel, runs: Mapping[str, Run]) -> list[Any] | None:
    """Return the relevances [R, c, c] that a panel shows the mean of; None where it shows others.

    A pair of classes that no edge joins is None.
    """
    from agnn.studies import RelevancePanel

    if not isinstance(panel, RelevancePanel):
        return None
    tables = Relevance.of(runs["agnn"]).by_replica(panel.layer).tolist()
    return [
        [[None if math.isnan(value) else round(value, 6) for value in row] for row in table]
        for table in tables
    ]


def panel_figure(drawing: Drawing, panel: DrawingPanel, runs: Mapping[str, Run]) -> Figure:
    """Return one panel of a figure; `runs` are those of its dataset, by method."""
    return PANEL_FIGURES[drawing.kind](panel, runs)


def _relevance(panel: RelevancePanel, runs: Mapping[str, Run]) -> Figure:
    return relevance_figure(runs["agnn"], panel.layer, panel.title)


def _neighbourhoods(panel: NeighbourhoodPanel, runs: Mapping[str, Run]) -> Figure:
    agnn = runs["agnn"]
    gcn = runs["gcn"]
    split = runs["agnn"].splits[0]
    targets = find_contrasts(agnn, gcn, split, panel.skip + panel.count)[panel.skip :]
    return contrast_figure({"AGNN": agnn, "GCN": gcn}, split, targets, title=panel.title)


# The kinds of figures, the same as `KINDS` of `agnn.studies`, and what draws a panel of each.
PANEL_FIGURES: Final[Mapping[str, Callable[[Any, Mapping[str, Run]], Figure]]] = {
    "relevance": _relevance,
    "neighbourhoods": _neighbourhoods,
}


def relevance_figure(trained: Run, layer: int, title: str) -> Figure:
    """Return relevance(c2 -> c1), Eq. (8), of one layer (from 1), averaged over the replicas."""
    tables = Relevance.of(trained).by_class()
    if not 1 <= layer <= len(tables):
        raise InputError(f"`layer` must be from 1 to {len(tables)}; got {layer}.")
    return relevance_heat_map(tables[layer - 1].numpy(), trained.data.class_names, title)


def contrast_figure(
    models: Mapping[str, Run],
    split: Split,
    targets: Sequence[int],
    *,
    title: str | None = None,
    hops: int = 2,
) -> Figure:
    """Return what reaches each target under each model: a column per target, a row per model.

    `models` go by the names to write, all on the same data, whose name is written as `title`.
    """
    if not models or not targets:
        raise InputError(
            f"`models` and `targets` must not be empty; got {len(models)} models and "
            f"{len(targets)} targets."
        )
    data = next(iter(models.values())).data
    columns = [
        [
            _panel(
                name,
                Neighbourhood.of(run, target, split, hops=hops, limit=MOST_DRAWN),
                data.class_names,
                title or data.name,
            )
            for name, run in models.items()
        ]
        for target in targets
    ]
    return neighbourhood_figure(columns, data.class_names)


def _panel(name: str, around: Neighbourhood, class_names: Sequence[str], dataset: str) -> Panel:
    """Return a panel titled by model, correct replicas and node; below it prediction and label."""
    truth = int(around.labels[0])
    answers = around.scores[:, 0].argmax(-1)
    title = name
    note = f"prediction: {class_names[around.predictions[0]]}"
    if truth >= 0:
        title += f" ({(answers == truth).sum()} of {answers.size} correct)"
        note += f"\nlabel: {class_names[truth]}"
    return Panel(around, f"{title}, {dataset} {around.ids[0]}", note)


def find_contrasts(
    right: Run,
    wrong: Run,
    split: Split,
    count: int,
    *,
    hops: int = 2,
    sizes: range = DRAWABLE,
) -> list[int]:
    """Return up to `count` test nodes that most replicas of `right` alone predict correctly.

    Most replicas of `wrong` do not. First those with `sizes` nodes within `hops`. Among them the
    clearest first: by the share of replicas of `right` that are correct plus the share of `wrong`
    that are not, then by how much more probable the true class is under `right`, then by index.
    Test labels are read: this looks back at models that are finished.
    """
    if right.data.fingerprint != wrong.data.fingerprint:
        raise InputError(
            f"both models must have the same data; got '{right.data.name}' and "
            f"'{wrong.data.name}' with other nodes, labels, edges or splits."
        )
    test = torch.tensor(split.test)
    labels = torch.tensor(right.data.labels)[test]
    knows = _share_right(right, test, labels)
    misses = 1 - _share_right(wrong, test, labels)
    gain = _true_probability(right, test, labels) - _true_probability(wrong, test, labels)
    contrasts = ((knows > 0.5) & (misses > 0.5)).nonzero().squeeze(1).tolist()

    def order(k: int) -> tuple[bool, float, float, int]:
        node = int(test[k])
        size = sum(ring.numel() for ring in right.graph.hop_rings(test[k], hops))
        return size not in sizes, -float(knows[k] + misses[k]), -float(gain[k]), node

    return [int(test[k]) for k in sorted(contrasts, key=order)[:count]]


def _share_right(run: Run, nodes: Tensor, labels: Tensor) -> Tensor:
    """Return the share of replicas whose answer is right; [k] float64."""
    return (run.scores[:, nodes].argmax(-1) == labels).double().mean(0)


def _true_probability(run: Run, nodes: Tensor, labels: Tensor) -> Tensor:
    """Return the probability of the true class, averaged over the replicas; [k] float64."""
    mean = run.scores[:, nodes].double().mean(0)
    return mean.gather(1, labels[:, None]).squeeze(1)
