"""The attention layer for models written with torch_geometric: swap one import.

from agnn.pyg import AGNNConv
"""

import warnings

from agnn.errors import UnavailableError

try:
    with warnings.catch_warnings():
        # PyG 2.8 calls torch.jit.script while it is imported, which torch deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        from agnn.pyg.conv import AGNNConv
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("torch_geometric"):
        raise
    raise UnavailableError(
        "torch_geometric is not installed, and `agnn.pyg` is a layer for it: "
        "pip install torch_geometric."
    ) from error

__all__ = ["AGNNConv"]
