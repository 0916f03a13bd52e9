"""The class-to-class relevance of a trained model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.explanation.flow import model_paths
from agnn.explanation.relevance import class_relevance
from agnn.explanation.trained_model import TrainedModel

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData
    from agnn.kernels import Attention
    from agnn.nn import NodeModel


def layer_relevances(model: NodeModel | None, data: NodeData) -> list[Tensor]:
    """Relevance(c2 -> c1), Eq. (8), of every layer from first to last; each [c, c] float64.

    All labels of `data` are read, those of test nodes too: this looks back, it predicts nothing.
    """
    trained = trained_network(model, data)
    return [
        class_relevance(trained.graph, each, data.labels, data.classes)
        for each in whole_attention(trained)
    ]


def trained_network(model: NodeModel | None, data: NodeData) -> TrainedModel:
    """The model with its data; raises where there is no model."""
    if model is None:
        raise InputError("the method has no network whose attention could be read.")
    return TrainedModel(model, data)


def whole_attention(trained: TrainedModel) -> list[Attention]:
    """P(1) to P(l) at every node; raises unless they are attention."""
    paths = model_paths(trained.model, trained.whole_view())
    if not paths.is_attention:
        raise InputError(
            f"relevance is defined for attention, which {type(trained.model).__name__} does not "
            f"learn."
        )
    return [hop.attention for hop in paths.hops]
