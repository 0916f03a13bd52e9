"""Search against a definition that looks at every id."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from agnn.data import NodeData
from agnn.graph import Graph
from agnn.web.explore._node_search import NodeSearch


def search_of(ids: list[object], class_names: tuple[str, ...] = ("red", "a1")) -> NodeSearch:
    """A search over a path, its classes in turn: all but its ends have two neighbours."""
    n = len(ids)
    steps = np.arange(n - 1)
    data = NodeData.build(
        name="path", features=np.eye(n, 1), labels=np.arange(n) % 2, edges=[steps, steps + 1],
        class_names=class_names, node_ids=ids,
    )  # fmt: skip
    return NodeSearch(data, Graph.from_edges(data.edges, n))


def by_definition(ids: list[str], query: str) -> list[int]:
    """Equal, then beginning alike, then holding it, then of a class that holds it."""
    wanted, names = query.casefold(), ("red", "a1")
    degrees = [1 if k in (0, len(ids) - 1) else 2 for k in range(len(ids))]
    well_joined = sorted(range(len(ids)), key=lambda k: -degrees[k])
    matches = [
        lambda k: ids[k].casefold() == wanted,
        lambda k: ids[k].casefold().startswith(wanted),
        lambda k: wanted in ids[k].casefold(),
    ]
    found = [k for match in matches for k in range(len(ids)) if match(k)]
    found += [
        k for label in (0, 1) for k in well_joined if k % 2 == label and wanted in names[label]
    ]
    return list(dict.fromkeys(found))


words = st.text(st.sampled_from("ab1Ré<"), min_size=1, max_size=4)


@given(ids=st.lists(words, min_size=2, max_size=12, unique=True), query=words)
def test_matches_come_in_the_order_of_the_definition(ids: list[str], query: str) -> None:
    found = search_of(list(ids)).find(query, 50)
    assert found.nodes == by_definition(ids, query)
    assert found.is_all


def test_a_limit_cuts_the_list_and_says_so() -> None:
    search = search_of([f"n{k}" for k in range(30)])
    assert search.find("n", 5) == ([0, 1, 2, 3, 4], False)
    assert search.find("n2", 11) == ([2, *range(20, 30)], True)
    assert search.find("n2", 10) == ([2, *range(20, 29)], False)


def test_without_a_query_the_best_joined_nodes_come_first() -> None:
    assert search_of([f"n{k}" for k in range(5)]).find("  ", 4) == ([1, 2, 3, 0], False)


@pytest.mark.parametrize("query", ["two lines", "TWO\nLINES", " two   lines "])
def test_an_id_of_two_lines_is_one_id(query: str) -> None:
    assert search_of(["one", "two\nlines", "lines"]).find(query, 9) == ([1], True)


def test_ids_need_not_be_text() -> None:
    assert search_of([3, (1, 2), "3x"]).find("3", 9).nodes == [0, 2]
    assert search_of([3, (1, 2), "3x"]).find("(1,", 9).nodes == [1]
