"""A model's chain of operations in ONNX, link by link, for states [n, R, d]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, singledispatch

from agnn.errors import InputError
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
from agnn.networks import NodeModel
from agnn.onnx._formulas import (
    Draft,
    Neighbourhoods,
    SymmetricPropagation,
    attention_layer,
    first_layer,
    last_layer,
)


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
    kept = draft.op("Mul", x, draft.number(link.share))
    return draft.op("Add", kept, draft.op("Mul", former, draft.number(1.0 - link.share)))


@_export.register
def _(link: HopMean, export: _Export, x: str) -> str:
    draft = export.draft
    total = draft.op("Sum", x, *(export.states[state] for state in link.states))
    return draft.op("Mul", total, draft.number(1.0 / (len(link.states) + 1)))
