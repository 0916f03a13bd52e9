"""Parts of a graph: together they are the graph, and every row keeps the order of its sums."""

import numpy as np
import pytest
from scipy import sparse

from agnn.errors import DataError, InputError
from agnn.graph import Graph, Part
from zoo import random_pairs


def whole(nodes: int = 200, seed: int = 0) -> Graph:
    pairs = np.array(random_pairs(nodes, 4 * nodes, seed)).T
    return Graph.from_edges(pairs, nodes)


def parts(graph: Graph, ranks: int) -> list[Part]:
    bounds = Part.rank_bounds(graph.nodes, ranks, graph.offsets.numpy())
    x = sparse.random_array((graph.nodes, 5), density=0.4, rng=np.random.default_rng(0)).tocsr()
    labels = np.arange(graph.nodes) % 3
    return [Part.cut(graph, bounds, rank, x, labels) for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_rows_of_all_parts_are_the_rows_of_the_graph_in_the_same_order(ranks: int) -> None:
    graph = whole()
    offsets, columns = graph.offsets.numpy(), graph.columns.numpy()
    for part in parts(graph, ranks):
        names = np.concatenate([part.first + np.arange(part.own), part.halo])
        for row in range(part.own):
            found = names[part.columns[part.offsets[row] : part.offsets[row + 1]]]
            node = part.first + row
            assert found.tolist() == columns[offsets[node] : offsets[node + 1]].tolist()
        assert part.degrees.tolist() == graph.degrees.numpy()[names].tolist()
        assert part.features.shape == (part.own, 5)


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_what_a_rank_sends_is_what_the_other_waits_for(ranks: int) -> None:
    every = parts(whole(), ranks)
    for giver in every:
        starts = np.cumsum(giver.send_counts) - giver.send_counts
        for taker in every:
            sent = giver.send_rows[starts[taker.rank] :][: giver.send_counts[taker.rank]]
            wanted = taker.halo[
                (taker.halo >= giver.first) & (taker.halo < giver.first + giver.own)
            ]
            assert (sent + giver.first).tolist() == wanted.tolist()
            assert taker.receive_counts[giver.rank] == wanted.size


def test_ranks_own_whole_blocks_and_every_block_has_one_owner() -> None:
    graph = whole(nodes=1000)
    every = Part.block_bounds(1000).tolist()
    for ranks in (1, 2, 3, 5, 64):
        found = [0]
        for part in parts(graph, ranks):
            own = (part.blocks + part.first).tolist()
            assert own[0] == found[-1]
            found += own[1:]
        assert found == every


def test_ranks_have_about_the_same_rows_and_edges_together() -> None:
    # All edges are among the first tenth of the nodes.
    pairs = np.array(random_pairs(1000, 50_000, 0)).T
    graph = Graph.from_edges(pairs, 10_000)
    offsets = graph.offsets.numpy()
    bounds = Part.rank_bounds(10_000, 4, offsets)
    work = np.diff(bounds + offsets[bounds])
    assert work.max() < 1.3 * work.mean()
    assert np.diff(Part.rank_bounds(10_000, 4)).tolist() == [2500] * 4


def test_blocks_depend_on_the_nodes_alone_and_stay_of_moderate_size() -> None:
    assert Part.block_bounds(1000).size == 65
    assert Part.block_bounds(10**6).size == 257
    assert Part.block_bounds(10**9).size == 4097


def test_more_ranks_than_rows_or_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="divided into 1 to 64 parts"):
        Part.rank_bounds(1000, 65)
    with pytest.raises(InputError, match="too small to be divided"):
        Part.rank_bounds(3, 4)


def test_arrays_that_do_not_fit_are_refused() -> None:
    part = parts(whole(), 2)[1]
    with pytest.raises(DataError, match="part 1: labels has 3 entries"):
        Part(**{**vars_of(part), "labels": part.labels[:3]})


def vars_of(part: Part) -> dict[str, object]:
    return {name: getattr(part, name) for name in part.__dataclass_fields__}
