"""Skip-gram: vectors for nodes, from the nodes seen near them. Checks and dispatch.

A pair (i, o) says that node o was seen near node i. It moves the input vector v_i and the output
vectors u one step of gradient descent on its loss:

    hierarchical softmax   -sum over turns t of o's path:  log s(±u_t . v_i)
    negative sampling      -log s(u_o . v_i) - sum over k drawn nodes:  log s(-u_k . v_i)

with s the logistic function (Mikolov et al. 2013). The pairs of one place of a walk share their o
and are looked at together, before any of them moves: their products do not wait for each other.
Places come one after the other, each reading what the last one wrote. The nodes' vectors are v_i.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError
from agnn.kernels._backends import implementation
from agnn.kernels._counter import U, fraction, stream_key, word

Vectors = NDArray[np.float32]
# the places that draw numbers
_START = 3
_PAIRS = 4


@dataclass(frozen=True)
class Descent:
    """How the vectors move: their width, and a rate that falls in a straight line."""

    width: int  # d
    rate: float = 0.025
    last_rate: float = 1e-4

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InputError(f"`width` must be at least 1; got {self.width}.")
        if not 0.0 < self.last_rate <= self.rate:
            raise InputError(
                f"`rate` must be above 0 and at least `last_rate`; got {self.rate}, "
                f"{self.last_rate}."
            )


class _Backend(Protocol):
    """Three losses, each moving v and u in place; nothing is differentiated by torch."""

    def hierarchical(
        self,
        walks: NDArray[np.int32],
        paths: Paths,
        vectors: tuple[Vectors, Vectors],
        descent: Descent,
        window: int,
        passes: int,
        key: int,
    ) -> None: ...

    def negative(
        self,
        walks: NDArray[np.int32],
        noise: Noise,
        vectors: tuple[Vectors, Vectors],
        descent: Descent,
        window: int,
        passes: int,
        key: int,
    ) -> None: ...

    def pairs(
        self,
        drawn: tuple[NDArray[Any], ...],
        noise: Noise,
        vectors: tuple[Vectors, Vectors],
        descent: Descent,
        samples: int,
        key: int,
    ) -> None: ...


def hierarchical_skip_gram(
    walks: NDArray[np.int32],
    nodes: int,
    descent: Descent,
    window: int,
    passes: int,
    seed: int,
    *,
    backend: str = "auto",
) -> Vectors:
    """Vectors [n, d] by hierarchical softmax over a Huffman tree of the nodes.

    Every place of every walk [k, length] is paired with the places at most b away, b uniform
    between 1 and `window`, `passes` times over. A node on no walk has a vector of zeros.
    """
    counts = _counts(walks, nodes, window, passes)
    paths = huffman_paths(counts)
    v = _initial(counts, descent, seed)
    u = np.zeros((max(paths.inner, 1), descent.width), np.float32)
    chosen: _Backend = implementation("skip_gram", backend, "cpu")
    chosen.hierarchical(walks, paths, (v, u), descent, window, passes, stream_key(seed, _PAIRS))
    return v


def negative_skip_gram(
    walks: NDArray[np.int32],
    nodes: int,
    descent: Descent,
    window: int,
    passes: int,
    negatives: int,
    seed: int,
    *,
    backend: str = "auto",
) -> Vectors:
    """Vectors [n, d] by `negatives` drawn nodes, in proportion to their count^0.75.

    Pairs are those of `hierarchical_skip_gram`. The pairs of a place share what is drawn (Ji et
    al. 2016): what a step is on average stays, and it reads a tenth of the memory. A drawn node
    that is o itself is passed over.
    """
    counts = _counts(walks, nodes, window, passes)
    noise = noise_table(counts, negatives)
    v = _initial(counts, descent, seed)
    u = np.zeros_like(v)
    chosen: _Backend = implementation("skip_gram", backend, "cpu")
    key = stream_key(seed, _PAIRS)
    chosen.negative(walks, noise, (v, u), descent, window, passes, key)
    return v


def pair_skip_gram(
    pairs: NDArray[np.integer[Any]],
    weights: NDArray[np.float64],
    nodes: int,
    descent: Descent,
    samples: int,
    negatives: int,
    seed: int,
    *,
    is_symmetric: bool,
    backend: str = "auto",
) -> Vectors:
    """Vectors [n, d] from `samples` pairs, drawn from `pairs` [2, k] in proportion to weights [k].

    Negatives are drawn in proportion to (a node's weight as o)^0.75. `is_symmetric` says that u
    and v are the same vectors. A node in no pair has a vector of zeros.
    """
    if samples < 1:
        raise InputError(f"`samples` must be at least 1; got {samples}.")
    firsts, seconds = pairs.astype(np.uint32)
    if is_symmetric and (firsts == seconds).any():
        node = int(firsts[firsts == seconds][0])
        raise InputError(f"a pair joins node {node} with itself; leave such pairs out.")
    counts = np.bincount(firsts, minlength=nodes) + np.bincount(seconds, minlength=nodes)
    v = _initial(counts, descent, seed)
    if not firsts.size:
        return v
    noise = noise_table(np.bincount(seconds, weights, nodes), negatives)
    u = v if is_symmetric else np.zeros_like(v)
    chosen: _Backend = implementation("skip_gram", backend, "cpu")
    drawn = (firsts, seconds, *alias_table(weights))
    chosen.pairs(drawn, noise, (v, u), descent, samples, stream_key(seed, _PAIRS))
    return v


def noise_table(counts: NDArray[Any], negatives: int) -> Noise:
    """What negatives are drawn by: an alias table over count^0.75."""
    if negatives < 1:
        raise InputError(f"`negatives` must be at least 1; got {negatives}.")
    weights = counts.astype(np.float64) ** 0.75
    return Noise(*alias_table(weights if weights.any() else weights + 1.0), negatives)


def _counts(walks: NDArray[np.int32], nodes: int, window: int, passes: int) -> NDArray[np.int64]:
    if window < 1 or passes < 1:
        raise InputError(f"`window` and `passes` must be at least 1; got {window}, {passes}.")
    if walks.ndim != 2 or (walks.size and not 0 <= walks.min() <= walks.max() < nodes):
        raise InputError(f"`walks` must be [k, length], of nodes from 0 to {nodes - 1}.")
    return np.bincount(walks.ravel(), minlength=nodes)


def _initial(counts: NDArray[Any], descent: Descent, seed: int) -> Vectors:
    """Uniform between -1/2d and 1/2d, as word2vec starts; zeros where the count is zero."""
    shape = (counts.size, descent.width)
    key = U(stream_key(seed, _START))
    drawn = fraction(word(key, np.arange(counts.size * descent.width, dtype=np.uint64)))
    v: Vectors = ((drawn - 0.5) / descent.width).reshape(shape).astype(np.float32)
    v[counts == 0] = 0.0
    return v


@dataclass(frozen=True, eq=False)
class Paths:
    """The way from the root of a binary tree to each leaf: which inner nodes, and which turns."""

    offsets: NDArray[np.uint64]  # [n + 1]
    rows: NDArray[np.uint32]  # [k] inner nodes, root first
    labels: NDArray[np.float32]  # [k] 1 where the path turns left, 0 where right
    inner: int  # how many inner nodes the tree has

    @property
    def longest(self) -> int:
        """The most turns on a path."""
        return int(np.diff(self.offsets).max(initial=np.uint64(0)))


class Noise(NamedTuple):
    """What negatives are drawn by: an alias table over the nodes, and how many at a time."""

    thresholds: NDArray[np.float64]
    aliases: NDArray[np.uint32]
    negatives: int


def huffman_paths(counts: NDArray[np.int64]) -> Paths:
    """The Huffman tree over the nodes with a count above 0; the others have empty paths.

    Of equal counts the lower node comes first, and leaves before inner nodes.
    """
    n = counts.size
    leaves = np.flatnonzero(counts)
    heap = [(int(counts[leaf]), int(leaf)) for leaf in leaves]
    heapq.heapify(heap)
    parent: dict[int, tuple[int, float]] = {}
    inner = 0
    while len(heap) > 1:
        (one, left) = heapq.heappop(heap)
        (two, right) = heapq.heappop(heap)
        parent[left] = (inner, 1.0)
        parent[right] = (inner, 0.0)
        heapq.heappush(heap, (one + two, n + inner))
        inner += 1
    paths = [_path(parent, n, leaf) for leaf in range(n)]
    offsets = np.zeros(n + 1, np.uint64)
    np.cumsum([len(path) for path in paths], out=offsets[1:])
    turns = [turn for path in paths for turn in path]
    rows = np.array([row for row, _ in turns], np.uint32)
    return Paths(offsets, rows, np.array([label for _, label in turns], np.float32), inner)


def _path(parent: dict[int, tuple[int, float]], n: int, leaf: int) -> list[tuple[int, float]]:
    path = []
    position = leaf
    while position in parent:
        turn = parent[position]
        path.append(turn)
        position = n + turn[0]
    return path[::-1]


def alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Thresholds [k] and aliases [k] that draw by weight from two uniform numbers (Walker 1977).

    Place i, drawn uniformly, stands for itself below its threshold and for its alias above.
    """
    share = weights * (weights.size / weights.sum())
    thresholds = np.ones(weights.size)
    aliases = np.arange(weights.size, dtype=np.uint32)
    poor = [int(i) for i in np.flatnonzero(share < 1.0)]
    rich = [int(i) for i in np.flatnonzero(share >= 1.0)]
    rest = share.tolist()
    while poor and rich:
        i = poor.pop()
        j = rich[-1]
        thresholds[i] = rest[i]
        aliases[i] = j
        rest[j] -= 1.0 - rest[i]
        if rest[j] < 1.0:
            poor.append(rich.pop())
    return thresholds, aliases
