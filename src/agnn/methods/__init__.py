"""The methods, one module each behind one protocol.

A method is a frozen dataclass whose fields are its hyper-parameters. It turns a `Task` (data,
splits and seeds) into an `Outcome` (class probabilities of every node for every replica).

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> method = get_method("gcn").preset("fixed", "cora").with_fields(epochs=5)
    >>> method.hidden, method.learning_rate
    (16, 0.01)
    >>> outcome = method.run(Task(cora, (cora.split("fixed"),) * 2, seeds=(0, 1)))
    >>> outcome.scores.shape  # replicas, nodes, classes
    torch.Size([2, 2708, 7])
    >>> "label_propagation" in method_names()
    True

The networks are in `agnn.networks`, here are all others. `SplitMethod` and `EmbeddingMethod` are
their bases.

Every module of this package is imported here, so a new method registers itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from agnn.methods._label_propagation import LabelPropagation as LabelPropagation
from agnn.methods._majority import Majority as Majority
from agnn.methods._ridge import Ridge as Ridge
from agnn.methods._split_method import (
    SplitMethod as SplitMethod,
)
from agnn.networks import (
    Method as Method,
    NetworkMethod as NetworkMethod,
    Outcome as Outcome,
    Task as Task,
    get_method as get_method,
    method_names as method_names,
    register as register,
)

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
