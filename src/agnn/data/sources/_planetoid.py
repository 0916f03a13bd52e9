"""Raw Planetoid folders: the fixed splits of Yang, Cohen and Salakhutdinov (2016)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from agnn.data._input_files import check_file
from agnn.data._node_data import NodeData
from agnn.data.sources._restricted_pickle import array_in, csr_in, neighbour_lists_in
from agnn.data.splits import Split
from agnn.errors import AgnnError, DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_T = TypeVar("_T")

# Kipf and Welling (2017) validate on the 500 nodes after the training nodes; so does the paper.
VALIDATION: Final = 500

# Planetoid's label columns carry no names. These follow from the class sizes in the LINQS data,
# and for Cora from the papers' own labels.
CLASS_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "cora": (
        "Theory",
        "Reinforcement Learning",
        "Genetic Algorithms",
        "Neural Networks",
        "Probabilistic Methods",
        "Case Based",
        "Rule Learning",
    ),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": (
        "Diabetes Mellitus, Experimental",
        "Diabetes Mellitus Type 1",
        "Diabetes Mellitus Type 2",
    ),
}


def load_planetoid(
    folder: str | Path, name: str, checksums: Mapping[str, str] | None = None
) -> NodeData:
    """The data in `folder`'s files ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index}.

    `checksums` maps file names to their SHA-256 in hex; where it is not given, a file SHA256SUMS
    in the folder, as `sha256sum` writes it, takes its place. Files it does not list are not
    compared. Pickles are read without running anything in them. Node ids are the indices; test
    nodes come in ascending order. A node that only the graph mentions (CiteSeer has 15) gets a
    zero feature row and no label.
    """
    files = _RawFiles(Path(folder), checksums)
    raw = _Raw(
        x=files.read(f"ind.{name}.x", csr_in),
        tx=files.read(f"ind.{name}.tx", csr_in),
        allx=files.read(f"ind.{name}.allx", csr_in),
        y=files.read(f"ind.{name}.y", _labels_in),
        ty=files.read(f"ind.{name}.ty", _labels_in),
        ally=files.read(f"ind.{name}.ally", _labels_in),
        graph=files.read(f"ind.{name}.graph", neighbour_lists_in),
        test=files.read(f"ind.{name}.test.index", _indices_in),
    )
    try:
        _check_agreement(raw)
        return _assembled(name, raw)
    except AgnnError as error:
        raise DataError(f"the files '{folder}/ind.{name}.*' disagree: {error}") from error


class _Labels(NamedTuple):
    classes: int
    values: NDArray[np.int64]  # [rows] -1 where the row is all zero


class _Raw(NamedTuple):
    x: csr_array[Any, tuple[int, int]]
    tx: csr_array[Any, tuple[int, int]]
    allx: csr_array[Any, tuple[int, int]]
    y: _Labels
    ty: _Labels
    ally: _Labels
    graph: dict[int, list[int]]
    test: NDArray[np.int64]


def _assembled(name: str, raw: _Raw) -> NodeData:
    """Rows of allx stay where they are; row k of tx belongs to node test[k]."""
    from scipy import sparse

    nodes, known = len(raw.graph), raw.allx.shape[0]
    row = np.full(nodes, -1)  # the last row, empty: for nodes in neither
    row[:known] = np.arange(known)
    row[raw.test] = known + np.arange(raw.test.size)
    empty = sparse.csr_array((1, raw.x.shape[1]), dtype=np.float32)
    train = raw.x.shape[0]
    return NodeData.build(
        name=name,
        features=sparse.vstack([raw.allx, raw.tx, empty], format="csr")[row],
        labels=np.concatenate([raw.ally.values, raw.ty.values, [-1]])[row],
        edges=_entries(raw.graph),
        class_names=_class_names(name, raw.y.classes),
        splits={
            "fixed": Split(
                "fixed",
                train=np.arange(train),
                validation=np.arange(train, min(train + VALIDATION, known)),
                test=np.sort(raw.test),
            )
        },
    )


def _check_agreement(raw: _Raw) -> None:
    for part in ("x", "tx", "allx"):
        rows, labels = getattr(raw, part).shape[0], getattr(raw, part.replace("x", "y"))
        if rows != labels.values.size:
            raise DataError(f"{part} has {rows} rows, its labels {labels.values.size}.")
    if len({m.shape[1] for m in raw[:3]}) > 1 or len({y.classes for y in raw[3:6]}) > 1:
        raise DataError("x, tx and allx, or y, ty and ally, differ in their number of columns.")
    nodes, known, train = len(raw.graph), raw.allx.shape[0], raw.x.shape[0]
    if raw.graph.keys() != set(range(nodes)) or known > nodes:
        raise DataError(f"graph must list every node from 0 on; it lists {nodes}, allx {known}.")
    if raw.test.size != raw.tx.shape[0] or not np.isin(raw.test, np.arange(known, nodes)).all():
        raise DataError(
            f"test.index must name a node from {known} to {nodes - 1} for each of the "
            f"{raw.tx.shape[0]} rows of tx."
        )
    same_labels = np.array_equal(raw.y.values, raw.ally.values[:train])
    if not same_labels or abs(raw.x - raw.allx[:train]).nnz:
        raise DataError("x and y must be the first rows of allx and ally.")


def _entries(graph: Mapping[int, list[int]]) -> NDArray[np.int64]:
    """The pairs (node, neighbour) [2, k] as the file lists them."""
    receivers = np.repeat(list(graph), [len(neighbours) for neighbours in graph.values()])
    senders = [sender for neighbours in graph.values() for sender in neighbours]
    try:
        return np.stack([receivers, np.array(senders, dtype=np.int64)])
    except OverflowError as error:
        raise DataError(f"graph has a node number beyond 64 bits: {error}.") from error


def _class_names(name: str, classes: int) -> tuple[str, ...]:
    known = CLASS_NAMES.get(name, ())
    return known if len(known) == classes else tuple(f"class {i}" for i in range(classes))


def _labels_in(content: bytes) -> _Labels:
    one_hot = array_in(content)
    if one_hot.ndim != 2 or not np.isin(one_hot, (0, 1)).all() or (one_hot.sum(axis=1) > 1).any():
        raise DataError("must hold one-hot rows [rows, c]: zeros and at most a single one.")
    labels = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    return _Labels(one_hot.shape[1], labels.astype(np.int64))


def _indices_in(content: bytes) -> NDArray[np.int64]:
    try:
        return np.array([int(word) for word in content.split()], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError("must hold one node number per line, as text.") from error


class _RawFiles:
    """The files of a folder; those with a known SHA-256 must have it.

    `checksums` maps file names to hex digests. Where it is not given, a file SHA256SUMS in the
    folder takes its place, if there is one.
    """

    def __init__(self, folder: Path, checksums: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.checksums = _listed_checksums(folder) if checksums is None else checksums

    def read(self, name: str, parse: Callable[[bytes], _T]) -> _T:
        """What `parse` makes of the file's bytes; every error names the file."""
        path = self.folder / name
        content = _content(path)
        expected = self.checksums.get(name)
        found = hashlib.sha256(content).hexdigest()
        if expected is not None and expected.lower() != found:
            raise DataError(f"'{path}' has SHA-256 {found}, expected {expected}; fetch it again.")
        try:
            return parse(content)
        except DataError as error:
            raise DataError(f"'{path}' {error}") from error


def _listed_checksums(folder: Path) -> dict[str, str]:
    """Digest by file name from the folder's SHA256SUMS, as `sha256sum` writes it."""
    path = folder / "SHA256SUMS"
    if not path.exists():
        return {}
    checksums = {}
    for line in _content(path).decode("utf-8", errors="replace").splitlines():
        match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)", line)
        if match is None:
            raise DataError(f"'{path}' must hold lines 'sha256  name'; got '{line[:80]}'.")
        checksums[match[2]] = match[1]
    return checksums


def _content(path: Path) -> bytes:
    try:
        check_file(path)
    except InputError as error:
        raise DataError(str(error)) from error
    return path.read_bytes()
