"""Planetoid and its two variants: classifiers on features and on embeddings.

The embeddings are trained to predict contexts: nodes that random walks meet nearby, and labelled
nodes of the same class. `_contexts` draws them, `_state` holds the weights and their steps,
`_variant` trains a variant, and `_planetoid` has the three methods.
"""

from agnn.methods._planetoid._planetoid import Planetoid, PlanetoidI, PlanetoidT

__all__ = ["Planetoid", "PlanetoidI", "PlanetoidT"]
