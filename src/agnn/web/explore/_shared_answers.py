"""The explorer's answers about some nodes, computed ahead for a page without a server.

They are the answers that the server gives, as lines of JSON in one gzip file. A line holds some
hundred answers of one kind as columns, and the first line says which. `static/shared.js` looks
them up.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import Any, Final

import numpy as np

from agnn.explanation import Removal
from agnn.web.explore._explorer import Explorer
from agnn.web.explore._picture import plain_numbers

COVERAGE: Final = 0.9  # of the prediction sets, unless another one is asked for
HOPS: Final = 2
_LIMIT: Final = 60  # nodes in a picture
_TRIALS: Final = 8  # neighbours of a node whose edges are removed, those that contribute most
_MOST_WEIGHTS: Final = 1_000_000  # computed for the removals of one node: about 10 ms
_BATCH: Final = 200  # answers in a line: as records they take some 50 MB
_DIGITS: Final = 5  # of probabilities: two more than the page prints
_MOST_CELL_EDGES: Final = 20_000  # in the lists of all cells of the class map together


def pack_answers(
    explorer: Explorer,
    nodes: Sequence[int],
    shared: dict[str, Any],
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """Return all answers about these nodes, compressed; `shared` says what the page is about.

    `progress` is called with the number of nodes that are done and of all.
    """
    questions: list[list[str]] = []
    lines: list[str] = []
    by_kind = groupby(
        _answers(explorer, nodes, shared, progress), key=lambda pair: pair[0].partition(" ")[0]
    )
    for _, pairs in by_kind:
        while batch := list(islice(pairs, _BATCH)):
            questions.append([question for question, _ in batch])
            lines.append(_line(_columns([answer for _, answer in batch])))
    text = "\n".join([_line(questions), *lines])
    # No time and no name in the header: the same run gives the same file.
    return gzip.compress(text.encode(), mtime=0)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _columns(value: Any) -> Any:
    """Return a JSON value with its lists of records and of lists as columns.

    Numbers of one kind then stand together, which halves the compressed size. Lists of several
    lengths are one list and their lengths.
    """
    if isinstance(value, dict):
        return {key: _columns(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    kinds = set(map(type, value))
    if not kinds & {dict, list}:  # numbers and names, the most of all lists
        return value
    if kinds == {dict} and value[0] and all(item.keys() == value[0].keys() for item in value):
        return {"columns": {key: _columns([item[key] for item in value]) for key in value[0]}}
    if kinds == {list}:
        lengths = [len(item) for item in value]
        if len(set(lengths)) == 1 and lengths[0]:
            return {"columns": [_columns(list(column)) for column in zip(*value, strict=True)]}
        return {"lengths": lengths, "joined": _columns(list(chain.from_iterable(value)))}
    return [_columns(item) for item in value]


def _answers(
    explorer: Explorer,
    nodes: Sequence[int],
    shared: dict[str, Any],
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[str, Any]]:
    """Yield every question that the page may ask, with its answer."""
    about = explorer.about() | {
        "shared": shared | {"hops": HOPS, "trials": _TRIALS, "count": len(nodes)}
    }
    if explorer.start not in nodes:
        about["start"] = str(explorer.data.node_ids[nodes[0]])
    yield "about", about
    yield "map", explorer.map
    yield "nodes", [explorer.node_record(node) for node in nodes]
    yield from _cohorts(explorer, set(nodes))
    yield from _classes(explorer)
    removals: list[tuple[str, Any]] = []
    for done, node in enumerate(_neighbours_together(explorer, nodes), start=1):
        around = explorer.around(node, hops=HOPS, limit=_LIMIT, replica=None)
        name = around["node"]["id"]
        yield f"around {name}", around
        removals.append((f"removals {name}", _removals(explorer, node, around["sides"])))
        if progress is not None:
            progress(done, len(nodes))
    yield from removals
    for node in nodes:
        yield f"set {explorer.data.node_ids[node]}", explorer.sets(node, COVERAGE)


def _neighbours_together(explorer: Explorer, nodes: Sequence[int]) -> list[int]:
    """Return the nodes with those of one hub side by side: their pictures share nodes and edges.

    gzip sees what is repeated within 32 KiB, which is two or three pictures.
    """
    graph = explorer.runs[0].graph
    degrees = graph.degrees.numpy()
    hubs = np.arange(graph.nodes)  # the neighbour with the most neighbours, or the node itself
    order = np.argsort(degrees[graph.senders.numpy()], kind="stable")
    hubs[graph.receivers.numpy()[order]] = graph.senders.numpy()[order]
    return sorted(nodes, key=lambda node: (hubs[node], node))


def _removals(explorer: Explorer, node: int, sides: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the removal of single edges at the node does in every run.

    `edges` are pairs of ends, `effects` those of `Explorer.removals`, and `after` has the
    probabilities without the edge; None for a run in which it was not tried.
    """
    removals: dict[str, list[Any]] = {"edges": [], "after": [], "effects": []}
    contributions: dict[int, float] = {}
    for side in sides:
        for dot in side["nodes"]:
            if dot["hop"] == 1:
                largest = contributions.get(dot["index"], 0.0)
                contributions[dot["index"]] = max(largest, abs(dot["contribution"]))
    tried = sorted(contributions, key=lambda other: -contributions[other])[:_TRIALS]
    trials = [Removal(run, node) for run in explorer.runs]
    chances = [
        trial.singly([(node, other) for other in tried[: _MOST_WEIGHTS // max(trial.cost, 1)]])
        for trial in trials
    ]
    for number, other in enumerate(tried):
        after: list[Any] = []
        effects: list[float | None] = []
        for side, of_run in zip(sides, chances, strict=True):
            if number >= len(of_run):
                after.append(None)
                effects.append(None)
                continue
            answer = int(np.argmax(side["probabilities"]))
            after.append(plain_numbers(of_run[number], _DIGITS))
            fall = side["probabilities"][answer] - float(of_run[number][answer])
            effects.append(round(fall, _DIGITS))
        removals["edges"].append("-".join(map(str, sorted((node, other)))))
        removals["after"].append(after)
        removals["effects"].append(effects)
    return removals


def _cohorts(explorer: Explorer, shared_nodes: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield every cohort and cell of the confusion matrix, as far as its nodes are in the file."""
    classes = range(explorer.data.classes)
    for key in [*explorer.cohorts.all, *(f"cell-{i}-{j}" for i in classes for j in classes)]:
        cohort = explorer.cohort(key)
        rows = [k for k, node in enumerate(cohort["nodes"]) if node in shared_nodes]
        if rows or key in explorer.cohorts.all:
            by_node = {name: [v[k] for k in rows] for name, v in cohort.items() if type(v) is list}
            yield f"cohort {key}", cohort | by_node | {"count": len(rows)}


def _classes(explorer: Explorer) -> Iterator[tuple[str, Any]]:
    """Yield the relevance between classes and the edges behind each cell, run by run."""
    total = sum(run.network.hops for run in explorer.runs) * explorer.data.classes**2
    limit = max(5, min(50, _MOST_CELL_EDGES // total))
    for number in range(len(explorer.runs)):
        layers = plain_numbers(explorer.class_map(number).relevance)
        yield f"relevance {number}", {"layers": layers}
        for layer, cells in enumerate(layers, start=1):
            for receiver, row in enumerate(cells):
                for sender, value in enumerate(row):
                    if value is not None:
                        edges = explorer.cell_edges(number, layer, receiver, sender, limit)
                        yield f"cell {number}-{layer}-{receiver}-{sender}", edges
