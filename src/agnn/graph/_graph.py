"""The graph as the kernels read it: undirected, one CSR, receivers by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, unusable_weight
from agnn.errors import InputError


@dataclass(frozen=True, eq=False)
class LongRows:
    """Rows with more than `limit` entries, cut into segments of at most `limit`.

    The segments of row `rows[k]` are those from `first[k]` to before `first[k + 1]`.
    """

    limit: int
    rows: Tensor  # [k] int64, ascending
    first: Tensor  # [k + 1] int64
    segment_rows: Tensor  # [s] int64: the row of each segment
    segment_bounds: Tensor  # [2, s] int64: where its entries begin and end

    @classmethod
    def of(cls, offsets: Tensor, limit: int) -> LongRows:
        """Return the long rows of a matrix with these row offsets [n + 1]."""
        lengths = offsets.diff()
        rows = (lengths > limit).nonzero().squeeze(1)
        pieces = (lengths[rows] + limit - 1) // limit
        first = torch.zeros(rows.numel() + 1, dtype=torch.int64, device=offsets.device)
        torch.cumsum(pieces, dim=0, out=first[1:])
        segment_rows = torch.repeat_interleave(rows, pieces)
        piece = torch.arange(segment_rows.numel(), device=offsets.device)
        piece -= torch.repeat_interleave(first[:-1], pieces)
        begins = offsets[segment_rows] + piece * limit
        ends = torch.minimum(begins + limit, offsets[segment_rows + 1])
        return cls(limit, rows, first, segment_rows, torch.stack([begins, ends]))

    @property
    def count(self) -> int:
        """How many rows are long."""
        return self.rows.numel()

    @property
    def segments(self) -> int:
        """How many segments they are cut into."""
        return self.segment_rows.numel()


# Stored edges beyond which a pruned copy costs more memory than it saves time.
TOO_LARGE_TO_PRUNE = 1 << 28
_DENSE = 16  # of so many nodes one is found: then all are read once
_LONGEST_ROW = 1024  # edges that one program of a GPU goes through


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph without stored self-loops: row `i` lists the senders `j` of node `i`.

    Every edge stands twice, as (i, j) and as (j, i), so the same rows serve the forward and the
    backward pass. Operations that include the node itself add it on their own. The rows of a whole
    graph list their senders in ascending order; those of a pruned one keep that order.

    `order` says in which order sums over all rows run. A pruned graph keeps the whole graph's
    order there, so that the rows it leaves out, which would add zeros, change no bit.

    Edges may have weights above 0, the same in both directions. A self-loop has the weight 1.
    """

    offsets: Tensor  # [n + 1] int64
    columns: Tensor  # [m] int32
    order: Tensor | None = None  # [n] int64; None: as the rows stand
    weights: Tensor | None = None  # [m] float32 or float64; None: every edge counts alike
    # So many first nodes that every edge has one of them; None: unknown
    touched_rows: int | None = None

    @classmethod
    def from_edges(
        cls,
        edges: NDArray[np.integer] | Tensor,
        nodes: int,
        weights: NDArray[np.floating] | Tensor | None = None,
    ) -> Graph:
        """Return the graph of `edges` [2, k]: both directions, duplicates and self-loops removed.

        An edge that is given several times, or in both directions, must have the same one of the
        `weights` [k] each time.
        """
        # A copy: checked data is read-only, and torch has no read-only tensors.
        pairs = edges if isinstance(edges, Tensor) else torch.from_numpy(np.array(edges))
        if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.is_floating_point():
            raise InputError(
                f"`edges` must be integers of shape [2, m] (receivers, then senders); got "
                f"{pairs.dtype} {list(pairs.shape)}. Transpose it if each row is an edge."
            )
        pairs = pairs.to(torch.int64)
        if not 0 < nodes < 2**31:
            raise InputError(f"`nodes` must be between 1 and 2^31 - 1; got {nodes}.")
        if pairs.numel() and (int(pairs.min()) < 0 or int(pairs.max()) >= nodes):
            outside = int(pairs.min()) if int(pairs.min()) < 0 else int(pairs.max())
            raise InputError(f"an edge names node {outside}, but there are {nodes} nodes (from 0).")
        is_edge = pairs[0] != pairs[1]
        bits = nodes.bit_length()  # two ends in one key: shifted, since dividing takes much longer
        pair_weights = None if weights is None else _checked_weights(weights, pairs)[is_edge]
        pairs = pairs if bool(is_edge.all()) else pairs[:, is_edge]
        # In place, and freed as soon as may be: a large graph has its memory's peak here.
        keys = torch.cat([pairs[0], pairs[1]])
        keys <<= bits
        keys[: pairs.shape[1]] |= pairs[1]
        keys[pairs.shape[1] :] |= pairs[0]
        del pairs, is_edge
        values = None
        if pair_weights is None:
            keys = _distinct(keys)
        else:
            keys, values = _distinct_with_weights(keys, pair_weights, bits)
        counts = torch.bincount(keys >> bits, minlength=nodes)
        offsets = torch.zeros(nodes + 1, dtype=torch.int64, device=keys.device)
        torch.cumsum(counts, dim=0, out=offsets[1:])
        keys &= (1 << bits) - 1
        return cls(offsets, keys.to(torch.int32), weights=values)

    @classmethod
    def of(cls, data: NodeData) -> Graph:
        """Return the graph of some data, with its edge weights; on disk where they are."""
        if data.rows_on_disk is not None:
            offsets, columns, weights = data.rows_on_disk
            return cls(
                torch.from_numpy(offsets),
                torch.from_numpy(columns),
                weights=None if weights is None else torch.from_numpy(weights),
            )
        return cls.from_edges(data.edges, data.nodes, data.edge_weights)

    @cached_property
    def nodes(self) -> int:
        """n, the number of nodes."""
        return self.offsets.numel() - 1

    @cached_property
    def edges(self) -> int:
        """m, the number of stored directed edges."""
        return self.columns.numel()

    @cached_property
    def device(self) -> torch.device:
        """Where the graph lies."""
        return self.columns.device

    @cached_property
    def degrees(self) -> Tensor:
        """|N(i)|, the node itself not counted; [n] int64."""
        return self.offsets.diff()

    @cached_property
    def weighted_degrees(self) -> Tensor:
        """The sum of the weights of a node's edges [n] float64; without weights, `degrees`."""
        if self.weights is None:
            return self.degrees
        # In the order of the rows on every device; index_add would use atomics on a GPU.
        values = self.weights.to(torch.float64)
        sums: Tensor = torch.segment_reduce(values, "sum", offsets=self.offsets, initial=0)
        return sums

    def weights_as(self, dtype: torch.dtype) -> Tensor | None:
        """Return the weights in the type that is computed in; converted once."""
        if self.weights is None or self.weights.dtype == dtype:
            return self.weights
        if dtype not in self._converted_weights:
            self._converted_weights[dtype] = self.weights.to(dtype)
        return self._converted_weights[dtype]

    @cached_property
    def _converted_weights(self) -> dict[torch.dtype, Tensor]:
        return {}

    @cached_property
    def receivers(self) -> Tensor:
        """The row of every stored edge; [m] int64."""
        rows = torch.arange(self.nodes, device=self.device)
        return torch.repeat_interleave(rows, self.degrees, output_size=self.edges)

    @cached_property
    def senders(self) -> Tensor:
        """The column of every stored edge; [m] int64."""
        return self.columns.to(torch.int64)

    @cached_property
    def reverse(self) -> Tensor:
        """For every edge (i, j) the position of (j, i); [m] int64."""
        # Sorted by (sender, receiver), the edges stand in the order of their reverses. All keys
        # differ, so the sort need not be stable.
        forward = torch.argsort(self.receivers * self.nodes + self.senders)
        backward = torch.argsort(self.senders * self.nodes + self.receivers)
        reverse = torch.empty_like(forward)
        reverse[forward] = backward
        return reverse

    @cached_property
    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Offsets, columns and receivers for compiled CPU code, unsigned: no index wraps round."""
        return (
            self.offsets.numpy().view(np.uint64),
            self.columns.numpy().view(np.uint32),
            # Not from `receivers`, which would stay in memory with twice the size.
            np.repeat(np.arange(self.nodes, dtype=np.uint32), self.degrees.numpy()),
        )

    @cached_property
    def places(self) -> NDArray[np.uint32]:
        """Where every edge stands, 0 to m - 1, for compiled CPU code; [m]."""
        return np.arange(self.edges, dtype=np.uint32)

    @cached_property
    def reverse_places(self) -> NDArray[np.uint32]:
        """`reverse` for compiled CPU code; [m]."""
        return self.reverse.to(torch.int32).numpy().view(np.uint32)

    @cached_property
    def summation_order(self) -> NDArray[np.uint64]:
        """The rows in the order in which compiled CPU code sums over them; [n]."""
        rows = torch.arange(self.nodes) if self.order is None else self.order
        return rows.numpy().view(np.uint64)

    @cached_property
    def near_order(self) -> Tensor:
        """Each node's place in an order in which neighbours are close; [n] int64, on the CPU.

        Reverse Cuthill-McKee: breadth first, from a node of low degree.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        entries = (np.ones(self.edges, np.int8), self.columns.numpy(), self.offsets.numpy())
        adjacency = csr_array(entries, shape=(self.nodes, self.nodes))
        nodes = reverse_cuthill_mckee(adjacency, symmetric_mode=True)
        return torch.from_numpy(np.argsort(nodes))

    @cached_property
    def longest_row(self) -> int:
        """The largest degree."""
        return int(self.degrees.max()) if self.edges else 0

    @cached_property
    def long_rows(self) -> LongRows:
        """The rows that one program of a GPU would take too long for."""
        return LongRows.of(self.offsets, _LONGEST_ROW)

    def edges_of(self, rows: int) -> int:
        """Return how many edges the first `rows` rows hold; asked of the device once."""
        if rows not in self._edge_counts:
            self._edge_counts[rows] = int(self.offsets[rows])
        return self._edge_counts[rows]

    @cached_property
    def _edge_counts(self) -> dict[int, int]:
        return {}

    def reach(self, rows: int) -> int:
        """Return how many leading rows hold the first `rows` rows and all their neighbours."""
        if rows not in self._reaches:
            senders = self.columns[: int(self.offsets[rows])]
            highest = int(senders.max()) + 1 if senders.numel() else 0
            self._reaches[rows] = max(rows, highest)
        return self._reaches[rows]

    @cached_property
    def _reaches(self) -> dict[int, int]:
        return {}

    @staticmethod
    def can_prune(edges: int) -> bool:
        """Return whether a copy of part of a graph with so many edges saves more than it costs."""
        return edges <= TOO_LARGE_TO_PRUNE

    def around(self, rows: int) -> Graph:
        """Return the edges with the first `rows` nodes at one end or both; the labels stay.

        What a layer that computes `rows` rows reads, there and back. A very large graph is not
        copied and comes back whole.
        """
        if rows in (self.nodes, self.touched_rows) or not self.can_prune(self.edges):
            return self
        if rows not in self._surroundings:
            n = self.reach(rows)
            is_kept = (self.receivers < rows) | ((self.senders < rows) & (self.receivers < n))
            offsets = torch.zeros(n + 1, dtype=torch.int64, device=self.device)
            counts = torch.bincount(self.receivers[is_kept], minlength=n)
            torch.cumsum(counts, dim=0, out=offsets[1:])
            order = None if self.order is None else self.order[self.order < n]
            weights = None if self.weights is None else self.weights[is_kept]
            self._surroundings[rows] = Graph(offsets, self.columns[is_kept], order, weights)
        return self._surroundings[rows]

    @cached_property
    def _surroundings(self) -> dict[int, Graph]:
        return {}

    def row_edges(self, rows: Tensor) -> Tensor:
        """Return where the stored edges of the given receivers stand, row after row; [k] int64."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        ends = lengths.cumsum(0)
        firsts = torch.repeat_interleave(starts - (ends - lengths), lengths)
        return firsts + torch.arange(firsts.numel(), device=self.device)

    def edge_places(self, receivers: Tensor, senders: Tensor) -> Tensor:
        """Return where the edges (receiver, sender) stand, -1 for those not there; [k] int64.

        A binary search in each receiver's row, so a hub costs hardly more than any other node. The
        rows must list their senders in ascending order, as those of a whole graph do.
        """
        low = self.offsets[receivers]
        end = self.offsets[receivers + 1]
        if not self.edges or not receivers.numel():
            return torch.full_like(receivers, -1)
        high = end
        last = self.edges - 1
        for _ in range(int((end - low).max()).bit_length()):
            middle = (low + high) // 2
            is_below = (low < high) & (self.columns[middle.clamp(max=last)] < senders)
            low = torch.where(is_below, middle + 1, low)
            high = torch.where(is_below, high, middle)
        is_there = (low < end) & (self.columns[low.clamp(max=last)] == senders)
        return torch.where(is_there, low, -1)

    def hop_rings(self, targets: Tensor, hops: int) -> list[Tensor]:
        """Return the nodes at 0, 1, ..., `hops` hops from the nearest target; [k] int64 each.

        They are ascending. `targets` may come in any order and twice. A ring beyond the last node
        is empty.
        """
        ring = torch.unique(targets)
        is_seen = torch.zeros(self.nodes, dtype=torch.bool, device=self.device)
        is_seen[ring] = True
        rings = [ring]
        for _ in range(hops):
            ring = _new_ring(self.columns[self.row_edges(ring)], is_seen)
            rings.append(ring)
        return rings

    def to(self, device: torch.device | str) -> Graph:
        """Return the same graph on `device`; itself if it is there already."""
        target = torch.device(device)
        if target == self.device:
            return self
        order = None if self.order is None else self.order.to(target)
        weights = None if self.weights is None else self.weights.to(target)
        return Graph(self.offsets.to(target), self.columns.to(target), order, weights)


def _new_ring(reached: Tensor, is_seen: Tensor) -> Tensor:
    """Return those of the nodes `reached` not seen [n] before, ascending; then they are seen."""
    if reached.numel() > is_seen.numel() // _DENSE:  # sorting them would take longer
        before = is_seen.clone()
        is_seen[reached.to(torch.int64)] = True
        new: Tensor = (is_seen & ~before).nonzero().squeeze(1)
        return new
    ring: Tensor = torch.unique(reached[~is_seen[reached]]).to(torch.int64)
    is_seen[ring] = True
    return ring


def _distinct(keys: Tensor) -> Tensor:
    """Return the different keys in ascending order; `keys` itself may be sorted on the way."""
    if keys.device.type != "cpu":
        distinct: Tensor = torch.unique(keys, sorted=True)
        return distinct
    keys.numpy().sort()  # NumPy's vectorised sort: an eighth of the time of torch's unique
    is_first = torch.ones(keys.numel(), dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=is_first[1:])
    return keys if bool(is_first.all()) else keys[is_first]


def _checked_weights(weights: NDArray[np.floating] | Tensor, pairs: Tensor) -> Tensor:
    """Return the weights of `pairs` [2, k] as a tensor [k] on their device, checked."""
    values = weights if isinstance(weights, Tensor) else torch.from_numpy(np.array(weights))
    if values.shape != pairs.shape[1:]:
        raise InputError(
            f"`weights` must hold one number per edge, shape [{pairs.shape[1]}]; got "
            f"{list(values.shape)}."
        )
    values = values if values.dtype == torch.float64 else values.to(torch.float32)
    unusable = unusable_weight(values.detach().cpu().numpy())
    if unusable is not None:
        i, j = pairs[:, unusable.place].tolist()
        raise InputError(f"`weights`, edge {unusable.place} ({i}, {j}): {unusable.reason}")
    return values.detach().to(pairs.device)


def _distinct_with_weights(keys: Tensor, weights: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Return the different keys, ascending, and their weights; `weights` has half of the keys'."""
    order = torch.argsort(keys, stable=True)
    keys = keys[order]
    values = torch.cat([weights, weights])[order]
    is_first = torch.ones_like(keys, dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=is_first[1:])
    unequal = (~is_first[1:] & (values[1:] != values[:-1])).nonzero()
    if unequal.numel():
        index = int(unequal[0])
        i = int(keys[index]) >> bits
        j = int(keys[index]) & ((1 << bits) - 1)
        raise InputError(
            f"the edge between {i} and {j} is given with the weights "
            f"{float(values[index]):g} and {float(values[index + 1]):g}; an undirected edge has "
            f"one."
        )
    return keys[is_first], values[is_first]
