"""Attention as an answer: relevance of edges and classes, and what reaches one node."""

from agnn.explanation.contrasts import DRAWABLE, find_contrasts
from agnn.explanation.edge_ranking import LayerRanking, edge_ranking
from agnn.explanation.layer_inside import LayerInside
from agnn.explanation.layer_weights import layer_weights
from agnn.explanation.model_relevance import layer_relevances
from agnn.explanation.neighbourhood import Neighbourhood, neighbourhood
from agnn.explanation.path_attention import path_attention, path_rows
from agnn.explanation.relevance import class_relevance, edge_relevance
from agnn.explanation.trained_model import TrainedModel

__all__ = [
    "DRAWABLE",
    "LayerInside",
    "LayerRanking",
    "Neighbourhood",
    "TrainedModel",
    "class_relevance",
    "edge_ranking",
    "edge_relevance",
    "find_contrasts",
    "layer_relevances",
    "layer_weights",
    "neighbourhood",
    "path_attention",
    "path_rows",
]
