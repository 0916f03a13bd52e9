"""The model that is served: questions in the user's ids, answers as the API gives them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from agnn.errors import AgnnError, InputError, UnavailableError
from agnn.explanation import OpenedRun, TrainedModel, explain
from agnn.files import plain_id
from agnn.metrics import Ensemble, ensemble_of
from agnn.web.api.larger_graph import Link, NewNode, larger_graph, place_of
from agnn.web.api.problems import ConflictError
from agnn.web.api.schema import Explained, Prediction

if TYPE_CHECKING:
    from agnn.data import Preprocessing
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
        places = [place_of(self.opened, each) for each in ids]
        own = self.opened.data.node_ids
        return self._told([own[place] for place in places], self.opened.ensemble_at(places))

    def new(self, nodes: Sequence[NewNode], edges: Sequence[Link]) -> list[Prediction]:
        """What it says about new nodes in the larger graph."""
        model = self._network()
        data = larger_graph(self.opened, nodes, edges)
        behind = torch.arange(self.opened.data.nodes, data.nodes)
        scores = TrainedModel(model, data, self.opened.method).scores_around(behind)
        found = ensemble_of(scores, self.opened.temperature)
        if not np.isfinite(found.probabilities).all():
            raise InputError("the numbers in `columns` are too large to compute with.")
        return self._told([node for node, _ in nodes], found)

    def explanation(self, node: Hashable, limit: int) -> Explained:
        """The reasons for what it says about a node of its graph."""
        if self.why_no_reasons is not None:
            raise ConflictError(self.why_no_reasons)
        return explain(self.opened, place_of(self.opened, node), limit=limit).to_dict()

    def _network(self) -> NodeModel:
        """The trained network; raises where the method has none."""
        if self.opened.model is None:
            raise ConflictError(
                f"{self.opened.method.title} has no model that could answer for nodes it has not "
                f"seen."
            )
        return self.opened.model

    def _told(self, ids: Sequence[Hashable], found: Ensemble) -> list[Prediction]:
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
