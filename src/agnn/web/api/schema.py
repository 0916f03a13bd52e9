"""What requests and answers look like, with the limits that every request is held to."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr

MOST_IDS: Final = 10_000
MOST_NEW_NODES: Final = 1_000
MOST_EDGES: Final = 100_000
LONGEST_ID: Final = 1_000  # characters
MOST_REASONS: Final = 100

_LARGEST: Final = 2**53 - 1  # what every JSON reader keeps exactly; larger ids are sent as text


def _whole(value: object) -> object:
    """3.0 as 3, which JSON does not tell apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Text = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_ID)]
Whole = Annotated[StrictInt, Field(ge=-_LARGEST, le=_LARGEST), BeforeValidator(_whole)]
Id = _Text | Whole
Edge = tuple[Id, Id]


class Strict(BaseModel):
    """A body in which everything is said: unknown fields, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class KnownNodes(Strict):
    """Nodes of the graph that the model was trained on, by their ids."""

    ids: list[Id] = Field(min_length=1, max_length=MOST_IDS)


class Prediction(BaseModel):
    """What the replicas say together about one node."""

    id: str | int | float
    prediction: str = Field(description="the class with the highest probability")
    probability: float = Field(ge=0, le=1, description="that class's probability")
    probabilities: dict[str, float] = Field(description="of every class; they sum to 1")
    disagreement: float = Field(
        ge=0, le=1, description="the share of replicas whose own answer is another"
    )


class Predictions(BaseModel):
    """One prediction a node, in the order in which they were asked for."""

    predictions: list[Prediction]


class Health(BaseModel):
    """That the server answers."""

    status: str
    version: str


class ModelFacts(BaseModel):
    """What is served, and what it can be asked."""

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
    columns: list[str] = Field(description="what a new node must bring")
    limits: dict[str, int]


class Problem(BaseModel):
    """What every error looks like."""

    error: str = Field(description="one sentence")


Explained = dict[str, Any]
"""An explanation as `agnn explain --json` prints it."""
