"""The model that is served: it takes the ids of the user's data and answers in the API's schema."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from agnn.errors import AgnnError, InputError, UnavailableError
from agnn.explanation import OpenedRun, TrainedModel, explain
from agnn.files import plain_id
from agnn.metrics import Ensemble, ensemble_of
from agnn.web._errors import ConflictError
from agnn.web.api._schema import (
    MOST_EDGES,
    MOST_IDS,
    MOST_NEW_NODES,
    MOST_REASONS,
    Explained,
    ModelFacts,
    Prediction,
)

if TYPE_CHECKING:
    from agnn.data import NodeData, Preprocessing
    from agnn.nn import NodeModel

_FEW: Final = 32  # predictions that take some tenths of a millisecond
_NO_NODE: Final = "\0 no node"  # an id that no node has

NewNode = tuple[Hashable, Mapping[str, Any]]  # an id and its columns
Link = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A run that answers requests; none of them changes it."""

    opened: OpenedRun

    def warm(self) -> None:
        """Compute now what the first requests would have to wait for."""
        self.known(self.opened.data.node_ids[:1])
        _ = self.why_no_reasons
        if self.preprocessing is not None:
            columns = dict.fromkeys(self.preprocessing.columns)
            with suppress(UnavailableError):  # requests get the error
                self.new([(_NO_NODE, columns)], [])

    @cached_property
    def why_no_reasons(self) -> str | None:
        """Why this model's predictions cannot be explained, in a sentence; None if they can."""
        try:
            explain(self.opened, 0, limit=1)
        except AgnnError as error:
            return str(error)
        return None

    @property
    def preprocessing(self) -> Preprocessing | None:
        """How the columns of new nodes become features; None if the model takes no new nodes."""
        return None if self.opened.model is None else self.opened.data.preprocessing

    def facts(self) -> ModelFacts:
        """The model that is served and the requests it takes."""
        opened = self.opened
        return ModelFacts(
            method=opened.method.name,
            title=opened.method.title,
            data=opened.data.name,
            nodes=opened.data.nodes,
            edges=opened.data.edges.shape[1],
            classes=list(opened.data.class_names),
            replicas=len(opened.saved.seeds),
            test_accuracy=opened.saved.config["accuracy"]["mean"],
            takes_new_nodes=self.preprocessing is not None,
            explains=self.why_no_reasons is None,
            columns=list(self.preprocessing.columns) if self.preprocessing else [],
            limits={
                "ids": MOST_IDS, "nodes": MOST_NEW_NODES, "edges": MOST_EDGES, "limit": MOST_REASONS
            },
        )  # fmt: skip

    def known(self, ids: Sequence[Hashable]) -> list[Prediction]:
        """Predictions for nodes of the graph."""
        places = [self.opened.node(each) for each in ids]
        own = self.opened.data.node_ids
        return self._predictions([own[place] for place in places], self.opened.ensemble_at(places))

    def is_instant(self, ids: Sequence[Hashable]) -> bool:
        """Whether `known` only looks up scores that are there, for a few ids that all exist."""
        return (
            len(ids) <= _FEW
            and self._has_scores
            and all(self.opened.has_node(each) for each in ids)
        )

    @cached_property
    def _has_scores(self) -> bool:
        return self.opened.is_cheap(range(self.opened.data.nodes))

    def new(self, nodes: Sequence[NewNode], edges: Sequence[Link]) -> list[Prediction]:
        """Predictions for new nodes in the graph that they make larger."""
        model = self._network()
        data = _larger_graph(self.opened, nodes, edges)
        behind = torch.arange(self.opened.data.nodes, data.nodes)
        trained = TrainedModel(model, data, self.opened.method, self.opened.data)
        scores = trained.scores_around(behind)
        found = ensemble_of(scores, self.opened.temperature)
        if not np.isfinite(found.probabilities).all():
            raise InputError("the numbers in `columns` are too large to compute with.")
        return self._predictions([node for node, _ in nodes], found)

    def explanation(self, node: Hashable, limit: int) -> Explained:
        """The explanation of the prediction for a node of the graph."""
        if self.why_no_reasons is not None:
            raise ConflictError(self.why_no_reasons)
        return explain(self.opened, self.opened.node(node), limit=limit).to_dict()

    def _network(self) -> NodeModel:
        """The trained network; raises if the method has none."""
        if self.opened.model is None:
            raise ConflictError(
                f"{self.opened.method.title} has no model that could predict new nodes."
            )
        return self.opened.model

    def _predictions(self, ids: Sequence[Hashable], found: Ensemble) -> list[Prediction]:
        names = self.opened.data.class_names
        return [
            Prediction(
                id=plain_id(node),
                prediction=names[answer],
                probability=row[answer],
                probabilities=dict(zip(names, row, strict=True)),
                disagreement=differ,
            )
            for node, answer, row, differ in zip(
                ids, found.answers, found.probabilities.tolist(), found.disagreement, strict=True
            )
        ]


def _larger_graph(opened: OpenedRun, nodes: Sequence[NewNode], edges: Sequence[Link]) -> NodeData:
    """The data with the new nodes after the old ones, as `agnn predict` has it.

    The ids must be new and all different; an edge may name old and new ones.
    """
    if opened.data.preprocessing is None:
        raise ConflictError(
            f"'{opened.data.name}' was not made from a table: new nodes cannot be added."
        )
    new = _by_text(opened, [node for node, _ in nodes])
    own = opened.data.node_ids

    def end(name: Hashable) -> Hashable:
        """An id in the type that the graph has it."""
        return new[str(name)] if str(name) in new else own[opened.node(name)]

    from agnn.data.tables import DataFrame, with_new_nodes

    links = [(end(first), end(second)) for first, second in edges]
    frame = DataFrame(links, columns=["source", "target"], dtype=object)
    table, key = _table(nodes)
    return with_new_nodes(opened.data, table, frame, node_id=key)


def _by_text(opened: OpenedRun, ids: Sequence[Hashable]) -> dict[str, Hashable]:
    """The new ids by their text: in a request 7 and "7" are the same node."""
    new: dict[str, Hashable] = {}
    for each in ids:
        if str(each) in new:
            raise ConflictError(f"the id {each!r} is given twice in `nodes`.")
        if opened.has_node(each):
            raise ConflictError(f"the graph has a node {each!r} already; ask for it by its id.")
        new[str(each)] = each
    return new


def _table(nodes: Sequence[NewNode]) -> tuple[Any, str]:
    """The new nodes as a frame, and the name of its column of ids."""
    from agnn.data.tables import DataFrame

    key = "id"
    while any(key in columns for _, columns in nodes):  # a column may have any name
        key += "_"
    rows = [{key: each, **_table_cells(columns)} for each, columns in nodes]
    table = DataFrame(rows, columns=list(rows[0]))
    table[key] = table[key].astype(object)
    return table, key


def _table_cells(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as a table has them: whole numbers are text, as in a column of names."""
    return {
        name: str(value) if isinstance(value, int) else value for name, value in columns.items()
    }
