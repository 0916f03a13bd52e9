"""The attention layer for models written with torch_geometric, and trained models as PyG modules.

>>> import torch
>>> from agnn.pyg import AGNNConv
>>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # senders, then receivers
>>> AGNNConv()(torch.ones(3, 16), edge_index).shape
torch.Size([3, 16])
"""

import warnings

from agnn.errors import UnavailableError

try:
    with warnings.catch_warnings():
        # PyG 2.8 calls torch.jit.script while it is imported, which torch deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        from agnn.pyg._conv import AGNNConv as AGNNConv
        from agnn.pyg._trained import pyg_data as pyg_data, trained_module as trained_module
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("torch_geometric"):
        raise
    raise UnavailableError(
        "torch_geometric is not installed, and `agnn.pyg` is a layer for it: "
        "pip install torch_geometric."
    ) from error
