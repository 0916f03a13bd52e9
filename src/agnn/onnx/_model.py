"""A trained model as an ONNX graph of plain operations, and the model of a run as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import agnn
from agnn.data import Scaling, check_scaling, column_statistics, effective_scaling
from agnn.errors import InputError
from agnn.files import check_new_file, write_file
from agnn.methods import NetworkMethod
from agnn.nn import AGNN, GCN, NodeModel
from agnn.onnx._draft import Draft, onnx_package
from agnn.onnx._formulas import (
    Neighbourhoods,
    SymmetricPropagation,
    attention_layer,
    ensemble,
    first_layer,
    last_layer,
    scaled_features,
)
from agnn.runs import Run

OPSET: Final = 18
_FORMAT: Final = 8  # of the file, as old as the opset: older programs read it
_LARGEST: Final = 2**31 - 2**20  # bytes that fit one file, less some for the operations
_FEATURES, _EDGES = "features", "edge_index"


def export_run(run: Run, path: Path | str) -> int:
    """Write the model of a run to a new ONNX file; returns its size in bytes."""
    check_new_file(path)
    if run.model is None:
        raise InputError(f"{run.method.title} has no trained network to export.")
    if run.graph.weights is not None:
        raise InputError(
            f"'{run.data.name}' has edge weights, which the exported file cannot take. Train "
            f"without them to export."
        )
    scaling = _scaling(run)
    model = onnx_model(
        run.model, run.data.class_names, temperature=run.temperature, scaling=scaling,
        statistics=column_statistics(run.data.features) if scaling == "standard" else None,
        members=run.members.tolist(),
    )  # fmt: skip
    content: bytes = model.SerializeToString()
    write_file(path, content)
    return len(content)


def _scaling(run: Run) -> Scaling:
    """What is done to the run's features, as the user has them."""
    if not isinstance(run.method, NetworkMethod):
        return "none"
    return effective_scaling(run.data, run.method.scaling)


def onnx_model(
    model: NodeModel,
    class_names: Sequence[str],
    *,
    temperature: float = 1.0,
    scaling: Scaling = "none",
    statistics: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    members: Sequence[int] | None = None,
) -> Any:
    """The model as an `onnx.ModelProto`, checked.

    Inputs: `features` [n, d_x] float32 and `edge_index` [2, m] int64, both directions of every
    edge, none twice; self-loops are ignored. The numbers n and m are free, and the order of the
    edges does not matter. The features are those of `NodeData.features`, and the file scales them
    itself, see `NodeData.scaled_features`. The `scaling` "standard" needs `statistics`: the means
    and the inverse deviations of the training data's columns, [d_x] each.

    Outputs: `probabilities` [n, c], the ensemble of the replicas at the run's temperature, as
    `predict_proba` gives them, and `replica_probabilities` [R, n, c], each replica's own. The
    ensemble is that of all replicas or, if given, of its `members` by index. The class names are
    in the file's metadata, as JSON, and the name of the scaling.
    """
    check_scaling(scaling)
    if (scaling == "standard") != (statistics is not None):
        raise InputError("the scaling 'standard', and no other, needs `statistics`.")
    helper, numbers = onnx_package().helper, onnx_package().TensorProto
    _check_size(model)
    draft = Draft()
    x = scaled_features(draft, _FEATURES, scaling, statistics)
    logits = _logits(model, Neighbourhoods(draft, _FEATURES, _EDGES), x)
    features = model.get_parameter("first.weight").shape[1]
    classes = model.get_parameter("last.weight").shape[2]
    by_replica = draft.op("Transpose", logits, perm=[1, 0, 2])
    scores = draft.op("Softmax", by_replica, axis=-1, output="replica_probabilities")
    chosen = range(model.replicas) if members is None else members
    ensemble(draft, scores, chosen, temperature, "probabilities")
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
    facts = {"class_names": json.dumps(list(class_names)), "scaling": scaling}
    helper.set_model_props(made, facts)
    onnx_package().checker.check_model(made, full_check=True)
    return made


def _check_size(model: NodeModel) -> None:
    """Raise unless the weights fit one file."""
    size = 4 * sum(tensor.numel() for tensor in model.state_dict().values())
    if size > _LARGEST:
        raise InputError(
            f"the model has {size / 2**30:.1f} GiB of weights, and an ONNX file holds less than 2; "
            f"train it with fewer replicas."
        )


@singledispatch
def _logits(model: NodeModel, near: Neighbourhoods, x: str) -> str:  # noqa: ARG001 (as below)
    """The model's output for its scaled input x; [n, R, c]. One function per kind of model."""
    raise InputError(f"AGNN, AGNN+, GCN and GLN can be exported; got {type(model).__name__}.")


@_logits.register
def _(model: AGNN, near: Neighbourhoods, x: str) -> str:
    """Eq. (4) to (6), with the mean over the hops for AGNN+."""
    draft = near.draft
    first = first_layer(draft, x, model.first.weight, model.first.bias)
    states = [first if model.relu_after_hops else draft.op("Relu", first)]
    for beta in model.betas.unbind(1):
        states.append(attention_layer(near, states[-1], beta))
    read = [
        h if share == 1.0 else draft.op("Mul", h, draft.number(share))
        for h, share in zip(states, model.combination, strict=True)
        if share
    ]
    h = read[0] if len(read) == 1 else draft.op("Sum", *read)
    if model.relu_after_hops:
        h = draft.op("Relu", h)
    return last_layer(draft, h, model.last.weight, model.last.bias)


@_logits.register
def _(model: GCN, near: Neighbourhoods, x: str) -> str:
    """Eq. (1), or Eq. (3) for a model with nothing between its layers."""
    draft = near.draft
    propagate = SymmetricPropagation(near)
    h = propagate(first_layer(draft, x, model.first.weight, None))
    if model.between():
        h = draft.op("Relu", h)
    return propagate(last_layer(draft, h, model.last.weight, None))
