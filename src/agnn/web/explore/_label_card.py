"""The explorer's card of labels: what it sends and shows, with a server or in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from agnn.data import NodeData
from agnn.runs import LabelEntry, last_labels

_LISTED: Final = 5  # of what was given last
_MOST_NODES: Final = 100_000  # that are given a class at once

Index = Annotated[int, Field(ge=0, lt=2**31, strict=True)]


class GivenLabel(BaseModel):
    """A class that the page gives to some nodes, both by index."""

    model_config = ConfigDict(extra="forbid")
    nodes: Annotated[list[Index], Field(min_length=1, max_length=_MOST_NODES)]
    label: Index


def label_record(data: NodeData, entries: Sequence[LabelEntry]) -> dict[str, Any]:
    """Return all labels and what was given last, as JSON values."""
    labels = last_labels(entries)
    latest = [
        {
            "label": entry.label,
            "count": len(entry.nodes),
            "index": entry.nodes[0],
            "id": str(data.node_ids[entry.nodes[0]]),
            "name": data.name_of(entry.nodes[0]),
        }
        for entry in reversed(entries[-_LISTED:])
    ]
    return {"nodes": list(labels), "classes": list(labels.values()), "latest": latest}
