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
"""

from agnn.distributed._executors import finished, open_executor, parse_executor
from agnn.distributed._shared import Shared

__all__ = ["Shared", "finished", "open_executor", "parse_executor"]
