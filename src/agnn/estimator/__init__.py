"""Node classification as a scikit-learn estimator.

`NodeClassifier` keeps scikit-learn's contract: `fit`, `predict`, `predict_proba`, `score`,
`get_params`, cloning, grid searches and cross-validation work as for any classifier. Its graph is a
`NodeData`, or edges beside the features:

>>> import numpy as np
>>> from agnn.estimator import NodeClassifier
>>> features = np.eye(6, dtype=np.float32)
>>> edges = [[0, 1, 3, 4], [1, 2, 4, 5]]  # two paths of three nodes
>>> labels = np.array(["a", "a", "a", "b", "b", "b"])
>>> model = NodeClassifier("label_propagation", replicas=1, split="stratified-3-fold")
>>> model.fit(features, labels, edges=edges).predict().shape
(6,)
"""

from agnn.estimator._node_classifier import NodeClassifier as NodeClassifier
