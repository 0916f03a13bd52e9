"""Predictions with their probabilities, by node id, and their table on disk."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.errors import InputError
from agnn.files import check_new_file, writing_file
from agnn.metrics import Ensemble

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ENDS: Final = (".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class Predictions(Ensemble):
    """The ensemble's predictions for some nodes, with the names of nodes and classes."""

    ids: tuple[Hashable, ...]  # [k]
    class_names: tuple[str, ...]  # [c]

    @classmethod
    def of(cls, ids: Sequence[Hashable], names: Sequence[str], found: Ensemble) -> Predictions:
        """The predictions of an ensemble for the nodes with these ids."""
        return cls(found.probabilities, found.disagreement, tuple(ids), tuple(names))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def classes(self) -> NDArray[np.object_]:
        """[k] The name of the predicted class."""
        return np.array(self.class_names, dtype=object)[self.answers]

    @property
    def confidence(self) -> NDArray[np.float64]:
        """[k] The probability of the predicted class."""
        return np.asarray(self.probabilities.max(1))

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: id, prediction, probability of each class, disagreement."""
        columns: dict[str, list[Any]] = {
            "id": _alike(self.ids),
            "prediction": self.classes.tolist(),
        }
        for name, values in zip(self.class_names, self.probabilities.T, strict=True):
            columns[f"probability of {name}"] = values.tolist()
        columns["disagreement"] = self.disagreement.tolist()
        return columns

    def save(self, path: Path | str) -> None:
        """Write the columns to a new CSV or Parquet file, completely or not at all."""
        check_table_file(path)
        from agnn.data.tables import DataFrame

        frame = DataFrame(self.to_dict())
        with writing_file(path) as draft:
            if Path(path).suffix.lower() == ".csv":
                frame.to_csv(draft, index=False)
            else:
                frame.to_parquet(draft, index=False)

    def __repr__(self) -> str:
        return f"Predictions({len(self)} nodes, classes {', '.join(self.class_names)})"


def check_table_file(path: Path | str) -> None:
    """Raise unless a new table can be written there; call it before the work, not after."""
    end = Path(path).suffix.lower()
    if end not in _ENDS:
        raise InputError(f"'{path}' must end in .csv or .parquet to be written.")
    check_new_file(path)
    import agnn.data.tables  # noqa: F401 raises if pandas is not installed


def _alike(ids: Sequence[Hashable]) -> list[Any]:
    """The ids as they are; as text if they are of several kinds, which no column can hold."""
    plain: list[Any] = [each.item() if isinstance(each, np.generic) else each for each in ids]
    kinds = {type(each) for each in plain}
    return plain if kinds in ({str}, {int}, {float}) else [str(each) for each in plain]
