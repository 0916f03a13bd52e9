"""Graphs in tables: CSV, TSV, Parquet, edge lists and pandas frames.

This is the only place that imports pandas and pyarrow; importing it without them is an error that
names the extra to install. A table of nodes and a table of edges become a `NodeData`:

>>> import pandas as pd
>>> nodes = pd.DataFrame({"id": ["a", "b", "c"], "size": [1.5, 2.0, 4.5], "kind": ["x", "y", None]})
>>> edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
>>> data = from_pandas(nodes, edges, label="kind")
>>> data.class_names, data.labels.tolist(), data.preprocessing.feature_names
(('x', 'y'), [0, 1, -1], ('size',))

`with_new_nodes` adds nodes of a later table to data that was read before.
"""

from agnn.errors import UnavailableError

try:
    import pyarrow  # noqa: F401
    from pandas import DataFrame as DataFrame
except ModuleNotFoundError as error:
    raise UnavailableError(
        f"{error.name} is not installed, and tables and graph files are read with it: "
        f"pip install 'agnn[tables]'."
    ) from error

from agnn.data.tables._columns import NodeTable as NodeTable
from agnn.data.tables._large import LargeTables as LargeTables
from agnn.data.tables._large_ids import NumberIndex as NumberIndex, TextIndex as TextIndex
from agnn.data.tables._read import (
    NewNodes as NewNodes,
    data_of_records as data_of_records,
    from_pandas as from_pandas,
    read_tables as read_tables,
    with_new_nodes as with_new_nodes,
)
from agnn.data.tables._source import open_source as open_source
