"""Work for several processes and machines.

**Many models.** `open_executor` turns "local:4" or "dask:tcp://host:8786" into workers, and
`finished` gives the results of a function on them as they come. Workers only compute: files and
stores are written by the process that asked. Any `concurrent.futures.Executor` fits the same place.

>>> from collections import deque
>>> from concurrent.futures import ThreadPoolExecutor
>>> from agnn.distributed import finished, open_executor
>>> with open_executor(ThreadPoolExecutor(2)) as workers:
...     sorted(finished(workers, abs, deque([-3, 2])))
[(-3, 3), (2, 2)]

**One large graph.** `partition` divides the rows of a graph into parts on disk, also from tables
larger than memory; `open_part` gives one of them, memory-mapped and checked. A `Division` trains
on several ranks: `train_rows` is what each of them does with its part.
"""

from agnn.distributed._division import Axis, Division, parts_of
from agnn.distributed._executors import finished, open_executor, parse_executor
from agnn.distributed._order import ORDERS, check_order
from agnn.distributed._part_sources import PartSource
from agnn.distributed._partition import partition
from agnn.distributed._parts import (
    Manifest,
    PartFacts,
    check_parts,
    is_parts_folder,
    open_labels,
    open_masks,
    open_part,
    open_positions,
    read_ids,
    read_manifest,
)
from agnn.distributed._ranks import LostRankError, Ranks
from agnn.distributed._rows import WIRES, RowsOutcome, RowsTask, train_rows
from agnn.distributed._shared import Shared

__all__ = [
    "ORDERS",
    "WIRES",
    "Axis",
    "Division",
    "LostRankError",
    "Manifest",
    "PartFacts",
    "PartSource",
    "Ranks",
    "RowsOutcome",
    "RowsTask",
    "Shared",
    "check_order",
    "check_parts",
    "finished",
    "is_parts_folder",
    "open_executor",
    "open_labels",
    "open_masks",
    "open_part",
    "open_positions",
    "parse_executor",
    "partition",
    "parts_of",
    "read_ids",
    "read_manifest",
    "train_rows",
]
