"""How a table's columns become features: a description that is saved as JSON and applied again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from agnn.data.feature_blocks import (
    Block,
    Category,
    Counts,
    Numbers,
    Source,
    Structure,
    Words,
)
from agnn.errors import DataError

if TYPE_CHECKING:
    from agnn.data.features import SparseRows

_FORMAT: Final = "agnn-preprocessing-1"
_KINDS: Final[Mapping[str, Any]] = {
    block.kind: block for block in (Numbers, Counts, Category, Words, Structure)
}


@dataclass(frozen=True)
class Preprocessing:
    """Fitted blocks of features, side by side."""

    blocks: tuple[Block, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """[d_x] What each feature is, for people."""
        return tuple(name for block in self.blocks for name in block.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        return tuple(column for block in self.blocks for column in block.reads)

    @property
    def row_normalised(self) -> bool:
        """Whether the methods should see rows that sum to 1: where nothing is negative."""
        return not any(block.is_signed for block in self.blocks)

    @property
    def is_structural(self) -> bool:
        """Whether the graph alone makes the features; it does so for all nodes at once."""
        return all(block.kind == Structure.kind for block in self.blocks)

    def features(self, source: Source) -> SparseRows:
        """[n, d_x] The features of these nodes."""
        from scipy import sparse

        parts = [block.rows(source) for block in self.blocks]
        if len(parts) == 1:
            return parts[0]
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        blocks = [{"kind": block.kind, **asdict(block)} for block in self.blocks]  # type: ignore[call-overload]
        return {"format": _FORMAT, "blocks": blocks}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """The preprocessing that `to_dict` described; anything else is refused."""
        if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
            raise DataError(f"this is no saved preprocessing: it must have 'format': '{_FORMAT}'.")
        try:
            return cls(tuple(_block(each) for each in values["blocks"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this saved preprocessing is damaged: {error!r}.") from error


def _block(values: Mapping[str, Any]) -> Block:
    fields = {
        name: tuple(value) if isinstance(value, list | tuple) else value
        for name, value in values.items()
        if name != "kind"
    }
    block: Block = _KINDS[values["kind"]](**fields)
    for name, value in fields.items():
        is_number = name in ("means", "scales", "idf")
        entries = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(each, float | int if is_number else str) for each in entries):
            raise ValueError(f"'{name}' must hold {'numbers' if is_number else 'text'}")
    lengths = {len(fields[name]) for name in ("columns", "means", "scales") if name in fields}
    words = {len(fields[name]) for name in ("vocabulary", "idf") if name in fields}
    if len(lengths) > 1 or len(words) > 1:
        raise ValueError("its lists differ in length")
    return block
