# The public names of agnn, for type checkers and for `__init__.py`, which loads them on first use.
# read
from agnn.data import (
    load_dataset as load_dataset,
    NodeData as NodeData,
    Split as Split,
    DataReport as DataReport,
)
from agnn.data.tables import (
    read_tables as read_tables,
    from_pandas as from_pandas,
    with_new_nodes as with_new_nodes,
)
from agnn.data.sources import (
    read_graph as read_graph,
    from_networkx as from_networkx,
    from_scipy as from_scipy,
    from_pyg as from_pyg,
)

# train
from agnn.estimator import (
    NodeClassifier as NodeClassifier,
)
from agnn.runs import (
    evaluate as evaluate,
    prepare as prepare,
    preset_method as preset_method,
    Run as Run,
    Training as Training,
    Predictions as Predictions,
    load_run as load_run,
    save_run as save_run,
)
from agnn.methods import (
    method_names as method_names,
    get_method as get_method,
)
from agnn.training import (
    Checkpoints as Checkpoints,
)

# compare
from agnn.studies import (
    compare as compare,
    Leaderboard as Leaderboard,
    reproduce as reproduce,
)

# ask
from agnn.explanation import (
    explain as explain,
)
from agnn.web.explore import (
    share as share,
)

# build
from agnn.networks import (
    AGNN as AGNN,
)
from agnn.pyg import (
    AGNNConv as AGNNConv,
)

# catch
from agnn.errors import (
    AgnnError as AgnnError,
    InputError as InputError,
    DataError as DataError,
    UnavailableError as UnavailableError,
    DivergedError as DivergedError,
    StoppedError as StoppedError,
)

# the packages
from . import (
    choosing as choosing,
    cli as cli,
    data as data,
    decisions as decisions,
    distributed as distributed,
    drawing as drawing,
    errors as errors,
    estimator as estimator,
    executors as executors,
    explanation as explanation,
    files as files,
    graph as graph,
    hub as hub,
    kernels as kernels,
    methods as methods,
    metrics as metrics,
    networks as networks,
    onnx as onnx,
    options as options,
    palette as palette,
    progress as progress,
    pyg as pyg,
    registry as registry,
    report as report,
    runs as runs,
    studies as studies,
    tables as tables,
    trackers as trackers,
    training as training,
    web as web,
)

__version__: str
