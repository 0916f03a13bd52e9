"""The paper's figures from trained models: relevance by class, and contrasting neighbourhoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agnn.errors import InputError
from agnn.explanation import layer_relevances, neighbourhood
from agnn.report.heat_map import relevance_heat_map
from agnn.report.neighbourhood_figure import neighbourhood_figure
from agnn.report.neighbourhood_panel import Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from agnn.data import Split
    from agnn.explanation import Neighbourhood, TrainedModel

_MOST_NODES: Final = 60  # in a panel; more cannot be told apart


def relevance_figure(trained: TrainedModel, layer: int, title: str) -> Figure:
    """Relevance(c2 -> c1), Eq. (8), of one layer (from 1), averaged over the replicas."""
    tables = layer_relevances(trained.model, trained.data)
    if not 1 <= layer <= len(tables):
        raise InputError(f"`layer` must be from 1 to {len(tables)}; got {layer}.")
    return relevance_heat_map(tables[layer - 1].numpy(), trained.data.class_names, title)


def contrast_figure(
    models: Mapping[str, TrainedModel],
    split: Split,
    targets: Sequence[int],
    *,
    title: str | None = None,
    hops: int = 2,
) -> Figure:
    """What reaches each target under each model: a column a target, a row a model.

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
                neighbourhood(each, target, split, hops=hops, limit=_MOST_NODES),
                data.class_names,
                title or data.name,
            )
            for name, each in models.items()
        ]
        for target in targets
    ]
    return neighbourhood_figure(columns, data.class_names)


def _panel(name: str, found: Neighbourhood, class_names: Sequence[str], dataset: str) -> Panel:
    """Titled by model, how many of its replicas are right, and node; below it answer and truth."""
    truth, answers = int(found.labels[0]), found.scores[:, 0].argmax(-1)
    title, note = name, f"answer: {class_names[found.predictions[0]]}"
    if truth >= 0:
        title += f" ({(answers == truth).sum()} of {answers.size} right)"
        note += f"\ntrue: {class_names[truth]}"
    return Panel(found, f"{title}, {dataset} {found.ids[0]}", note)
