"""The schema of requests and answers, with the limits of every request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    create_model,
)

from agnn.data.preprocessing import FARTHEST, Block, Category, Counts, Numbers, Preprocessing, Words

MOST_IDS: Final = 10_000
MOST_NEW_NODES: Final = 1_000
MOST_EDGES: Final = 100_000
LONGEST_ID: Final = 1_000  # characters
MOST_REASONS: Final = 100
LONGEST_TEXT: Final = 1_000_000  # characters in a cell
_LARGEST_COUNT: Final = 1e6

_LARGEST: Final = 2**53 - 1  # what every JSON reader keeps exactly; larger ids are sent as text


def _whole(value: object) -> object:
    """3.0 as 3: JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Text = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_ID)]
Whole = Annotated[StrictInt, Field(ge=-_LARGEST, le=_LARGEST), BeforeValidator(_whole)]
Id = _Text | Whole
Edge = tuple[Id, Id]
WeightedEdge = tuple[Id, Id, Annotated[float, Field(strict=True, ge=1e-15, le=1e15)]]
_Name = Annotated[StrictStr, Field(max_length=LONGEST_ID)] | Whole | None
_Sentences = Annotated[StrictStr, Field(max_length=LONGEST_TEXT)] | None


class Strict(BaseModel):
    """A body that refuses unknown fields, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


_Cost = Annotated[float, Field(strict=True, ge=0, le=1e15)]
_Share = Annotated[float, Field(strict=True, gt=0, lt=1)]
_ShareOrAll = Annotated[float, Field(strict=True, gt=0, le=1)]


class Decisions(Strict):
    """What to decide beside the predictions, calibrated on labels that chose nothing."""

    coverage: _Share | None = Field(
        default=None, description="the share of prediction sets that hold the true class"
    )
    score: Literal["lac", "aps", "daps"] = Field(default="lac", description="of prediction sets")
    by_class: StrictBool = Field(default=False, description="the coverage holds within every class")
    act_on: _Text | None = Field(
        default=None, description="a class to act on, with one of three goals"
    )
    precision: _ShareOrAll | None = Field(
        default=None, description="the share of the class among the nodes that are acted on"
    )
    recall: _ShareOrAll | None = Field(
        default=None, description="the share of the class that is acted on"
    )
    costs: tuple[_Cost, _Cost] | None = Field(
        default=None, description="of a false alarm and of a miss"
    )
    novelty: _Share | None = Field(
        default=None, description="the share of ordinary nodes that may be flagged as novel"
    )
    calibrate_on: Literal["test"] | None = Field(
        default=None, description="for a model that was not cross-fitted"
    )


class KnownNodes(Strict):
    """Nodes of the graph that the model was trained on, by their ids."""

    ids: list[Id] = Field(min_length=1, max_length=MOST_IDS)
    decisions: Decisions | None = None


class Prediction(BaseModel):
    """The prediction of the ensemble of replicas for one node."""

    id: str | int | float
    prediction: str = Field(description="the class with the highest probability")
    probability: float = Field(ge=0, le=1, description="that class's probability")
    probabilities: dict[str, float] = Field(description="of every class; they sum to 1")
    disagreement: float = Field(
        ge=0, le=1, description="the share of replicas that predict another class"
    )
    decisions: dict[str, list[str] | bool | int | float] | None = Field(
        default=None,
        description="set, set_size, act_on_CLASS, novelty_p_value and is_novel, as asked for",
    )


class Predictions(BaseModel):
    """One prediction per node, in the order of the request."""

    predictions: list[Prediction]
    rules: dict[str, Any] | None = Field(
        default=None, description="what each decision promises and what it reaches on labels"
    )
    warnings: list[str] | None = Field(
        default=None, description="where the assumption behind the decisions may not hold"
    )


class Health(BaseModel):
    """The server answers."""

    status: str
    version: str


class ModelFacts(BaseModel):
    """The model that is served and the requests it takes."""

    method: str
    title: str
    data: str
    nodes: int
    edges: int
    classes: list[str]
    replicas: int
    test_accuracy: float = Field(description="percent, mean over the replicas")
    takes_new_nodes: bool
    explains: bool
    columns: list[str] = Field(description="the columns of a new node")
    limits: dict[str, int]


class Problem(BaseModel):
    """The form of every error."""

    error: str = Field(description="one sentence")


Explained = dict[str, Any]
"""An explanation as `agnn explain --json` prints it."""


def new_nodes_schema(
    preprocessing: Preprocessing | None, *, has_edge_weights: bool = False
) -> type[BaseModel]:
    """The body of a request about new nodes, for a model with this preprocessing.

    Where the graph has edge weights, an edge is its two ends and its weight.
    None stands for a model that takes no new nodes: any columns pass, since none is read.
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
    edge: Any = WeightedEdge if has_edge_weights else Edge
    return create_model(
        "NewNodes",
        __base__=Strict,
        __doc__="New nodes, and edges among them and to nodes of the graph.",
        nodes=(list[node], Field(min_length=1, max_length=MOST_NEW_NODES)),  # type: ignore[valid-type]
        edges=(list[edge], Field(default_factory=list, max_length=MOST_EDGES)),
        decisions=(Decisions | None, None),
    )


