"""The explorer's answers about some nodes, computed ahead and packed for a page without a server.

What the page prints is kept to the digits of the server's answers. Places and radii are rounded to
thousandths of an edge's length, and the widths of lines to 255 steps. P and R do not depend on the
target and are kept once per edge. `static/shared.js` puts the answers together.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agnn.explanation import Removal
from agnn.web.explore._records import plain_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from agnn.web.explore._explorer import Explorer

HOPS: Final = 2
_LIMIT: Final = 60  # nodes in a picture
_TRIALS: Final = 20  # neighbours of a node whose edges are removed, those that contribute most
_MOST_WEIGHTS: Final = 1_000_000  # computed for the removals of one node: about 10 ms
_MOST_CELL_EDGES: Final = 20_000  # in the lists of all cells of the class map together
_DIGITS: Final = 1e-6  # of the server's numbers
_THOUSANDTH: Final = 1e-3


class _Columns:
    """Arrays of numbers, one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._size = 0

    def add(self, values: ArrayLike, kind: str, unit: float = 1.0) -> dict[str, Any]:
        """Keep the values as multiples of a unit; gives back what finds them again."""
        numbers = np.asarray(values, dtype=np.float64).ravel() / unit
        if not kind.startswith("f"):
            limits = np.iinfo(kind)
            numbers = np.round(numbers).clip(limits.min, limits.max)
        packed = numbers.astype(f"<{kind}").tobytes()
        found = {"kind": kind, "at": self._size, "count": numbers.size, "unit": unit}
        padded = packed + bytes(-len(packed) % 4)
        self.parts.append(padded)
        self._size += len(padded)
        return found


def packed_answers(
    explorer: Explorer,
    nodes: Sequence[int],
    shared: dict[str, Any],
    progress: Callable[[int, int], None] | None = None,
) -> bytes:
    """All answers about these nodes, compressed; `shared` says what the page is about.

    `progress` is called with the number of nodes that are done and of all.
    """
    columns = _Columns()
    pictures = _Pictures(explorer)
    for done, node in enumerate(nodes, start=1):
        pictures.add(node)
        if progress is not None:
            progress(done, len(nodes))
    kept = {
        "about": explorer.about() | {"shared": shared | {"hops": HOPS, "count": len(nodes)}},
        "map": explorer.map,
        **_cohorts(explorer, set(nodes)),
        **_classes(explorer),
        **pictures.packed(columns),
    }
    if kept["about"]["start"] not in {str(explorer.data.node_ids[node]) for node in nodes}:
        kept["about"]["start"] = str(explorer.data.node_ids[nodes[0]])
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    # No time and no name in the header: the same run gives the same file.
    return gzip.compress(b"".join([len(text).to_bytes(4, "little"), text, *columns.parts]), mtime=0)


