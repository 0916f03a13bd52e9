"""Pickles of the Planetoid files, read without running anything in them.

A pickle is a program. These may use the names in `_ALLOWED` only, and most of those get plain
substitutes below: NumPy's and SciPy's own classes would pass a crafted state (an object dtype over
raw bytes, an index out of range) straight to compiled code.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


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
