"""The class-to-class relevance of a trained model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.explanation.relevance import class_relevance
from agnn.graph import Graph, View, features_of
from agnn.kernels import Attention
from agnn.nn import AGNN

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData
    from agnn.nn import NodeModel


def layer_relevances(model: NodeModel | None, data: NodeData) -> list[Tensor]:
    """Relevance(c2 -> c1), Eq. (8), of every layer from first to last; each [c, c] float64.

    All labels of `data` are read, those of test nodes too: this looks back, it predicts nothing.
    """
    if not isinstance(model, AGNN):
        raise InputError(f"only AGNN has attention to read; got {type(model).__name__}.")
    graph = Graph.from_edges(data.edges, data.nodes)
    features = features_of(data.normalised_features())
    device = next(model.parameters()).device
    view = View.whole(features.to(device), graph.to(device), model.hops)
    return [
        class_relevance(
            graph, Attention(each.edges.cpu(), each.loops.cpu()), data.labels, data.classes
        )
        for each in model.attentions(view)
    ]
