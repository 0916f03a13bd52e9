"""A model as one writes it for PyG, with this package's layer: one import is another."""

import torch
from torch import nn

from agnn import load_dataset
from agnn.pyg import AGNNConv  # was: from torch_geometric.nn import AGNNConv


class Net(nn.Module):
    """Two linear layers with two attention layers between them."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(features, 16), nn.Linear(16, classes)
        self.middle = nn.ModuleList([AGNNConv(requires_grad=False), AGNNConv()])

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """Logits [n, c]."""
        h = self.first(nn.functional.dropout(x, training=self.training)).relu()
        for layer in self.middle:
            h = layer(h, edge_index)
        return self.last(nn.functional.dropout(h, training=self.training))


torch.manual_seed(0)
cora = load_dataset("cora")
x = torch.tensor(cora.scaled_features("sum").toarray(), dtype=torch.float32)
once = torch.tensor(cora.edges)
edge_index = torch.cat([once, once.flip(0)], dim=1)  # both directions, as PyG has them
labels, split = torch.tensor(cora.labels), cora.split("fixed")
train, test = torch.tensor(split.train), torch.tensor(split.test)
model = Net(x.shape[1], cora.classes)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(100):
    optimiser.zero_grad()
    nn.functional.cross_entropy(model(x, edge_index)[train], labels[train]).backward()
    optimiser.step()
answers = model.eval()(x, edge_index).argmax(1)
print(f"test accuracy {100 * (answers[test] == labels[test]).float().mean():.1f} %")
