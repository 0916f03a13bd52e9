"""The model that is served: it takes the ids of the user's data and answers in the API's schema."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from agnn.data import ReadKeywords
from agnn.data.preprocessing import Preprocessing
from agnn.decisions import AskedNodes, Rules, Wanted
from agnn.errors import AgnnError, InputError, UnavailableError
from agnn.explanation import explain
from agnn.files import plain_id
from agnn.runs import Predictions, Run
from agnn.web._errors import ConflictError
from agnn.web.api._schema import (
    MOST_EDGES,
    MOST_IDS,
    MOST_NEW_NODES,
    MOST_REASONS,
    Decisions,
    Explained,
    ModelFacts,
    Prediction,
    Predictions as Answers,
)

_FEW: Final = 32  # predictions that take some tenths of a millisecond
_KEPT_RULES: Final = 16
_NO_NODE: Final = "\0 no node"  # an id that no node has
_WEIGHT: Final = "weight"

NewNode = tuple[Hashable, Mapping[str, Any]]  # an id and its columns
Link = tuple[Hashable, Hashable] | tuple[Hashable, Hashable, float]  # with edge weights


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A run that answers requests; none of them changes it."""

    run: Run

    def warm(self) -> None:
        """Compute now what the first requests would have to wait for."""
        self.known(self.run.data.node_ids[:1])
        _ = self.why_no_reasons
        if self.preprocessing is not None:
            columns = dict.fromkeys(self.preprocessing.columns)
            with suppress(UnavailableError):  # requests get the error
                self.new([(_NO_NODE, columns)], [])

    @cached_property
    def why_no_reasons(self) -> str | None:
        """Why this model's predictions cannot be explained, in a sentence; None if they can."""
        try:
            explain(self.run, 0, limit=1)
        except AgnnError as error:
            return str(error)
        return None

    @property
    def preprocessing(self) -> Preprocessing | None:
        """How the columns of new nodes become features; None if the model takes no new nodes."""
        return None if self.run.model is None else self.run.data.preprocessing

    def facts(self) -> ModelFacts:
        """The model that is served and the requests it takes."""
        return ModelFacts(
            method=self.run.method.name,
            title=self.run.method.title,
            data=self.run.data.name,
            nodes=self.run.data.nodes,
            edges=self.run.data.edge_count,
            classes=list(self.run.data.class_names),
            replicas=self.run.replicas,
            test_accuracy=self.run.accuracy.mean,
            takes_new_nodes=self.preprocessing is not None,
            explains=self.why_no_reasons is None,
            columns=list(self.preprocessing.columns) if self.preprocessing else [],
            limits={
                "ids": MOST_IDS,
                "nodes": MOST_NEW_NODES,
                "edges": MOST_EDGES,
                "limit": MOST_REASONS,
            },
        )

    def known(self, ids: Sequence[Hashable], decisions: Decisions | None = None) -> Answers:
        """Predictions for nodes of the graph."""
        wanted = _wanted_decisions(decisions)
        if wanted.is_empty:
            return Answers(predictions=_answers(self.run.predict(ids)))
        return self._decide(wanted, AskedNodes.known(self.run, ids))

    def _decide(self, decisions: Wanted, nodes: AskedNodes) -> Answers:
        """Predictions with decisions, and what these promise."""
        rules = self._rules(decisions)
        predictions, warnings = rules.apply(nodes)
        return Answers(predictions=_answers(predictions), rules=rules.to_dict(), warnings=warnings)

    @cached_property
    def _rules(self) -> Callable[[Wanted], Rules]:
        """The rules that a request asks for; those of the last requests are kept."""

        def rules(wanted: Wanted) -> Rules:
            try:
                return wanted.calibrate(self.run)
            except InputError as error:
                raise ConflictError(str(error)) from error

        return lru_cache(_KEPT_RULES)(rules)

    def is_instant(self, ids: Sequence[Hashable]) -> bool:
        """Whether `known` only looks up scores that are there, for a few ids that all exist."""
        return len(ids) <= _FEW and self._has_scores and all(map(self.run.has_node, ids))

    @cached_property
    def _has_scores(self) -> bool:
        return self.run.is_cheap(range(self.run.data.nodes))

    def new(
        self,
        nodes: Sequence[NewNode],
        edges: Sequence[Link],
        decisions: Decisions | None = None,
    ) -> Answers:
        """Predictions for new nodes in the graph that they make larger."""
        if self.run.model is None:
            raise ConflictError(
                f"{self.run.method.title} has no model that could predict new nodes."
            )
        table, links, key = _tables(self.run, nodes, edges)
        weight = _WEIGHT if self.run.data.is_weighted else None
        options: ReadKeywords = {"node_id": key, "edge_weight": weight}
        wanted = _wanted_decisions(decisions)
        if wanted.is_empty:
            return Answers(predictions=_answers(self.run.predict_new(table, links, **options)))
        asked_nodes = AskedNodes.new(
            self.run, table, links, has_neighbours=wanted.has_neighbours, **options
        )
        return self._decide(wanted, asked_nodes)

    def explanation(self, node: Hashable, limit: int) -> Explained:
        """The explanation of the prediction for a node of the graph."""
        if self.why_no_reasons is not None:
            raise ConflictError(self.why_no_reasons)
        return explain(self.run, self.run.node(node), limit=limit).to_dict()


