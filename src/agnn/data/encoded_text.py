"""Columns whose values are numbers that stand for words: small until they are written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.data.packages import tables_package

if TYPE_CHECKING:
    from numpy.typing import NDArray


def encoded_dtype(kind: Any) -> Any:
    """The type in pandas for a pyarrow dictionary that stays one; None for every other type.

    pandas' own categories would be checked for doubles at once, which takes longer than reading.
    """
    if tables_package("pyarrow.types").is_dictionary(kind):
        return tables_package("pandas").ArrowDtype(kind)
    return None


def is_encoded(values: Any) -> bool:
    """Whether a series is encoded, by pyarrow or as pandas' categories."""
    pandas = tables_package("pandas")
    if isinstance(values.dtype, pandas.ArrowDtype):
        return bool(tables_package("pyarrow.types").is_dictionary(values.dtype.pyarrow_dtype))
    return isinstance(values.dtype, pandas.CategoricalDtype)


def codes_and_words(values: Any) -> tuple[NDArray[np.int64], Any]:
    """The codes [n] of an encoded series, -1 for a missing value, and its words as a series."""
    pandas = tables_package("pandas")
    if isinstance(values.dtype, pandas.CategoricalDtype):
        words = values.cat.categories.to_series().reset_index(drop=True)
        return values.cat.codes.to_numpy(dtype=np.int64), words
    arrow = tables_package("pyarrow")
    whole = arrow.array(values)
    if isinstance(whole, arrow.ChunkedArray):
        whole = whole.unify_dictionaries().combine_chunks()
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), whole.dictionary.to_pandas()


def plain_text(values: Any) -> Any:
    """A series written out: the words in place of the codes."""
    if not is_encoded(values):
        return values
    codes, words = codes_and_words(values)
    pandas = tables_package("pandas")
    written = words.take(np.maximum(codes, 0)) if len(words) else words.reindex(codes)
    written = written.set_axis(values.index)
    return written if (codes >= 0).all() else written.where(pandas.Series(codes >= 0, values.index))
