"""One large graph on many ranks: processes of this machine, or of many, that train together.

`partition` divides the rows of a graph into parts on disk, also from tables larger than memory;
a `PartsFolder` opens them, memory-mapped and checked. A `Division` trains on several ranks:
`train_rows` is what each of them does with its part.

>>> import tempfile
>>> from agnn.distributed import GraphSource, PartsFolder, partition
>>> with tempfile.TemporaryDirectory() as folder:
...     manifest = partition(GraphSource.synthetic(nodes=1000, edges=5000), f"{folder}/parts", 4)
...     part = PartsFolder(f"{folder}/parts").part(rank=1)
>>> part.own == manifest.parts[1].rows, part.halo.size == manifest.parts[1].halo
(True, True)
"""

from agnn.distributed._division import Division as Division
from agnn.distributed._graph_source import GraphSource as GraphSource
from agnn.distributed._meeting import Meeting as Meeting
from agnn.distributed._order import check_order as check_order
from agnn.distributed._partition import partition as partition
from agnn.distributed._parts import Manifest as Manifest, PartsFolder as PartsFolder
from agnn.distributed._ranks import Ranks as Ranks
from agnn.distributed._rows import RowsTask as RowsTask
