"""GATv2 and the graph transformer: attention whose scores read both ends of an edge together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agnn import nn
from agnn.methods._gat import GAT
from agnn.methods._protocol import register
from agnn.training import Footprint


@register
@dataclass(frozen=True)
class GATv2(GAT):
    """GAT with a score whose ranking of the neighbours depends on the receiver.

    The settings are those of GAT: its paper has other graphs, and PubMed with tuned settings.
    """

    name: ClassVar[str] = "gatv2"
    title: ClassVar[str] = "GATv2"
    cites: ClassVar[str] = "Brody, Alon and Yahav 2022"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[nn.NodeModel]] = nn.GATv2

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        widths = self.state_width + classes * self.output_heads
        heads = self.heads + self.output_heads
        # What a score reads of both ends is kept for every edge and every number of a state.
        return Footprint(per_node=16 * widths + 16 * heads, per_edge=6 * widths + 12 * heads)


@register
@dataclass(frozen=True)
class GraphTransformer(GATv2):
    """The transformer's attention over the neighbours of a node, beside the node itself.

    The settings are those of GAT: its paper has other graphs.
    """

    name: ClassVar[str] = "transformer"
    title: ClassVar[str] = "Graph transformer"
    cites: ClassVar[str] = "Shi, Huang, Feng et al. 2021"
    model: ClassVar[type[nn.NodeModel]] = nn.GraphTransformer
