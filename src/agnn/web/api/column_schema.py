"""The columns that a model needs of a new node, as a schema that requests are held to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field, StrictStr, create_model

from agnn.data.feature_blocks import FARTHEST, Block, Category, Counts, Numbers, Words
from agnn.web.api.schema import LONGEST_ID, MOST_EDGES, MOST_NEW_NODES, Edge, Id, Strict, Whole

if TYPE_CHECKING:
    from agnn.data import Preprocessing

_LONGEST_TEXT: Final = 1_000_000  # characters
_LARGEST_COUNT: Final = 1e6

_Name = Annotated[StrictStr, Field(max_length=LONGEST_ID)] | Whole | None
_Sentences = Annotated[StrictStr, Field(max_length=_LONGEST_TEXT)] | None


def new_nodes_schema(preprocessing: Preprocessing | None) -> type[BaseModel]:
    """The body of a question about new nodes, for a model with this preprocessing.

    None is for a model that takes no new nodes: any columns, since none will be looked at.
    """
    columns: Any = dict[str, Any]
    if preprocessing is not None:
        columns = _columns_schema(preprocessing)
    is_empty = preprocessing is not None and not columns.model_fields
    node = create_model(
        "NewNode",
        __base__=Strict,
        __doc__="A node that the graph does not have yet.",
        id=(Id, ...),
        columns=(columns, Field(default_factory=columns) if is_empty else ...),
    )
    return create_model(
        "NewNodes",
        __base__=Strict,
        __doc__="New nodes, and edges among them and to nodes of the graph.",
        nodes=(list[node], Field(min_length=1, max_length=MOST_NEW_NODES)),  # type: ignore[valid-type]
        edges=(list[Edge], Field(default_factory=list, max_length=MOST_EDGES)),
    )


def _columns_schema(preprocessing: Preprocessing) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for block in preprocessing.blocks:
        for column, kind, default in _cells(block):
            # A column may have any name; only what is sent and shown carries it.
            fields[f"column_{len(fields)}"] = (kind, Field(default, alias=column))
    return create_model(
        "Columns",
        __base__=Strict,
        __doc__="The columns of the table that the model learned from; null where unknown.",
        **fields,
    )


def _cells(block: Block) -> list[tuple[str, Any, Any]]:
    """Name, type and default of every column that a block reads."""
    if isinstance(block, Numbers):
        return [
            (column, _number(mean, scale), ...)
            for column, mean, scale in zip(block.columns, block.means, block.scales, strict=True)
        ]
    if isinstance(block, Counts):  # most words are not in most texts: they may be left out
        count = Annotated[float, Field(strict=True, ge=0, le=_LARGEST_COUNT)]
        return [(column, count, 0.0) for column in block.columns]
    if isinstance(block, Category):
        return [(block.column, _Name, ...)]
    return [(block.column, _Sentences, ...)] if isinstance(block, Words) else []


def _number(mean: float, scale: float) -> Any:
    """A number that is at most `FARTHEST` deviations from the mean, or null."""
    low, high = mean - FARTHEST * scale, mean + FARTHEST * scale
    return Annotated[float, Field(strict=True, ge=low, le=high, allow_inf_nan=False)] | None
