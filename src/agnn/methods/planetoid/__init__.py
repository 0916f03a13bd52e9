"""Planetoid: a classifier on features and on embeddings that predict their contexts."""

from agnn.methods.planetoid.inductive import PlanetoidI
from agnn.methods.planetoid.method import Planetoid
from agnn.methods.planetoid.transductive import PlanetoidT

__all__ = ["Planetoid", "PlanetoidI", "PlanetoidT"]
