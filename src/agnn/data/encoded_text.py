"""Columns whose values are numbers that stand for words: small until they are written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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


class Encoded(NamedTuple):
    """A series as codes that stand for words."""

    codes: NDArray[np.int64]  # [n], -1 for a missing value
    words: Any  # a pandas series


def codes_and_words(values: Any) -> Encoded:
    """An encoded series taken apart."""
    pandas = tables_package("pandas")
    if isinstance(values.dtype, pandas.CategoricalDtype):
        words = values.cat.categories.to_series().reset_index(drop=True)
        return Encoded(values.cat.codes.to_numpy(dtype=np.int64), words)
    arrow = tables_package("pyarrow")
    whole = arrow.chunked_array(arrow.array(values))
    codes, words, before = [], [], 0
    for chunk in whole.chunks:  # each has words of its own; one that two chunks have stands twice
        own = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        codes.append(np.where(own < 0, -1, own + before))
        words.append(chunk.dictionary)
        before += len(chunk.dictionary)
    named = arrow.chunked_array(words, whole.type.value_type)
    return Encoded(np.concatenate([np.empty(0, np.int64), *codes]), named.to_pandas())


def plain_text(values: Any) -> Any:
    """A series written out: the words in place of the codes."""
    if not is_encoded(values):
        return values
    codes, words = codes_and_words(values)
    pandas = tables_package("pandas")
    written = words.take(np.maximum(codes, 0)) if len(words) else words.reindex(codes)
    written = written.set_axis(values.index)
    return written if (codes >= 0).all() else written.where(pandas.Series(codes >= 0, values.index))
