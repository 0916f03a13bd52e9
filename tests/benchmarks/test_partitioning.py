"""The benchmark of `agnn partition` divides the tables that it writes."""

from __future__ import annotations

from benchmarks.partitioning import partitioned, write_tables


def test_the_tables_are_divided_and_measured(tmp_path):
    write_tables(tmp_path, 20_000)
    found = partitioned(tmp_path, 4, "given", "512MB")
    assert (found["nodes"], found["cut"] > 0.5) == (2000, True)
    assert found["peak GiB"] > 0
