"""The classifier of nodes in scikit-learn's manner."""

from agnn.estimator.node_classifier import NodeClassifier

__all__ = ["NodeClassifier"]