class _Pictures:
    """The neighbourhoods of the nodes added so far."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._targets: list[dict[str, Any]] = []
        self._sides: list[_Side] = []  # by node, then by run
        # P and R of each direction, and the weight, by run and ends; P and R by run and node.
        self._edges: dict[tuple[int, int, int], tuple[list[list[float | None]], Any]] = {}
        self._complete: set[tuple[int, int, int]] = set()  # of these edges nothing is missing
        self._loops: dict[tuple[int, int], list[list[float | None]]] = {}
        self._seen: list[set[int]] = [set() for _ in explorer.runs]

    def add(self, node: int) -> None:
        """Compute what the page shows of one node."""
        found = self._explorer.around(node, hops=HOPS, limit=_LIMIT, replica=None)
        self._targets.append(found["node"])
        tried = _tried(found["sides"])
        for run, side in enumerate(found["sides"]):
            trial = Removal(self._explorer.runs[run], node)
            side["tried"] = tried[: _MOST_WEIGHTS // max(trial.cost, 1)]
            side["after"] = [trial.probabilities([(node, other)]) for other in side["tried"]]
            self._keep(run, side)
            self._sides.append(_Side.of(side))

    def _keep(self, run: int, side: dict[str, Any]) -> None:
        """What does not depend on the target: P of the rows that bear on it, and the nodes."""
        dots = side["nodes"]
        for link in side["links"]:
            ends = [dots[end]["index"] for end in link["ends"]]
            turn = -1 if ends[0] > ends[1] else 1
            key = run, *ends[::turn]
            if key in self._complete:
                continue
            own = [*link["attention"][::turn], *link["relevance"][::turn]]
            rows = _known(self._edges[key][0], own) if key in self._edges else own
            self._edges[key] = rows, link["weight"]
            if not any(None in row for row in rows):
                self._complete.add(key)
        for dot in dots:
            place, own = (run, dot["index"]), [dot["attention"], dot["relevance"]]
            self._loops[place] = _known(self._loops.get(place, own), own)
            self._seen[run].add(dot["index"])

    def packed(self, columns: _Columns) -> dict[str, Any]:
        """Everything as JSON values and columns."""
        runs, data = range(len(self._explorer.runs)), self._explorer.data
        own = {each["index"] for each in self._targets}
        known = sorted(own.union(*self._seen, *(side.step_nodes for side in self._sides)))
        titles = data.texts.get("title")
        degrees = self._explorer.runs[0].graph.degrees.numpy()
        return {
            "nodes": {
                "index": columns.add(known, "i4"),
                "label": columns.add(data.labels[known], "i4"),
                "degree": columns.add(degrees[known], "i4"),
                "id": [str(data.node_ids[node]) for node in known],
                "title": None if titles is None else [titles[node] for node in known],
                "runs": [self._packed_nodes(columns, run, known) for run in runs],
            },
            "edges": [self._packed_edges(columns, run) for run in runs],
            "targets": [
                {key: each[key] for key in each.keys() - {"label", "degree", "title", "id"}}
                for each in self._targets
            ],
            "sides": [_packed_sides(columns, self._sides[run :: len(runs)], known) for run in runs],
        }

    def _packed_nodes(self, columns: _Columns, run: int, known: list[int]) -> dict[str, Any]:
        chances = self._explorer.runs[run].probabilities[known]
        is_train = np.isin(known, self._explorer.runs[run].split.train)
        layers = self._explorer.runs[run].network.hops
        unseen: list[list[float | None]] = [[None] * layers] * 2
        loops = _numbers([self._loops.get((run, node), unseen) for node in known])
        return {
            "answer": columns.add(chances.argmax(1), "i4"),
            "confidence": columns.add(chances.max(1), "i4", _DIGITS),
            "is_train": columns.add(is_train, "u1"),
            "attention": columns.add(loops[:, 0], "i4", _DIGITS),
            "relevance": columns.add(loops[:, 1], "f4"),
            "layers": layers,
        }

    def _packed_edges(self, columns: _Columns, run: int) -> dict[str, Any]:
        own = {key[1:]: value for key, value in sorted(self._edges.items()) if key[0] == run}
        weights = [weight for _, weight in own.values()]
        layers = self._explorer.runs[run].network.hops
        ways = _numbers([each for each, _ in own.values()]).reshape(-1, 2, 2, layers)
        return {
            "first": columns.add([ends[0] for ends in own], "i4"),
            "second": columns.add([ends[1] for ends in own], "i4"),
            "attention": columns.add(ways[:, 0], "i4", _DIGITS),
            "relevance": columns.add(ways[:, 1], "f4"),
            "weight": None if not weights or weights[0] is None else weights,
        }  # fmt: skip


def _tried(sides: list[dict[str, Any]]) -> list[int]:
    """The neighbours in any picture whose edges are removed, those that contribute most first."""
    sizes: dict[int, float] = {}
    for side in sides:
        for dot in side["nodes"]:
            if dot["hop"] == 1:
                other = dot["index"]
                sizes[other] = max(sizes.get(other, 0.0), abs(dot["contribution"]))
    return sorted(sizes, key=lambda other: -sizes[other])[:_TRIALS]


class _Side(NamedTuple):
    """A picture as arrays: a thousand of them as records would take gigabytes."""

    dots: NDArray[np.float64]  # [k, 7] node, hop, parent, contribution, x, y, share
    radii: NDArray[np.float64]  # [k, views]
    crossing: NDArray[np.float64]  # [links, views - 2]; the first is the sum of the others
    probabilities: list[float]
    after: NDArray[np.float64]  # [trials, c]
    tried: list[int]
    left_out: int
    elsewhere: float
    farther: float
    why: dict[str, Any] | None

    @classmethod
    def of(cls, side: dict[str, Any]) -> _Side:
        """Keep what the page needs of a side."""
        dots = side["nodes"]
        columns = [[dot[key] for dot in dots] for key in ("index", "hop", "parent", "contribution")]
        columns += [[dot["place"][axis] for dot in dots] for axis in (0, 1)]
        columns.append([dot["share"][0] for dot in dots])
        radii = np.array([dot["radius"] for dot in dots])
        crossing = np.array([link["crossing"][1:] for link in side["links"]])
        return cls(
            np.array(columns, dtype=np.float64).T,
            radii,
            crossing.reshape(-1, radii.shape[1] - 2),
            side["probabilities"],
            np.array(side["after"]).reshape(-1, len(side["probabilities"])),
            side["tried"],
            side["left_out"],
            side["elsewhere"],
            side["farther"],
            _shorter(side["why"]),
        )

    @property
    def step_nodes(self) -> set[int]:
        """The nodes of the waterfall."""
        steps = [] if self.why is None else self.why["steps"]
        return {step["node"] for step in steps if step["node"] is not None}


def _packed_sides(columns: _Columns, sides: list[_Side], known: list[int]) -> dict[str, Any]:
    """The pictures of one run, joined; the page knows where each begins by the counts."""
    nodes, hops, parents, contributions, x, y, shares = np.vstack([side.dots for side in sides]).T
    return {
        "counts": columns.add([len(side.dots) for side in sides], "i4"),
        "node": columns.add(np.searchsorted(known, nodes), "i4"),
        "hop": columns.add(hops, "u1"),
        "parent": columns.add(parents, "i2"),
        "x": columns.add(x, "i2", _THOUSANDTH),
        "y": columns.add(y, "i2", _THOUSANDTH),
        "share": columns.add(shares, "i4", _DIGITS),
        "contribution": columns.add(contributions, "i4", _DIGITS),
        "radius": [
            columns.add(view, "u2", _THOUSANDTH)
            for view in np.vstack([side.radii for side in sides]).T
        ],
        "links": columns.add([len(side.crossing) for side in sides], "i4"),
        "crossing": [
            columns.add(255 * np.sqrt(layer), "u1")
            for layer in np.vstack([side.crossing for side in sides]).T
        ],
        "left_out": columns.add([side.left_out for side in sides], "i4"),
        "elsewhere": columns.add([side.elsewhere for side in sides], "i4", _DIGITS),
        "farther": columns.add([side.farther for side in sides], "i4", _DIGITS),
        "probabilities": columns.add([side.probabilities for side in sides], "i4", _DIGITS),
        "tried": [side.tried for side in sides],
        "after": columns.add(np.vstack([side.after for side in sides]), "i4", _DIGITS),
        "why": [side.why for side in sides],
    }


def _shorter(why: dict[str, Any] | None) -> dict[str, Any] | None:
    """The waterfall without names that the table of nodes has."""
    if why is None:
        return None
    steps = []
    for step in why["steps"]:
        short = {key: step[key] for key in ("kind", "node", "hops", "nodes")}
        short["value"] = round(step["value"], 6)
        short["features"] = [[each["name"], round(each["value"], 4)] for each in step["features"]]
        if step["kind"] != "node":
            short["name"] = step["name"]
        steps.append(short)
    return {**why, "total": round(why["total"], 6), "constant": round(why["constant"], 6),
            "steps": steps}  # fmt: skip


def _known(
    one: list[list[float | None]], two: list[list[float | None]]
) -> list[list[float | None]]:
    """By row and layer, whichever of the two is known."""
    return [
        [b if a is None else a for a, b in zip(*rows, strict=True)]
        for rows in zip(one, two, strict=True)
    ]


def _numbers(values: list[list[list[float | None]]]) -> NDArray[np.float64]:
    """The values with zeros for gaps: rows that bear on no target, which the page does not read."""
    return np.nan_to_num(np.array(values, dtype=np.float64))


def _cohorts(explorer: Explorer, own: set[int]) -> dict[str, Any]:
    """Every cohort and cell of the confusion matrix, as far as its nodes are in the file."""
    classes = range(explorer.data.classes)
    keys = [*explorer.cohorts.all, *(f"cell-{i}-{j}" for i in classes for j in classes)]
    found = {}
    for key in keys:
        each = explorer.cohort(key)
        nodes = [node for node in each["nodes"] if node in own]
        if nodes or key in explorer.cohorts.all:
            found[key] = {**each, "nodes": nodes, "count": len(nodes), "ids": None}
    return {"cohorts": found}


def _classes(explorer: Explorer) -> dict[str, Any]:
    """The relevance between classes and the edges behind each cell, run by run."""
    relevance, cells, classes = [], {}, explorer.data.classes
    total = sum(run.network.hops for run in explorer.runs) * classes**2
    limit = max(5, min(50, _MOST_CELL_EDGES // total))
    for number, run in enumerate(explorer.runs):
        found = plain_numbers(explorer.class_map(number).relevance)
        relevance.append(found)
        for layer in range(1, run.network.hops + 1):
            for i, row in enumerate(found[layer - 1]):
                for j, value in enumerate(row):
                    if value is not None:
                        key = f"{number}-{layer}-{i}-{j}"
                        cells[key] = explorer.cell_edges(number, layer, i, j, limit)
    return {"relevance": relevance, "cells": cells}
