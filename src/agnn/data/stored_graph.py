"""Somebody's own graph as one `.npz` without pickles, so that a model keeps what it learned on."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Hashable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.data._node_data import NodeData
from agnn.data.edges import RawCounts
from agnn.data.reading import ColumnUse, Reading
from agnn.data.splits import Split
from agnn.errors import AgnnError, DataError, InputError

if TYPE_CHECKING:
    from agnn.data.preprocessing import Preprocessing


def write_graph(data: NodeData, path: Path) -> None:
    """Write features, labels, edges, names and splits; not how the features were made."""
    x = data.features
    words = {
        "name": data.name,
        "class_names": data.class_names,
        "node_ids": _plain_ids(data.node_ids),
        "splits": [split.to_dict() for split in data.splits.values()],
        "facts": asdict(data.facts),
        "row_normalised": data.row_normalised,
        "reading": None if data.reading is None else data.reading.to_dict(),
    }
    np.savez_compressed(
        path,
        allow_pickle=False,
        values=x.data,
        columns=x.indices,
        row_starts=x.indptr,
        shape=np.array(x.shape),
        labels=data.labels,
        edges=data.edges,
        words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
    )


def read_stored_graph(path: Path, preprocessing: Preprocessing | None) -> NodeData:
    """The graph that `write_graph` wrote; anything else is refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return _data({key: archive[key] for key in archive.files}, preprocessing)
    except (
        AgnnError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, LookupError,
        TypeError, AttributeError,
    ) as error:  # fmt: skip
        raise DataError(f"'{path}' is damaged or is no stored graph: {error!r}.") from error


def is_row_normalised(path: Path) -> bool:
    """Whether the networks of older versions made the stored rows sum to 1."""
    with np.load(path, allow_pickle=False) as archive:
        return bool(json.loads(archive["words"].tobytes())["row_normalised"])


def _data(arrays: dict[str, Any], preprocessing: Preprocessing | None) -> NodeData:
    from scipy import sparse

    words = json.loads(arrays["words"].tobytes())
    parts = (arrays["values"], arrays["columns"], arrays["row_starts"])
    splits = [Split.from_dict(each) for each in words["splits"]]
    return NodeData.build(
        name=words["name"],
        features=sparse.csr_array(parts, shape=tuple(arrays["shape"].tolist())),
        labels=arrays["labels"],
        edges=arrays["edges"],
        class_names=words["class_names"],
        node_ids=words["node_ids"],
        splits={split.name: split for split in splits},
        facts=RawCounts(**words["facts"]),
        row_normalised=words["row_normalised"],
        preprocessing=preprocessing,
        reading=_reading(words.get("reading")),  # older files do not say
    )


def _reading(words: dict[str, Any] | None) -> Reading | None:
    if words is None:
        return None
    columns = tuple(ColumnUse(**each) for each in words["columns"])
    return Reading(**words | {"columns": columns, "notes": tuple(words["notes"])})


def _plain_ids(ids: Sequence[Hashable]) -> list[str | int | float]:
    """The ids in what JSON has and gives back as it was."""
    plain: list[Any] = [each.item() if isinstance(each, np.generic) else each for each in ids]
    for each in plain:
        if type(each) not in (str, int, float):
            raise InputError(
                f"only ids that are text or numbers can be saved; got {each!r}. Give `node_ids` "
                f"of text to save this graph."
            )
    return plain
