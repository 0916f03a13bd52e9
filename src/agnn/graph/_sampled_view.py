"""What a model reads of sampled neighbourhoods: one graph per layer, its edges in one direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph._features import Features
from agnn.graph._graph import Graph
from agnn.graph._propagation import Propagation
from agnn.graph._view import ReceptiveField, View

# (hop, nodes [k]) -> offsets [k + 1] and the places of the chosen edges; hop 0 is the targets'.
ChooseEdges: TypeAlias = Callable[
    [int, NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.int64]]
]


@dataclass(frozen=True, eq=False)
class Block:
    """The graph of one layer: its first `rows` nodes receive from chosen neighbours.

    The nodes are the rows of the layer's input, followed by copies of those that both receive and
    send. So an edge joins a receiver and a node that only sends, and the kernels, for which an
    edge has both directions, compute what one direction gives.
    """

    graph: Graph
    rows: int
    copies: Tensor  # [c] int64, rows of the input that stand a second time at the end
    degrees: Tensor  # [input rows + c] in the whole graph, as in `View`

    @classmethod
    def of(
        cls,
        offsets: NDArray[np.int64],
        senders: NDArray[np.int64],
        inputs: int,
        degrees: Tensor,
        weights: Tensor | None,
        order: NDArray[np.int64],
    ) -> Block:
        """Return the block whose row i receives from rows `senders[offsets[i]:offsets[i+1]]`.

        `degrees` [inputs] are those of the input rows, `weights` [m] of the edges; sums over the
        receivers run in `order`.
        """
        from scipy.sparse import csr_array

        rows = offsets.size - 1
        edges = senders.size
        copies, copy_of = np.unique(senders[senders < rows], return_inverse=True)
        ends = senders.copy()
        ends[senders < rows] = inputs + copy_of
        nodes = inputs + copies.size
        # By sender: SciPy's conversion takes linear time, and keeps the receivers ascending.
        table = csr_array((np.arange(edges), ends, offsets), shape=(rows, nodes)).tocsc()
        counts = np.diff(table.indptr).astype(np.int64)
        counts[:rows] = np.diff(offsets)
        starts = np.concatenate([[0], np.cumsum(counts)])
        columns = np.concatenate([ends, table.indices]).astype(np.int32)
        both_ways = None
        if weights is not None:
            both_ways = torch.cat([weights, weights[torch.from_numpy(table.data)]])
        summed = torch.from_numpy(np.concatenate([order, np.arange(rows, nodes)]))
        graph = Graph(torch.from_numpy(starts), torch.from_numpy(columns), summed, both_ways, rows)
        # Known here; found anew they would take two sorts and a copy.
        back = np.empty(edges, np.int64)
        back[table.data] = np.arange(edges, 2 * edges)
        vars(graph)["reverse"] = torch.from_numpy(np.concatenate([back, table.data]))
        again = torch.from_numpy(copies)
        return cls(graph, rows, again, torch.cat([degrees, degrees[again]]))

    def symmetric_propagation(self, dtype: torch.dtype) -> Propagation:
        """Return the GCN weights, by the whole graph's degrees and the block's weights."""
        return Propagation.symmetric(self.graph, dtype, self.degrees)

    def to(self, device: torch.device) -> Block:
        """Return the same block on `device`; itself if it is there already."""
        if self.graph.device == device:
            return self
        return Block(
            self.graph.to(device), self.rows, self.copies.to(device), self.degrees.to(device)
        )


@dataclass(frozen=True, eq=False)
class SampledView(View):
    """A view in which every layer reads chosen neighbours; its field has no edges of its own."""

    blocks: tuple[Block, ...] = ()  # of the layers, the first one first

    @classmethod
    def of(
        cls,
        features: Features,
        graph: Graph,
        targets: NDArray[np.int64],
        choose: ChooseEdges,
        hops: int,
    ) -> SampledView:
        """Return the view of the targets, ascending, with the edges that `choose` gives per hop.

        An edge into a node of d neighbours of which k were chosen counts d / k times, so that sums
        over neighbours have the right expectation. `graph` lies on the CPU; the view is where the
        features are.
        """
        device = features.row_ids.device
        nodes = targets
        blocks: list[Block] = []
        label = np.full(graph.nodes, -1, np.int64)
        sizes = [targets.size]
        label[targets] = np.arange(targets.size)
        for hop in range(hops):
            offsets, positions = choose(hop, nodes)
            senders = graph.columns.numpy()[positions]
            new = np.unique(senders[label[senders] < 0]).astype(np.int64)
            label[new] = np.arange(nodes.size, nodes.size + new.size)
            receivers = nodes
            nodes = np.concatenate([nodes, new])
            sizes.append(nodes.size)
            block = Block.of(
                offsets,
                label[senders],
                inputs=nodes.size,
                degrees=graph.weighted_degrees[torch.from_numpy(nodes)],
                weights=_weights(graph, receivers, offsets, positions),
                order=np.argsort(receivers),
            )
            blocks.append(block.to(device))
        every = torch.from_numpy(nodes)
        none = Graph(torch.zeros(nodes.size + 1, dtype=torch.int64), every[:0].to(torch.int32))
        field = ReceptiveField(none.to(device), every.to(device), None, tuple(sizes))
        degrees = graph.weighted_degrees[every].to(device)
        return cls(features.select(field.nodes), field, degrees, tuple(reversed(blocks)))


def _weights(
    graph: Graph,
    receivers: NDArray[np.int64],
    offsets: NDArray[np.int64],
    positions: NDArray[np.int64],
) -> Tensor | None:
    """Return how often each chosen edge counts, times its own weight; None where all count once."""
    chosen = np.diff(offsets)
    degrees = graph.degrees.numpy()[receivers]
    weights = None if graph.weights is None else graph.weights[torch.from_numpy(positions)]
    if np.array_equal(chosen, degrees):
        return weights
    times = np.repeat(degrees / np.maximum(chosen, 1), chosen)
    scale = torch.from_numpy(times).to(torch.float32 if weights is None else weights.dtype)
    return scale if weights is None else weights * scale
