"""What the runs of a cell depend on besides the data and the seed, and a hash of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from agnn.errors import AgnnError, DataError
from agnn.experiments._spec import Cell
from agnn.methods import Method, Tuned, method_names, stored_name
from agnn.runs import preset_method

# Raised when the same specification comes to mean other runs; old ones are then not reused.
PROTOCOL: Final = 1
# The values of a run that are measured on the trained model, by what measures them.
MEASURES: Final[Mapping[str, str | None]] = {
    "accuracy": None,
    "top_within": "edge_ranking",
    "bottom_within": "edge_ranking",
}


@dataclass(frozen=True)
class RunSpec:
    """A canonical JSON text, and its hash. Notes and the paper's figures have no part in it."""

    text: str

    @classmethod
    def of(cls, method: Method, split: str, measure: str | None, metric: str | None = None) -> Self:
        """The specification of runs of `method` on `split`."""
        chosen_by = {} if metric is None else {"metric": metric}
        return cls.from_values(
            {
                "protocol": PROTOCOL,
                "method": described(method),
                "configuration": method.configuration,
                "split": split.lower(),
                "measure": measure,
                **chosen_by,
            }
        )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """The specification with these values."""
        return cls(json.dumps(values, sort_keys=True, ensure_ascii=True))

    @property
    def values(self) -> dict[str, Any]:
        """The specification as plain values."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits: enough for all tables that will ever be in one store."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def described(method: Method) -> dict[str, Any]:
    """A method by name with every hyper-parameter; a tuned one with its base and grid."""
    if isinstance(method, Tuned):
        grid = {stored_name(method.base, n): list(v) for n, v in method.base.grid.items()}
        return {"tuned": described(method.base), "grid": grid}
    own = method.identity.items()
    return {
        "name": method.name,
        **{name: described(value) if isinstance(value, Method) else value for name, value in own},
    }


def method_of(cell: Cell) -> Method | None:
    """The method of a cell with its hyper-parameters; None where there is none (yet)."""
    if cell.method is None or cell.method not in method_names():
        return None
    try:
        method = preset_method(cell.method, cell.split, cell.preset)
        if cell.data is not None:
            method = method.suited(cell.data)
        method = method.with_fields(**dict(cell.fields))
    except AgnnError as error:
        raise DataError(f"the row of '{cell.method}' on {cell.dataset}: {error}") from error
    if cell.configuration != "tuned":
        return method
    return Tuned(method) if method.grid else None


def absence(cell: Cell) -> str:
    """Why `method_of` found none, in a few words."""
    if cell.method not in method_names():
        return "not among the methods yet"
    return "no grid to tune over"


def run_spec_of(cell: Cell) -> RunSpec | None:
    """The specification of the cell's runs; None where its method is not there."""
    if cell.value not in MEASURES:
        raise DataError(f"unknown value '{cell.value}' of a run; known: {', '.join(MEASURES)}.")
    method = method_of(cell)
    return None if method is None else RunSpec.of(method, cell.split, MEASURES[cell.value])
