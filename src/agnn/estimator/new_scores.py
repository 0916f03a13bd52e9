"""What a run says about data that it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.explanation import TrainedModel

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData
    from agnn.runs import Run


def new_scores(run: Run, data: NodeData) -> Tensor:
    """Every replica's probabilities at the nodes of `data`; [R, n, c]."""
    model, own = run.outcome.model, run.data
    if model is None:
        raise InputError(
            f"{run.method.name} has no model that could answer for nodes it has not seen; it "
            f"predicts the nodes of '{own.name}' only."
        )
    if data.feature_count != own.feature_count:
        raise InputError(
            f"'{data.name}' has {data.feature_count} features, but the model was trained on "
            f"{own.feature_count}."
        )
    return TrainedModel(model, data, run.method, own).scores
