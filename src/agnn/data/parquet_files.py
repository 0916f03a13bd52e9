"""Parquet, read by pyarrow; text stays encoded until its size is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agnn.data.encoded_text import encoded_dtype
from agnn.data.file_limits import ROW_LIMIT, check_fits
from agnn.data.packages import tables_package
from agnn.errors import DataError

_BATCH: Final = 4_000_000  # rows; ids are looked up batch by batch, and each has its price


def parquet_columns(path: Path) -> tuple[str, ...]:
    """The column names of a file whose content fits memory."""
    with _in_words(path), _opened(path) as file:
        meta = file.metadata
        groups = [meta.row_group(k) for k in range(meta.num_row_groups)]
        stored = sum(group.total_byte_size for group in groups)
        # One repeated value takes no room on disk, but 8 bytes a row in memory.
        check_fits(path, max(stored, 8 * meta.num_rows * meta.num_columns))
        if meta.num_rows == 0:
            raise DataError(f"'{path}' has no rows.")
        return tuple(file.schema_arrow.names)


def parquet_batches(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Frames of these columns; text comes encoded (`agnn.data.encoded_text`)."""
    with _in_words(path):
        with _opened(path) as file:
            types = {field.name: field.type for field in file.schema_arrow}
        texts = [name for name in columns if _is_text(types[name])]
        rows, waiting = 0, []  # a file has its own batches, often much smaller ones
        with _opened(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(_BATCH, columns=list(columns)):
                for name in columns:
                    _check_cells(path, name, batch.column(name), rows)
                rows += len(batch)
                waiting.append(batch)
                if sum(len(each) for each in waiting) >= _BATCH:
                    yield _frame(waiting)
                    waiting = []
        if waiting:
            yield _frame(waiting)


def _frame(batches: Sequence[Any]) -> Any:
    table = tables_package("pyarrow").Table.from_batches(batches)
    return table.to_pandas(types_mapper=encoded_dtype)


def _is_text(kind: Any) -> bool:
    types = tables_package("pyarrow.types")
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_cells(path: Path, column: str, values: Any, rows: int) -> None:
    """Raise for a cell that no table has, and for text that memory would not hold.

    `rows` rows stand before these values.
    """
    arrow, compute = tables_package("pyarrow"), tables_package("pyarrow.compute")
    if not (arrow.types.is_dictionary(values.type) and _is_text(values.type.value_type)):
        return
    lengths = compute.binary_length(values.dictionary)
    by_row = compute.take(lengths, values.indices)
    if (compute.max(lengths).as_py() or 0) > ROW_LIMIT:
        long = compute.indices_nonzero(compute.greater(by_row, ROW_LIMIT))
        raise DataError(
            f"'{path}', column '{column}', row {rows + long[0].as_py() + 1}: a cell has more than "
            f"{ROW_LIMIT // 2**20} MiB."
        )
    total = compute.sum(by_row).as_py()
    check_fits(path, total or 0)


def _opened(path: Path, **options: Any) -> Any:
    return tables_package("pyarrow.parquet").ParquetFile(path, **options)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    arrow = tables_package("pyarrow")
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        raise DataError(
            f"'{path}' is damaged, cut short or no Parquet file: {said[:120].rstrip('.')}."
        ) from error
