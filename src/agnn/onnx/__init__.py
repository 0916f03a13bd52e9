"""Trained models as ONNX files, for programs that have neither this package nor torch.

`export_run` writes the model of a run; `onnx_model` gives the same model as an object of the
package onnx. The file takes a graph of any size: `features` [n, d_x] and `edge_index` [2, m].

>>> from agnn.networks import GCN
>>> from agnn.onnx import onnx_model
>>> made = onnx_model(GCN().build(3, 2), ["cat", "dog"])
>>> [end.name for end in made.graph.input], [end.name for end in made.graph.output]
(['features', 'edge_index'], ['probabilities', 'replica_probabilities'])
"""

from agnn.onnx._model import export_run as export_run, onnx_model as onnx_model
