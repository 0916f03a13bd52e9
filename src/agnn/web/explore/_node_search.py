"""Search for nodes by id, by title, by part of these, or by class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.graph import Graph


class Found(NamedTuple):
    """The nodes that match a query."""

    nodes: list[int]  # indices, the best match first
    is_all: bool  # whether these are all matches


class NodeSearch:
    """Search over n ids.

    All ids are joined into one long text, a line for each: `str.find` searches millions of
    letters in milliseconds.
    """

    def __init__(self, data: NodeData, graph: Graph) -> None:
        self._data = data
        self._graph = graph

    def find(self, query: str, limit: int) -> Found:
        """Up to `limit` nodes: this id, ids that begin with it, ids that contain it, then classes.

        Without a query, and within a class, the nodes with the most neighbours come first.
        """
        text = _plain(query.strip())
        nodes: dict[int, None] = {}  # in the order in which they were found
        for node in self._matches(text):
            if len(nodes) == limit:
                if node not in nodes:
                    return Found(list(nodes), is_all=False)
            else:
                nodes[node] = None
        return Found(list(nodes), is_all=True)

    def _matches(self, text: str) -> Iterator[int]:
        """Every matching node, the best first; some more than once."""
        if not text:
            yield from self._by_degree.tolist()
            return
        for needle in (f"\n{text}\n", f"\n{text}\t", f"\n{text}", f"\t{text}", text):
            yield from self._lines_with(needle)
        for label, name in enumerate(self._data.class_names):
            if text in _plain(name):
                yield from self._of_class(label)

    def _lines_with(self, needle: str) -> Iterator[int]:
        """The nodes in whose line the needle begins, ascending."""
        text, starts = self._lines
        position = text.find(needle)
        while position >= 0:
            # A needle that begins with a line end belongs to the line after it.
            inside = position + needle.startswith("\n")
            node = int(np.searchsorted(starts, inside, side="right")) - 1
            yield node
            end = starts[node + 1] - 1 if node + 1 < starts.size else len(text)
            position = text.find(needle, int(end))

    def _of_class(self, label: int) -> Iterator[int]:
        for node in self._by_degree:
            if self._data.labels[node] == label:
                yield int(node)

    @cached_property
    def _lines(self) -> tuple[str, NDArray[np.int64]]:
        """Every id as a line of one text, and where each begins; [n]."""
        ids = [_plain(str(node_id)) for node_id in self._data.node_ids]
        # An id stands at the beginning of its line, so that the best match is still the id.
        titles = self._data.texts.get("title", ("",) * len(ids))
        lines = [
            f"{node_id}\t{_plain(title)}" if title else node_id
            for node_id, title in zip(ids, titles, strict=True)
        ]
        lengths = np.fromiter(map(len, lines), dtype=np.int64, count=len(lines))
        starts = 1 + np.cumsum(lengths + 1) - (lengths + 1)
        return "\n" + "\n".join(lines) + "\n", starts

    @cached_property
    def _by_degree(self) -> NDArray[np.int64]:
        """All nodes, those with the most neighbours first; [n]."""
        return np.argsort(-self._graph.degrees.numpy(), kind="stable")


def _plain(text: str) -> str:
    """The text as it is compared: without case, with single spaces."""
    return " ".join(text.casefold().split())
