"""`.npz` files of the gnn-benchmark kind: CSR parts of adjacency and attributes, and labels."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.data.array_graphs import MASKS, from_scipy, mask_splits
from agnn.data.file_limits import check_file, check_fits
from agnn.errors import AgnnError, DataError

if TYPE_CHECKING:
    from agnn.data._node_data import NodeData

_PARTS = ("data", "indices", "indptr", "shape")


def read_npz(path: Path, name: str, *, ignore_weights: bool = False) -> NodeData:
    """The graph in a file with adj_*, labels and, where there are any, attr_* arrays.

    Masks of its own (`train_masks`, `val_masks`, `test_masks` [k, n], or `train_mask` and so on
    [n]) become its splits. Nothing in it is unpickled. A file that would unpack to more than
    memory is not opened.
    """
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            check_fits(path, sum(member.file_size for member in archive.infolist()))
        with np.load(path, allow_pickle=False) as arrays:
            adjacency = _matrix(arrays, "adj")
            if adjacency is None:
                raise DataError(f"'{path}' has no adj_data and its siblings: {arrays.files}.")
            attributes = _matrix(arrays, "attr")
            labels = arrays.get("labels")
            names = _names(arrays, labels)
            splits = mask_splits(
                {part: _masks(arrays, part) for part in MASKS}, labels, f"'{path}'"
            )
        return from_scipy(
            adjacency, attributes, labels, name=name, ignore_weights=ignore_weights,
            class_names=names, splits=splits,
        )  # fmt: skip
    except AgnnError as error:
        said = str(error)
        raise DataError(said if str(path) in said else f"'{path}': {said}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError) as error:
        if "allow_pickle" in str(error):
            raise DataError(
                f"'{path}' holds pickled objects, which could run anything and are not opened; "
                f"save its arrays as numbers and text."
            ) from error
        said = " ".join(str(error).split())[:120]
        raise DataError(f"'{path}' is damaged or no .npz of this kind: {said}.") from error


def _matrix(arrays: Mapping[str, Any], prefix: str) -> Any:
    """The CSR matrix whose parts start with `prefix`; a dense one; None where there is none."""
    from scipy import sparse

    if f"{prefix}_matrix" in arrays:
        dense = arrays[f"{prefix}_matrix"]
        return sparse.csr_array(dense) if prefix == "adj" else dense
    if f"{prefix}_data" not in arrays:
        return None
    data, indices, indptr, shape = (arrays[f"{prefix}_{part}"] for part in _PARTS)
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    matrix.check_format(full_check=True)
    return matrix


def _masks(arrays: Mapping[str, Any], part: str) -> Any:
    """The masks [k, n] of a part, or its one mask [n]; None where there is none."""
    several = arrays.get(f"{part}_masks")
    return arrays.get(f"{part}_mask") if several is None else several


def _names(arrays: Mapping[str, Any], labels: Any) -> list[str] | None:
    """The class names, where the file has plain text for each class."""
    if labels is None or "class_names" not in arrays or labels.dtype.kind not in "iu":
        return None
    try:
        names = arrays["class_names"]
    except ValueError:  # pickled text, as older files have it: numbers will do
        return None
    fits = names.dtype.kind == "U" and names.ndim == 1 and names.size > labels.max(initial=-1)
    return names.tolist() if fits else None
