"""Raw Planetoid folders as Python 2 and 3 write them, and the scripts as modules."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

from agnn.data import NodeData

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its str; the original files are such pickles."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def _save_str_of_python2(self, content: bytes) -> None:
        self.write(b"T" + struct.pack("<i", len(content)) + content)

    dispatch[bytes] = _save_str_of_python2


def pickled(value: Any, python: int) -> bytes:
    if python == 3:
        return pickle.dumps(value, protocol=4)
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(value)
    modern = stream.getvalue()
    old_numpy = modern.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    return old_numpy.replace(b"scipy.sparse._csr", b"scipy.sparse.csr")


class PlanetoidWriter:
    """Writes NodeData whose first nodes are known and whose last are test nodes or gaps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, part: str, value: Any, python: int = 2) -> Path:
        path = self.folder / f"ind.{name}.{part}"
        path.write_bytes(value if isinstance(value, bytes) else pickled(value, python))
        return path

    def write(self, data: NodeData, python: int = 2) -> Path:
        fixed, features = data.split("fixed"), sparse.csr_matrix(data.features)
        one_hot = np.eye(data.classes + 1, data.classes, dtype=np.int32)[data.labels]
        known, train = int(fixed.test.min()), fixed.train.size
        shuffled = np.random.default_rng(0).permutation(fixed.test)
        rows = {"": slice(train), "all": slice(known), "t": shuffled}
        for prefix, chosen in rows.items():
            self.put(data.name, f"{prefix}x", features[chosen], python)
            self.put(data.name, f"{prefix}y", one_hot[chosen], python)
        graph: dict[int, list[int]] = defaultdict(list, {i: [] for i in range(data.nodes)})
        for i, j in data.edges.T.tolist():
            graph[i].append(j)
            graph[j].append(i)
        self.put(data.name, "graph", graph, python)
        self.put(data.name, "test.index", "".join(f"{i}\n" for i in shuffled).encode())
        return self.folder


@pytest.fixture
def planetoid(tmp_path: Path) -> PlanetoidWriter:
    return PlanetoidWriter(tmp_path)
