"""A small table, and a store to keep its runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_tables import small_table

from agnn.studies import Store
from agnn.studies._spec import Table


@pytest.fixture
def small() -> Table:
    return small_table()


@pytest.fixture
def store() -> Iterator[Store]:
    kept = Store.in_memory()
    yield kept
    kept.close()
