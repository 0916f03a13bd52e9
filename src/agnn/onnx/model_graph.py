"""A trained model as an ONNX graph of plain operations, for graphs of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import agnn
from agnn.errors import InputError
from agnn.kernels import ReLU
from agnn.nn import AGNN, GCN, NodeModel
from agnn.onnx.draft import Draft
from agnn.onnx.formulas import (
    SymmetricPropagation,
    attention_layer,
    first_layer,
    last_layer,
)
from agnn.onnx.neighbourhoods import Neighbourhoods
from agnn.onnx.package import onnx_package

OPSET: Final = 18  # the first in which ScatterND takes the largest value
_FORMAT: Final = 8  # of the file, as old as the opset: older programs read it
_LARGEST: Final = 2**31 - 2**20  # bytes that fit one file, less room for the operations
_FEATURES, _EDGES = "features", "edge_index"


def onnx_model(model: NodeModel, class_names: Sequence[str]) -> Any:
    """The model as an `onnx.ModelProto`, checked.

    Inputs: `features` [n, d_x] float32, as the model was trained on
    (`NodeData.normalised_features`), and `edge_index` [2, m] int64, both directions of every edge,
    none twice; self-loops are ignored. Outputs: `probabilities` [n, c], the mean over the
    replicas, and `replica_probabilities` [R, n, c]. The numbers n and m are free. The class names
    are in the file's metadata, as JSON.
    """
    helper, numbers = onnx_package().helper, onnx_package().TensorProto
    _check(model)
    features = model.get_parameter("first.weight").shape[1]
    classes = model.get_parameter("last.weight").shape[2]
    draft = Draft()
    _write(draft, model)
    shapes: dict[str, tuple[int, list[str | int]]] = {
        _FEATURES: (numbers.FLOAT, ["n", features]),
        _EDGES: (numbers.INT64, [2, "m"]),
        "probabilities": (numbers.FLOAT, ["n", classes]),
        "replica_probabilities": (numbers.FLOAT, [model.replicas, "n", classes]),
    }
    ends = [helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items()]
    graph = helper.make_graph(draft.nodes, "agnn", ends[:2], ends[2:], draft.constants)
    made: Any = helper.make_model(
        graph, producer_name="agnn", producer_version=agnn.__version__, ir_version=_FORMAT,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )  # fmt: skip
    helper.set_model_props(made, {"class_names": json.dumps(list(class_names))})
    onnx_package().checker.check_model(made, full_check=True)
    return made


def _check(model: NodeModel) -> None:
    """Raise unless the model can be exported."""
    if not isinstance(model, AGNN | GCN):
        raise InputError(f"AGNN, GCN and GLN can be exported; got {type(model).__name__}.")
    size = 4 * sum(tensor.numel() for tensor in model.state_dict().values())
    if size > _LARGEST:
        raise InputError(
            f"the model has {size / 2**30:.1f} GiB of weights, and an ONNX file holds less than 2; "
            f"train it with fewer replicas."
        )


def _write(draft: Draft, model: Any) -> None:
    """Write the operations from the inputs to the outputs."""
    near = Neighbourhoods.of(draft, _FEATURES, _EDGES)
    logits = (_agnn if isinstance(model, AGNN) else _gcn)(near, model)
    by_replica = draft.op("Transpose", logits, perm=[1, 0, 2])
    scores = draft.op("Softmax", by_replica, axis=-1, output="replica_probabilities")
    draft.op("ReduceMean", scores, draft.integers(0), keepdims=0, output="probabilities")


def _agnn(near: Neighbourhoods, model: Any) -> str:
    """Eq. (4) to (6); logits [n, R, c]."""
    draft, width = near.draft, model.first.weight.shape[2]
    h = draft.op("Relu", first_layer(draft, _FEATURES, model.first.weight, model.first.bias))
    for layer in model.layers:
        h = attention_layer(near, h, layer.beta, width)
    return last_layer(draft, h, model.last.weight, model.last.bias)


def _gcn(near: Neighbourhoods, model: Any) -> str:
    """Eq. (1), or Eq. (3) for a model with nothing between its layers; logits [n, R, c]."""
    draft, (replicas, width, classes) = near.draft, model.last.weight.shape
    propagate = SymmetricPropagation(near)
    h = propagate(first_layer(draft, _FEATURES, model.first.weight, None), replicas, width)
    if any(isinstance(link, ReLU) for link in model.between()):
        h = draft.op("Relu", h)
    return propagate(last_layer(draft, h, model.last.weight, None), replicas, classes)
