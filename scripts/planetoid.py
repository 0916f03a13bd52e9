"""Read raw Planetoid files, the fixed splits of Yang, Cohen and Salakhutdinov (2016).

    python scripts/planetoid.py FOLDER cora cora.npz    # converts the files ind.cora.*
    agnn train cora.npz

The files are pickles, and a pickle is a program. These may use the names in `_ALLOWED` only, and
most of those get plain substitutes below: NumPy's and SciPy's own classes would pass a crafted
state (an object dtype over raw bytes, an index out of range) straight to compiled code.
"""

from __future__ import annotations

import argparse
import io
import math
import pickle
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from agnn.data import NodeData, Split  # noqa: E402 from this checkout, by the line above
from agnn.data._input_files import check_file  # noqa: E402
from agnn.errors import AgnnError, DataError, InputError  # noqa: E402

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


def load_planetoid(folder: Path, name: str) -> NodeData:
    """Return the data in `folder`'s files ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index}.

    Pickles are read without running anything in them. Node ids are the indices; test nodes come in
    ascending order. A node that only the graph mentions (CiteSeer has 15) gets a zero feature row
    and no label.
    """
    raw = _Raw(
        x=_parse(folder / f"ind.{name}.x", csr_in),
        tx=_parse(folder / f"ind.{name}.tx", csr_in),
        allx=_parse(folder / f"ind.{name}.allx", csr_in),
        y=_parse(folder / f"ind.{name}.y", _labels_in),
        ty=_parse(folder / f"ind.{name}.ty", _labels_in),
        ally=_parse(folder / f"ind.{name}.ally", _labels_in),
        graph=_parse(folder / f"ind.{name}.graph", neighbour_lists_in),
        test=_parse(folder / f"ind.{name}.test.index", _indices_in),
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


def _parse(path: Path, parse: Callable[[bytes], _T]) -> _T:
    """What `parse` makes of the file's bytes; every error names the file."""
    try:
        check_file(path)
    except InputError as error:
        raise DataError(str(error)) from error
    try:
        return parse(path.read_bytes())
    except DataError as error:
        raise DataError(f"'{path}' {error}") from error


def write_graph(data: NodeData, path: Path) -> None:
    """Write the data as `agnn` and other programs read it: arrays of the gnn-benchmark kind."""
    from scipy import sparse

    first, second = data.edges
    ends = (np.append(first, second), np.append(second, first))
    shape = (data.nodes, data.nodes)
    adjacency = sparse.csr_array((np.ones(ends[0].size, np.float32), ends), shape=shape)
    arrays = {"labels": data.labels, "class_names": np.array(data.class_names)}
    for name, matrix in (("adj", adjacency), ("attr", data.features)):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    parts = data.split("fixed").parts
    for name, part in (("train", "train"), ("val", "validation"), ("test", "test")):
        arrays[f"{name}_mask"] = np.isin(np.arange(data.nodes), parts[part])
    np.savez_compressed(path, allow_pickle=False, **arrays)


def main() -> None:
    """Convert one dataset."""
    parser = argparse.ArgumentParser(description="Convert raw Planetoid files to an .npz file.")
    parser.add_argument("folder", type=Path, help="folder with the files ind.NAME.*")
    parser.add_argument("name", help="NAME, such as cora")
    parser.add_argument("out", type=Path, help="the .npz file to write")
    options = parser.parse_args()
    try:
        write_graph(load_planetoid(options.folder, options.name), options.out)
    except AgnnError as error:
        sys.exit(str(error))


class _PickledDtype:
    """Stands for `numpy.dtype`; takes plain numbers only."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch(r"b1|[iu][1248]|f[248]", code):
            raise ValueError(f"arrays of '{code}' are not read")
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">", "|", "="):
            raise ValueError(f"a byte order '{state[1]}'")
        self.code = state[1] + self.code[-2:]


class _PickledArray:
    """Stands for an array that `_reconstruct` makes empty and its state fills."""

    def __init__(self, *_: object) -> None:
        self.values: NDArray[Any] = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, content = state
        # Python 2 wrote bytes as text; latin1 gives each byte back as it was.
        content = content.encode("latin1") if isinstance(content, str) else content
        flat = np.frombuffer(content, dtype=np.dtype(dtype.code))
        if min(shape, default=0) < 0 or math.prod(shape) != flat.size:
            raise ValueError(f"an array of shape {shape} with {flat.size} values")
        native = flat.astype(flat.dtype.newbyteorder("="))
        self.values = native.reshape(shape, order="F" if fortran else "C")


class _PickledCsr:
    """Stands for `scipy.sparse.csr_matrix`; keeps its parts for `as_csr`."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = (state[key].values for key in ("data", "indices", "indptr"))
        self.data, self.indices, self.indptr = parts
        self.shape = state["_shape"]


_ALLOWED: Final[dict[str, Any]] = {
    "numpy.ndarray": "numpy.ndarray",  # only ever an argument of _reconstruct
    "numpy.dtype": _PickledDtype,
    "numpy.core.multiarray._reconstruct": _PickledArray,
    "numpy._core.multiarray._reconstruct": _PickledArray,
    "scipy.sparse.csr.csr_matrix": _PickledCsr,
    "scipy.sparse._csr.csr_matrix": _PickledCsr,
    "collections.defaultdict": defaultdict,
    "builtins.list": list,
    "__builtin__.list": list,
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return _ALLOWED[f"{module}.{name}"]
        except KeyError:
            raise DataError(
                f"asks for '{module}.{name}', which no Planetoid file needs. "
                f"It was refused and nothing was run."
            ) from None


def array_in(content: bytes) -> NDArray[Any]:
    """The NumPy array of numbers that is pickled in `content`."""
    found = _unpickled(content)
    if not isinstance(found, _PickledArray):
        raise DataError(f"must hold a NumPy array; it holds {_kind(found)}.")
    return found.values


def csr_in(content: bytes) -> csr_array[Any, tuple[int, int]]:
    """The SciPy CSR matrix that is pickled in `content`, its structure checked."""
    from scipy import sparse

    found = _unpickled(content)
    if not isinstance(found, _PickledCsr):
        raise DataError(f"must hold a SciPy CSR matrix; it holds {_kind(found)}.")
    try:
        if not {found.indices.dtype.kind, found.indptr.dtype.kind} <= {"i", "u"}:
            raise DataError("its indices are not integers")
        matrix = sparse.csr_array((found.data, found.indices, found.indptr), shape=found.shape)
        matrix.check_format(full_check=True)
    except Exception as error:  # a crafted matrix can make SciPy raise anything
        raise DataError(f"holds a broken CSR matrix: {error}.") from error
    return matrix


def neighbour_lists_in(content: bytes) -> dict[int, list[int]]:
    """The mapping from each node to its neighbours that is pickled in `content`."""
    found = _unpickled(content)
    if not isinstance(found, dict):
        raise DataError(f"must hold a mapping from node to neighbours; it holds {_kind(found)}.")
    # A pickle may refer to one long list a million times; every real entry takes a byte of its own.
    if sum(len(value) for value in found.values() if isinstance(value, list)) > len(content):
        raise DataError("is not a valid graph: it claims more neighbours than it has bytes.")
    for node, neighbours in found.items():
        if not isinstance(neighbours, list) or not all(type(i) is int for i in [node, *neighbours]):
            raise DataError(f"must map node indices to lists of them; {node!r} does not.")
    return dict(found)  # a plain one: never call a default factory that a file brings


def _unpickled(content: bytes) -> object:
    try:
        return _RestrictedUnpickler(io.BytesIO(content), encoding="latin1").load()
    except DataError:
        raise
    except Exception as error:  # a damaged or crafted pickle can raise anything
        raise DataError(f"is damaged or is not a Planetoid file: {error}.") from error


def _kind(found: object) -> str:
    return type(found).__name__.removeprefix("_Pickled").lower()


if __name__ == "__main__":
    main()
