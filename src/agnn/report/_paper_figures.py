"""The paper's figures from trained models: relevance by class, and contrasting neighbourhoods."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agnn.errors import InputError
from agnn.explanation import (
    MOST_DRAWN,
    find_contrasts,
    layer_relevances,
    neighbourhood,
    replica_relevances,
)
from agnn.report._charts import relevance_heat_map
from agnn.report._neighbourhoods import Panel, neighbourhood_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agnn.data import Split
    from agnn.experiments import Drawing, NeighbourhoodPanel, RelevancePanel
    from agnn.experiments import Panel as DrawingPanel
    from agnn.explanation import Neighbourhood
    from agnn.runs import Run


def panel_relevances(panel: DrawingPanel, runs: Mapping[str, Run]) -> list[Any] | None:
    """Return the relevances [R, c, c] that a panel shows the mean of; None where it shows others.

    A pair of classes that no edge joins is None.
    """
    from agnn.experiments import RelevancePanel

    if not isinstance(panel, RelevancePanel):
        return None
    tables = replica_relevances(runs["agnn"], panel.layer).tolist()
    return [
        [[None if math.isnan(value) else round(value, 6) for value in row] for row in table]
        for table in tables
    ]


def panel_figure(drawing: Drawing, panel: DrawingPanel, runs: Mapping[str, Run]) -> Figure:
    """One panel of a figure; `runs` are those of its dataset, by method."""
    return DRAWN[drawing.kind](panel, runs)


def _relevance(panel: RelevancePanel, runs: Mapping[str, Run]) -> Figure:
    return relevance_figure(runs["agnn"], panel.layer, panel.title)


def _neighbourhoods(panel: NeighbourhoodPanel, runs: Mapping[str, Run]) -> Figure:
    agnn, gcn = (runs[name] for name in ("agnn", "gcn"))
    split = runs["agnn"].splits[0]
    targets = find_contrasts(agnn, gcn, split, panel.skip + panel.count)[panel.skip :]
    return contrast_figure({"AGNN": agnn, "GCN": gcn}, split, targets, title=panel.title)


# The kinds of figures, the same as `agnn.experiments.KINDS`, and what draws a panel of each.
DRAWN: Final[Mapping[str, Callable[[Any, Mapping[str, Run]], Figure]]] = {
    "relevance": _relevance,
    "neighbourhoods": _neighbourhoods,
}


def relevance_figure(trained: Run, layer: int, title: str) -> Figure:
    """Relevance(c2 -> c1), Eq. (8), of one layer (from 1), averaged over the replicas."""
    tables = layer_relevances(trained)
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
    """What reaches each target under each model: a column per target, a row per model.

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
                neighbourhood(each, target, split, hops=hops, limit=MOST_DRAWN),
                data.class_names,
                title or data.name,
            )
            for name, each in models.items()
        ]
        for target in targets
    ]
    return neighbourhood_figure(columns, data.class_names)


def _panel(name: str, found: Neighbourhood, class_names: Sequence[str], dataset: str) -> Panel:
    """Titled by model, number of correct replicas and node; below it prediction and label."""
    truth, answers = int(found.labels[0]), found.scores[:, 0].argmax(-1)
    title, note = name, f"prediction: {class_names[found.predictions[0]]}"
    if truth >= 0:
        title += f" ({(answers == truth).sum()} of {answers.size} correct)"
        note += f"\nlabel: {class_names[truth]}"
    return Panel(found, f"{title}, {dataset} {found.ids[0]}", note)
