"""Graphs with features, labels and splits: reading, checking, splitting and storing them.

Everything ends in one checked, frozen object, `NodeData`:

>>> from agnn.data import load_dataset, make_splits
>>> cora = load_dataset("cora")
>>> cora.nodes, cora.classes, cora.feature_count
(2708, 7, 1433)
>>> [split.name for split in make_splits(cora, "uniform", seeds=[0, 1])]
['uniform-0', 'uniform-1']

It comes from bundled datasets (`agnn.data.store`), tables (`agnn.data.tables`), or other libraries
and file formats (`agnn.data.sources`), and is split by `make_splits`. `NodeData.report` says
what is in the data, how each column was used and what is unusual. The rule for missing values and
labels is the same everywhere:

- A value is missing if it is None or NaN, or text that is empty or one of na, n/a, nan, null,
  <na> and ?, in upper or lower case.
- A label is also missing if it is -1. Any other value is a class, negative numbers included.
- Classes sort by value where all are numbers, also where they are written as text.
"""

from agnn.data._changes import (
    changed_data as changed_data,
    with_labels as with_labels,
    without_nodes as without_nodes,
)
from agnn.data._edges import RawCounts as RawCounts, unusable_weight as unusable_weight
from agnn.data._input_files import TABLE_FILES as TABLE_FILES
from agnn.data._labels import encoded_labels as encoded_labels
from agnn.data._node_data import NodeData as NodeData
from agnn.data._options import ReadKeywords as ReadKeywords, ReadOptions as ReadOptions
from agnn.data._report import DataReport as DataReport
from agnn.data._splits._by_column import column_splits as column_splits
from agnn.data._splits._draws import (
    Stream as Stream,
    uniform_split as uniform_split,
)
from agnn.data._splits._spec import (
    SplitSpec as SplitSpec,
    make_splits as make_splits,
)
from agnn.data._splits._split import Split as Split
from agnn.data.scaling import Scaling as Scaling
from agnn.data.store import load_dataset as load_dataset
