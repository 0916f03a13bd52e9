"""A small graph in an .npz file for the program to read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

_NODES = 36
_KNOWN = 24
_TRAIN = 6


def write_ring(path: Path) -> Path:
    """Write two classes of 18 nodes on a ring: the first 24 are known, the last 12 for the test."""
    nodes = np.arange(_NODES)
    labels = nodes % 2
    features = np.eye(_NODES, 8, dtype=np.float32)
    features[nodes, labels] = 1.0
    ends = (np.tile(nodes, 2), np.append((nodes - 2) % _NODES, (nodes + 2) % _NODES))
    adjacency = sparse.csr_array((np.ones(2 * _NODES), ends), shape=(_NODES, _NODES))
    matrices = {"adj": adjacency, "attr": sparse.csr_array(features)}
    np.savez(
        path,
        labels=labels,
        train_mask=nodes < _TRAIN,
        val_mask=(nodes >= _TRAIN) & (nodes < _KNOWN),
        test_mask=nodes >= _KNOWN,
        **{
            f"{name}_{part}": np.asarray(getattr(matrix, part))
            for name, matrix in matrices.items()
            for part in ("data", "indices", "indptr", "shape")
        },
    )
    return path
