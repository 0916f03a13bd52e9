"""One rank's part of a graph whose rows are divided among ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.errors import DataError, InputError
from agnn.graph._graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FEWEST_BLOCKS: Final = 64
_MOST_BLOCKS: Final = 4096
_ROWS_OF_A_BLOCK: Final = 4096
_EDGES_AT_ONCE: Final = 1_000_000


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of a graph that one rank owns, and what it needs from and gives to the others.

    Rank q owns the nodes from `bounds[q]` to before `bounds[q + 1]`. The neighbours that a rank
    does not own are its halo. In local numbering the own rows come first, then the halo, both in
    ascending global order. Every row lists its senders in ascending *global* order, so a sum over
    a row adds the same numbers in the same order as on the whole graph.
    """

    rank: int
    bounds: NDArray[np.int64]  # [ranks + 1]
    offsets: NDArray[np.int64]  # [own + 1]
    columns: NDArray[np.int32]  # [m] local numbers
    halo: NDArray[np.int64]  # [h] global numbers, ascending
    degrees: NDArray[Any]  # [own + h] in the whole graph; of weights their sums, float64
    send_rows: NDArray[np.int64]  # [s] own rows, by receiving rank, ascending for each
    send_counts: NDArray[np.int64]  # [ranks]
    features: csr_array[Any, Any] | NDArray[np.float32]  # [own, d_x]
    labels: NDArray[np.int64]  # [own]; -1 where there is none
    weights: NDArray[np.floating] | None = None  # [m] of the edges; None: all count alike

    def __post_init__(self) -> None:
        lengths = {
            "offsets": (self.offsets, self.own + 1),
            "degrees": (self.degrees, self.own + self.halo.size),
            "features": (self.features, self.own),
            "labels": (self.labels, self.own),
            "send_counts": (self.send_counts, self.ranks),
            "send_rows": (self.send_rows, int(self.send_counts.sum())),
        }
        for name, (array, expected) in lengths.items():
            if array.shape[0] != expected:
                raise DataError(
                    f"part {self.rank}: {name} has {array.shape[0]} entries; expected {expected}."
                )
        weighted = self.columns.size if self.weights is None else self.weights.size
        if not self.columns.size == weighted == int(self.offsets[-1]):
            raise DataError(f"part {self.rank}: its offsets, columns and weights do not fit.")

    @property
    def ranks(self) -> int:
        """The number of parts."""
        return self.bounds.size - 1

    @property
    def nodes(self) -> int:
        """The number of nodes of the whole graph."""
        return int(self.bounds[-1])

    @property
    def first(self) -> int:
        """The global number of the first own row."""
        return int(self.bounds[self.rank])

    @property
    def own(self) -> int:
        """How many rows the rank owns."""
        return int(self.bounds[self.rank + 1] - self.bounds[self.rank])

    @cached_property
    def receive_counts(self) -> NDArray[np.int64]:
        """How many halo rows come from each rank; [ranks]."""
        owners = np.searchsorted(self.bounds, self.halo, side="right") - 1
        return np.bincount(owners, minlength=self.ranks).astype(np.int64)

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """Where the blocks of own rows begin and end, in local numbers; [own blocks + 1]."""
        every = Part.block_bounds(self.nodes) - self.first
        return every[(every >= 0) & (every <= self.own)]

    @classmethod
    def cut(
        cls,
        graph: Graph,
        bounds: NDArray[np.int64],
        rank: int,
        features: csr_array[Any, Any] | NDArray[np.float32],
        labels: NDArray[np.int64],
    ) -> Part:
        """Return the part of one rank of a graph, whose features and labels are given whole."""
        offsets = graph.offsets.numpy()
        rows = slice(int(bounds[rank]), int(bounds[rank + 1]))
        local = Part.local_rows(
            offsets[rows.start : rows.stop + 1], graph.columns.numpy(), bounds, rank
        )
        degrees = graph.weighted_degrees.numpy()
        edges = slice(int(offsets[rows.start]), int(offsets[rows.stop]))
        return cls(
            rank=rank,
            bounds=bounds,
            **local,
            degrees=np.concatenate([degrees[rows], degrees[local["halo"]]]),
            features=features[rows],
            labels=np.asarray(labels)[rows],
            weights=None if graph.weights is None else graph.weights[edges].numpy(),
        )

    @staticmethod
    def block_bounds(nodes: int) -> NDArray[np.int64]:
        """Return where the blocks of rows begin and end; [blocks + 1].

        Sums over all nodes are taken block by block and then in a fixed tree, so the blocks depend
        on the number of nodes alone. Their number is a power of two. A rank owns whole blocks.
        """
        if nodes < 1:
            raise InputError(f"`nodes` must be at least 1; got {nodes}.")
        blocks = _FEWEST_BLOCKS
        while blocks < _MOST_BLOCKS and nodes > blocks * _ROWS_OF_A_BLOCK:
            blocks *= 2
        return np.arange(blocks + 1, dtype=np.int64) * nodes // blocks

    @staticmethod
    def rank_bounds(
        nodes: int, ranks: int, offsets: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return where the rows of each rank begin and end, at the bounds of blocks; [ranks + 1].

        With the row `offsets` [n + 1] of the graph every rank has about the same number of rows and
        stored edges together; without them about the same number of rows.

        >>> Part.rank_bounds(1000, 3).tolist()
        [0, 328, 671, 1000]
        """
        blocks = Part.block_bounds(nodes)
        if nodes < _FEWEST_BLOCKS:
            raise InputError(f"a graph of {nodes} nodes is too small to be divided among ranks.")
        if not 1 <= ranks < blocks.size:
            raise InputError(
                f"a graph of {nodes:,} nodes is divided into 1 to {blocks.size - 1} parts, one per "
                f"rank; got {ranks}."
            )
        costs = blocks if offsets is None else blocks + np.asarray(offsets)[blocks]
        shares = costs[-1] * np.arange(1, ranks) / ranks
        ends = np.abs(costs[None] - shares[:, None]).argmin(1)
        # Every rank has at least one block, even where one holds most of the edges.
        least = np.arange(1, ranks)
        for k in range(ranks - 1):
            ends[k] = max(ends[k], least[k], ends[k - 1] + 1 if k else 1)
        most = blocks.size - 1 - least[::-1]
        bounds: NDArray[np.int64] = blocks[
            np.concatenate([[0], np.minimum(ends, most), [blocks.size - 1]])
        ]
        return bounds

    @staticmethod
    def local_rows(
        offsets: NDArray[np.int64],
        columns: NDArray[np.integer],
        bounds: NDArray[np.int64],
        rank: int,
    ) -> dict[str, NDArray[Any]]:
        """Return the rows of one rank in local numbers: `offsets`, `columns`, `halo`, send lists.

        `offsets` [own + 1] say where the own rows stand in `columns`, which has global numbers. The
        graph is undirected, so a rank needs a row of this one if the row has a neighbour there: the
        send lists follow from the own rows.
        """
        first = int(bounds[rank])
        end = int(bounds[rank + 1])
        count = end - first
        start = int(offsets[0])
        far = np.zeros(int(bounds[-1]), dtype=bool)
        for piece in _pieces(offsets):
            far[columns[piece]] = True
        far[first:end] = False
        halo = np.flatnonzero(far)
        numbers = np.empty(far.size, np.int32)
        numbers[first:end] = np.arange(count, dtype=np.int32)
        numbers[halo] = np.arange(count, count + halo.size, dtype=np.int32)
        local = np.empty(int(offsets[-1]) - start, np.int32)
        sent = [np.empty(0, np.int64)]
        for piece in _pieces(offsets):
            senders = np.asarray(columns[piece])
            local[piece.start - start : piece.stop - start] = numbers[senders]
            entries = np.flatnonzero(far[senders])
            receivers = np.searchsorted(bounds, senders[entries], side="right") - 1
            rows = np.searchsorted(offsets, entries + piece.start, side="right") - 1
            sent.append(_distinct(receivers * count + rows))
        pairs = _distinct(np.concatenate(sent))
        return {
            "offsets": offsets - start,
            "columns": local,
            "halo": halo,
            "send_rows": pairs % max(count, 1),
            "send_counts": np.bincount(pairs // max(count, 1), minlength=bounds.size - 1),
        }


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys in ascending order; NumPy's `unique` hashes, which is slower."""
    keys.sort()
    return keys[np.diff(keys, prepend=-1) > 0]


def _pieces(offsets: NDArray[np.int64]) -> Iterator[slice]:
    """Yield the stored edges of these rows, some at a time: a part may nearly fill the memory."""
    for start in range(int(offsets[0]), int(offsets[-1]), _EDGES_AT_ONCE):
        yield slice(start, min(start + _EDGES_AT_ONCE, int(offsets[-1])))
