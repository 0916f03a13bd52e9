"""A small folder of raw Planetoid files, right unless a test spoils it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

NODES, KNOWN, TRAIN = 36, 24, 6


def raw_parts() -> dict[str, Any]:
    """Two classes of 18 nodes on a ring, the first 24 known and the last 12 for the test."""
    labels = np.arange(NODES) % 2
    features = np.eye(NODES, 8, dtype=np.float32)
    features[np.arange(NODES), labels] = 1.0
    x, y = sparse.csr_matrix(features), np.eye(2, dtype=np.int32)[labels]
    ring = {i: [(i - 2) % NODES, (i + 2) % NODES] for i in range(NODES)}
    return {
        "x": x[:TRAIN], "y": y[:TRAIN], "allx": x[:KNOWN], "ally": y[:KNOWN], "tx": x[KNOWN:],
        "ty": y[KNOWN:], "graph": ring,
        "test.index": "".join(f"{i}\n" for i in range(KNOWN, NODES)).encode(),
    }  # fmt: skip


def write_raw(folder: Path, name: str = "ring", **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for part, value in {**raw_parts(), **changes}.items():
        content = value if isinstance(value, bytes) else pickle.dumps(value, protocol=4)
        (folder / f"ind.{name}.{part}").write_bytes(content)
    return folder
