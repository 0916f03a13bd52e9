"""Attention as an answer: relevance of edges and classes, and what reaches one node."""

from agnn.explanation.contrasts import DRAWABLE, find_contrasts
from agnn.explanation.counterfactuals import Counterfactual, counterfactual
from agnn.explanation.edge_flow import EdgeFlow, edge_flow
from agnn.explanation.edge_ranking import LayerRanking, edge_ranking
from agnn.explanation.explained_node import explain
from agnn.explanation.explanation import Explanation
from agnn.explanation.flow import layer_weights, model_paths, path_attention, path_rows
from agnn.explanation.layer_inside import LayerInside
from agnn.explanation.model_relevance import layer_relevances
from agnn.explanation.neighbourhood import Neighbourhood, neighbourhood
from agnn.explanation.opened_run import OpenedRun, as_opened, open_run
from agnn.explanation.relevance import class_relevance, edge_relevance
from agnn.explanation.removed_edges import Removal, without_edges
from agnn.explanation.replica_agreement import attention_agreement
from agnn.explanation.trained_model import TrainedModel

__all__ = [
    "DRAWABLE",
    "Counterfactual",
    "EdgeFlow",
    "Explanation",
    "LayerInside",
    "LayerRanking",
    "Neighbourhood",
    "OpenedRun",
    "Removal",
    "TrainedModel",
    "as_opened",
    "attention_agreement",
    "class_relevance",
    "counterfactual",
    "edge_flow",
    "edge_ranking",
    "edge_relevance",
    "explain",
    "find_contrasts",
    "layer_relevances",
    "layer_weights",
    "model_paths",
    "neighbourhood",
    "open_run",
    "path_attention",
    "path_rows",
    "without_edges",
]
