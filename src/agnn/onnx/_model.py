"""A trained model as an ONNX graph of plain operations, and the model of a run as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, singledispatch
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import agnn
from agnn.data import Scaling
from agnn.data.scaling import check_scaling, effective_scaling
from agnn.errors import InputError
from agnn.files import check_new_file, write_file
from agnn.kernels import (
    ELU,
    Anchor,
    Bias,
    Blend,
    CosineAttentionLink,
    DenseLinearLink,
    FirstLayerLink,
    HopMean,
    HopState,
    Link,
    PropagateLink,
    ReLU,
)
from agnn.methods import NetworkMethod
from agnn.networks import NodeModel
from agnn.onnx._formulas import (
    Draft,
    Neighbourhoods,
    SymmetricPropagation,
    attention_layer,
    ensemble,
    first_layer,
    last_layer,
    onnx_package,
    scaled_features,
)
from agnn.runs import Run


def chain_logits(model: NodeModel, near: Neighbourhoods, x: str) -> str:
    """Return the model's output for its scaled input x; [n, R, c]."""
    return _Export(near, model.title).output(model.example_links(), x)


class _Export:
    """What the links of one chain read besides their input."""

    def __init__(self, near: Neighbourhoods, title: str) -> None:
        self.near = near
        self.title = title
        self.states: dict[Link, str] = {}  # of anchors and hops, for the links that come back

    @property
    def draft(self) -> Draft:
        """The file so far."""
        return self.near.draft

    @cached_property
    def propagate(self) -> SymmetricPropagation:
        """GCN's matrix, computed once."""
        return SymmetricPropagation(self.near)

    def output(self, links: Sequence[Link], x: str) -> str:
        """Return the output of the last link."""
        for link in links:
            x = _export(link, self, x)
        return x


@singledispatch
def _export(link: Link, export: _Export, x: str) -> str:  # noqa: ARG001 (as below)
    """Return a link's output for its input x."""
    raise InputError(f"{export.title} cannot be exported: {link.title} has no form in ONNX.")


@_export.register
def _(link: FirstLayerLink, export: _Export, x: str) -> str:
    return first_layer(export.draft, x, link.weight, link.bias)


@_export.register
def _(link: DenseLinearLink, export: _Export, x: str) -> str:
    return last_layer(export.draft, x, link.weight, link.bias)


@_export.register
def _(link: Bias, export: _Export, x: str) -> str:
    return export.draft.op("Add", x, export.draft.weights(link.parameters[0]))


@_export.register
def _(link: ReLU, export: _Export, x: str) -> str:  # noqa: ARG001
    return export.draft.op("Relu", x)


@_export.register
def _(link: ELU, export: _Export, x: str) -> str:  # noqa: ARG001
    return export.draft.op("Elu", x)


@_export.register
def _(link: CosineAttentionLink, export: _Export, x: str) -> str:
    return attention_layer(export.near, x, link.beta)


@_export.register
def _(link: PropagateLink, export: _Export, x: str) -> str:
    if not link.propagation.is_gcn:
        raise InputError(f"{export.title} cannot be exported: its matrix has no form in ONNX.")
    return export.propagate(x)


@_export.register(Anchor)
@_export.register(HopState)
def _(link: Link, export: _Export, x: str) -> str:
    export.states[link] = x
    return x


@_export.register
def _(link: Blend, export: _Export, x: str) -> str:
    draft = export.draft
    former = export.states[link.anchor]
    scaled = draft.op("Mul", x, draft.number(link.share))
    return draft.op("Add", scaled, draft.op("Mul", former, draft.number(1.0 - link.share)))


@_export.register
def _(link: HopMean, export: _Export, x: str) -> str:
    draft = export.draft
    total = draft.op("Sum", x, *(export.states[state] for state in link.states))
    return draft.op("Mul", total, draft.number(1.0 / (len(link.states) + 1)))


OPSET: Final = 18
_FORMAT: Final = 8  # of the file, as old as the opset: older programs read it
_LARGEST: Final = 2**31 - 2**20  # bytes that fit one file, less some for the operations
_FEATURES = "features"
_EDGES = "edge_index"


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
    # A network on propagated features is replaced by an equal one that propagates by itself.
    method = run.method
    instead = method.propagating(run.model) if isinstance(method, NetworkMethod) else None
    model = onnx_model(
        run.model if instead is None else instead[1],
        run.data.class_names,
        temperature=run.temperature,
        scaling=scaling,
        statistics=run.data.column_statistics if scaling == "standard" else None,
        members=run.members.tolist(),
    )
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
    helper = onnx_package().helper
    numbers = onnx_package().TensorProto
    _check_size(model)
    draft = Draft()
    x = scaled_features(draft, _FEATURES, scaling, statistics)
    logits = chain_logits(model, Neighbourhoods(draft, _FEATURES, _EDGES), x)
    features = model.shape.features
    classes = model.shape.classes
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
    exported: Any = helper.make_model(
        graph,
        producer_name="agnn",
        producer_version=agnn.__version__,
        ir_version=_FORMAT,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    facts = {"class_names": json.dumps(list(class_names)), "scaling": scaling}
    helper.set_model_props(exported, facts)
    onnx_package().checker.check_model(exported, full_check=True)
    return exported


def _check_size(model: NodeModel) -> None:
    """Raise unless the weights fit one file."""
    size = 4 * sum(tensor.numel() for tensor in model.state_dict().values())
    if size > _LARGEST:
        raise InputError(
            f"the model has {size / 2**30:.1f} GiB of weights, and an ONNX file holds less than 2; "
            f"train it with fewer replicas."
        )
