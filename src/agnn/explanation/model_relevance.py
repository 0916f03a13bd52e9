"""The class-to-class relevance of a trained model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.explanation.layer_weights import layer_weights
from agnn.explanation.relevance import class_relevance
from agnn.explanation.trained_model import TrainedModel
from agnn.nn import AGNN

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData
    from agnn.kernels import Attention
    from agnn.nn import NodeModel


def layer_relevances(model: NodeModel | None, data: NodeData) -> list[Tensor]:
    """Relevance(c2 -> c1), Eq. (8), of every layer from first to last; each [c, c] float64.

    All labels of `data` are read, those of test nodes too: this looks back, it predicts nothing.
    """
    trained = with_attention(model, data)
    return [
        class_relevance(trained.graph, each, data.labels, data.classes)
        for each in whole_attention(trained)
    ]


def with_attention(model: NodeModel | None, data: NodeData) -> TrainedModel:
    """The model with its data; raises unless it has learned attention."""
    if not isinstance(model, AGNN):
        raise InputError(f"only AGNN has attention to read; got {type(model).__name__}.")
    return TrainedModel(model, data)


def whole_attention(trained: TrainedModel) -> list[Attention]:
    """P(1) to P(l) at every node."""
    return layer_weights(trained.model, trained.whole_view())
