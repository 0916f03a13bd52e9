"""Workers for many trainings: processes of this machine, or Dask workers anywhere.

`open_executor` turns "local:4" or "dask:tcp://host:8786" into workers, and `map_as_completed` calls
a function on them and gives the results as they come. Workers only compute: files and stores are
written by the process that asked. Any `concurrent.futures.Executor` fits the same place.
`LaunchedRank.current` says which of the processes of torchrun this one is.

>>> from collections import deque
>>> from concurrent.futures import ThreadPoolExecutor
>>> from agnn.executors import map_as_completed, open_executor
>>> with open_executor(ThreadPoolExecutor(2)) as workers:
...     sorted(map_as_completed(workers, abs, deque([-3, 2])))
[(-3, 3), (2, 2)]
"""

from agnn.executors._executors import (
    LocalProcesses as LocalProcesses,
    end_with_parent as end_with_parent,
    map_as_completed as map_as_completed,
    open_executor as open_executor,
    parse_executor as parse_executor,
)
from agnn.executors._launched import (
    LaunchedRank as LaunchedRank,
    package_versions as package_versions,
)
from agnn.executors._shared import Shared as Shared
