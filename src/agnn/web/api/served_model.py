"""The model that is served: questions in the user's ids, answers as the API gives them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from agnn.data.packages import tables_package
from agnn.errors import AgnnError, InputError, UnavailableError
from agnn.evaluation import Ensemble, ensemble_of
from agnn.explanation import OpenedRun, TrainedModel, explain
from agnn.web.api.problems import ConflictError, UnknownNodeError
from agnn.web.api.schema import Explained, Prediction

if TYPE_CHECKING:
    from agnn.data import NodeData, Preprocessing
    from agnn.nn import NodeModel


_NOBODY: Final = "\0 nobody"  # an id that no node has


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A run that answers one question after another; nothing in it changes."""

    opened: OpenedRun

    def warm(self) -> None:
        """Compute what every answer needs, so that the first one does not wait for it."""
        self.known(self.opened.data.node_ids[:1])
        _ = self.why_no_reasons
        if self.preprocessing is not None:
            columns = dict.fromkeys(self.preprocessing.columns)
            with suppress(UnavailableError):  # said to those who ask
                self.new([(_NOBODY, columns)], [])

    @cached_property
    def why_no_reasons(self) -> str | None:
        """Why this model's answers cannot be explained, in a sentence; None where they can."""
        try:
            explain(self.opened, 0, limit=1)
        except AgnnError as error:
            return str(error)
        return None

    @property
    def preprocessing(self) -> Preprocessing | None:
        """How the columns of new nodes become features; None where no new nodes are taken."""
        return None if self.opened.model is None else self.opened.data.preprocessing

    def known(self, ids: Sequence[Hashable]) -> list[Prediction]:
        """What the model says about nodes of its graph."""
        found = self.opened.ensemble_at([self._place(each) for each in ids])
        own = self.opened.data.node_ids
        return self._told([own[self._place(each)] for each in ids], found)

    def new(
        self,
        nodes: Sequence[tuple[Hashable, Mapping[str, Any]]],
        edges: Sequence[tuple[Hashable, Hashable]],
    ) -> list[Prediction]:
        """What it says about new nodes, each an id and its columns, in the larger graph."""
        ids = [node for node, _ in nodes]
        self._check_new(ids)
        data = self._larger(nodes, [self._ends(edge, set(ids)) for edge in edges])
        trained = TrainedModel(self._network(), data, self.opened.method)
        behind = torch.arange(self.opened.data.nodes, data.nodes)
        with torch.no_grad():
            scores = trained.model(trained.view_around(behind)).softmax(-1).cpu()  # [R, k, c]
        found = ensemble_of(scores, self.opened.temperature)
        if not np.isfinite(found.probabilities).all():
            raise InputError("the numbers in `columns` are too large to compute with.")
        return self._told(ids, found)

    def explanation(self, node: Hashable, limit: int) -> Explained:
        """The reasons for what it says about a node of its graph."""
        if self.why_no_reasons is not None:
            raise ConflictError(self.why_no_reasons)
        return explain(self.opened, self._place(node), limit=limit).to_dict()

    def _place(self, name: Hashable) -> int:
        try:
            return self.opened.node(name)
        except InputError as error:
            raise UnknownNodeError(str(error)) from error

    def _check_new(self, ids: Sequence[Hashable]) -> None:
        """Raise unless this model takes new nodes, and these ids are new and all different."""
        self._network()
        if self.preprocessing is None:
            name = self.opened.data.name
            raise ConflictError(f"'{name}' was not made from a table: new nodes cannot be added.")
        seen: set[str] = set()
        for each in ids:
            if str(each) in seen:
                raise ConflictError(f"the id {each!r} is given twice in `nodes`.")
            seen.add(str(each))
            if self._is_known(each):
                raise ConflictError(f"the graph has a node {each!r} already; ask for it by its id.")

    def _network(self) -> NodeModel:
        """The trained network; raises where the method has none."""
        if self.opened.model is None:
            raise ConflictError(
                f"{self.opened.method.title} has no model that could answer for nodes it has not "
                f"seen."
            )
        return self.opened.model

    def _is_known(self, name: Hashable) -> bool:
        try:
            self.opened.node(name)
        except InputError:
            return False
        return True

    def _ends(
        self, edge: tuple[Hashable, Hashable], new: set[Hashable]
    ) -> tuple[Hashable, Hashable]:
        """The ids of an edge as the graph itself writes them."""
        own = self.opened.data.node_ids
        first, second = (end if end in new else own[self._place(end)] for end in edge)
        return first, second

    def _larger(
        self,
        nodes: Sequence[tuple[Hashable, Mapping[str, Any]]],
        edges: Sequence[tuple[Hashable, Hashable]],
    ) -> NodeData:
        """The graph with the new nodes behind the old ones."""
        from agnn.data import with_new_nodes

        pandas = tables_package("pandas")
        key = "id of the node"  # may be a column's name as well, and is then told apart
        while any(key in columns for _, columns in nodes):
            key += "_"
        rows = [{key: each, **_as_table(columns)} for each, columns in nodes]
        table = pandas.DataFrame(rows, columns=list(rows[0]))
        table[key] = table[key].astype(object)
        links = pandas.DataFrame(edges, columns=["source", "target"], dtype=object)
        return with_new_nodes(self.opened.data, table, links, node_id=key)

    def _told(self, ids: Sequence[Hashable], found: Ensemble) -> list[Prediction]:
        names = self.opened.data.class_names
        return [
            Prediction(
                id=_plain(node),
                prediction=names[answer],
                probability=row[answer],
                probabilities=dict(zip(names, row, strict=True)),
                disagreement=differ,
            )
            for node, answer, row, differ in zip(
                ids, found.answers, found.probabilities.tolist(), found.disagreement, strict=True
            )
        ]


def _as_table(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as a table has them: whole numbers among names are names."""
    return {
        name: str(value) if isinstance(value, int) else value for name, value in columns.items()
    }


def _plain(node: Hashable) -> str | int | float:
    """An id in what JSON has."""
    value = node.item() if isinstance(node, np.generic) else node
    return value if isinstance(value, str | int | float) else str(value)
