"""Attention as an answer: relevance of neighbours and of classes."""

from agnn.explanation.model_relevance import layer_relevances
from agnn.explanation.relevance import class_relevance, edge_relevance

__all__ = ["class_relevance", "edge_relevance", "layer_relevances"]