def _columns_schema(preprocessing: Preprocessing) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for block in preprocessing.blocks:
        for column, kind, default in _column_types(block):
            # A column may have any name, so it is an alias of a field with a plain one.
            fields[f"column_{len(fields)}"] = (kind, Field(default, alias=column))
    return create_model(
        "Columns",
        __base__=Strict,
        __doc__="The columns of the table that the model learned from; null where unknown.",
        **fields,
    )


def _column_types(block: Block) -> list[tuple[str, Any, Any]]:
    """Name, type and default of every column that a block reads."""
    if isinstance(block, Numbers):
        return [
            (column, _number(mean, scale), ...)
            for column, mean, scale in zip(block.columns, block.means, block.scales, strict=True)
        ]
    if isinstance(block, Counts):  # most words are not in most texts: counts may be left out
        count = Annotated[float, Field(strict=True, ge=0, le=_LARGEST_COUNT)]
        return [(column, count, 0.0) for column in block.columns]
    if isinstance(block, Category):
        return [(block.column, _name(block.values), ...)]
    if isinstance(block, Words):
        return [(block.column, _Sentences, ...)]
    if not block.reads:  # computed from the edges alone
        return []
    raise TypeError(f"no schema for the columns of {type(block).__name__}")


def _name(values: Sequence[str]) -> Any:
    """One of the values, or any other text; true and false where the table had them as text."""
    spelled = {value.lower(): value for value in values}
    if not spelled.keys() & {"true", "false"}:
        return _Name

    def as_text(value: bool) -> str:
        return spelled.get(str(value).lower(), str(value))

    return Annotated[StrictBool, AfterValidator(as_text)] | _Name


def example_columns(preprocessing: Preprocessing) -> dict[str, Any]:
    """A value for each column that a new node must have."""
    columns: dict[str, Any] = {}
    for block in preprocessing.blocks:
        if isinstance(block, Numbers):
            columns |= {
                name: float(f"{mean:.3g}")
                for name, mean in zip(block.columns, block.means, strict=True)
            }
        elif isinstance(block, Category):
            columns[block.column] = block.values[0]
        elif isinstance(block, Words):
            columns[block.column] = " ".join(block.vocabulary[:3])
    return columns


def _number(mean: float, scale: float) -> Any:
    """A number at most `FARTHEST` deviations from the mean, or null."""
    low = mean - FARTHEST * scale
    high = mean + FARTHEST * scale
    return Annotated[float, Field(strict=True, ge=low, le=high, allow_inf_nan=False)] | None
