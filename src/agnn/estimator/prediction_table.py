"""Predictions as a table: id, class, probability of each class, disagreement."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.errors import InputError
from agnn.files import check_new_file, writing_file

if TYPE_CHECKING:
    from agnn.metrics import Ensemble

_ENDS: Final = (".csv", ".parquet")


def prediction_table(
    ids: Sequence[Hashable], class_names: Sequence[str], found: Ensemble
) -> dict[str, list[Any]]:
    """The columns by name, one entry a node: `found` is about the nodes of `ids`."""
    columns: dict[str, list[Any]] = {
        "id": _alike(ids),
        "prediction": [class_names[answer] for answer in found.answers],
    }
    for name, values in zip(class_names, found.probabilities.T, strict=True):
        columns[f"probability of {name}"] = values.tolist()
    columns["disagreement"] = found.disagreement.tolist()
    return columns


def check_table_file(path: Path) -> None:
    """Raise unless a new table can be written there; asked before the work, not after."""
    if path.suffix.lower() not in _ENDS:
        raise InputError(f"'{path}' must end in .csv or .parquet to be written.")
    check_new_file(path)
    import agnn.data.tables  # noqa: F401 raises if pandas is not installed


def write_table(columns: dict[str, list[Any]], path: Path) -> None:
    """Write the columns as CSV or Parquet, by the file's name; all of it or nothing."""
    check_table_file(path)
    from agnn.data.tables import DataFrame

    frame = DataFrame(columns)
    with writing_file(path) as draft:
        if path.suffix.lower() == ".csv":
            frame.to_csv(draft, index=False)
        else:
            frame.to_parquet(draft, index=False)


def _alike(ids: Sequence[Hashable]) -> list[Any]:
    """The ids as they are; as text where they are of several kinds, which no column can hold."""
    plain: list[Any] = [each.item() if isinstance(each, np.generic) else each for each in ids]
    kinds = {type(each) for each in plain}
    return plain if kinds in ({str}, {int}, {float}) else [str(each) for each in plain]