def _wanted_decisions(decisions: Decisions | None) -> Wanted:
    """What the body of a request asks to decide."""
    if decisions is None:
        return Wanted()
    try:
        return Wanted(
            coverage=decisions.coverage,
            score=decisions.score,
            by_class=decisions.by_class,
            class_name=decisions.act_on,
            precision=decisions.precision,
            recall=decisions.recall,
            costs=decisions.costs,
            false_alarms=decisions.novelty,
            calibrate_on=decisions.calibrate_on,
        )
    except InputError as error:
        raise ConflictError(str(error)) from error


def _answers(predictions: Predictions) -> list[Prediction]:
    """Predictions in the API's schema."""
    names = predictions.class_names
    answers = [
        Prediction(
            id=plain_id(node),
            prediction=names[answer],
            probability=row[answer],
            probabilities=dict(zip(names, row, strict=True)),
            disagreement=differ,
        )
        for node, answer, row, differ in zip(
            predictions.ids,
            predictions.answers,
            predictions.probabilities.tolist(),
            predictions.disagreement,
            strict=True,
        )
    ]
    if columns := predictions.extra_columns:
        for k, answer in enumerate(answers):
            answer.decisions = {name: values[k] for name, values in columns.items()}
    return answers


def _tables(run: Run, nodes: Sequence[NewNode], edges: Sequence[Link]) -> tuple[Any, Any, str]:
    """New nodes and edges as frames, and the name of the column of ids.

    The ids must be new and all different; an edge may name old and new ones.
    """
    if run.data.preprocessing is None:
        raise ConflictError(
            f"'{run.data.name}' was not made from a table: new nodes cannot be added."
        )
    new = _by_text(run, [node for node, _ in nodes])
    node_ids = run.data.node_ids

    def end(name: Hashable) -> Hashable:
        """An id in the type that the graph has it."""
        return new[str(name)] if str(name) in new else node_ids[run.node(name)]

    from agnn.data.tables import DataFrame

    links = [(end(edge[0]), end(edge[1])) for edge in edges]
    frame = DataFrame(links, columns=["source", "target"], dtype=object)
    if run.data.is_weighted:
        frame[_WEIGHT] = [float(edge[2]) for edge in edges if len(edge) == 3]
    table, key = _table(nodes)
    return table, frame, key


def _by_text(run: Run, ids: Sequence[Hashable]) -> dict[str, Hashable]:
    """The new ids by their text: in a request 7 and "7" are the same node."""
    new: dict[str, Hashable] = {}
    for node_id in ids:
        if str(node_id) in new:
            raise ConflictError(f"the id {node_id!r} is given twice in `nodes`.")
        if run.has_node(node_id):
            raise ConflictError(f"the graph has a node {node_id!r} already; ask for it by its id.")
        new[str(node_id)] = node_id
    return new


def _table(nodes: Sequence[NewNode]) -> tuple[Any, str]:
    """The new nodes as a frame, and the name of its column of ids."""
    from agnn.data.tables import DataFrame

    key = "id"
    while any(key in columns for _, columns in nodes):  # a column may have any name
        key += "_"
    rows = [{key: node_id, **_table_cells(columns)} for node_id, columns in nodes]
    table = DataFrame(rows, columns=list(rows[0]))
    table[key] = table[key].astype(object)
    return table, key


def _table_cells(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as a table has them: whole numbers are text, as in a column of names."""
    return {
        name: str(value) if isinstance(value, int) else value for name, value in columns.items()
    }
