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

from agnn.methods._label_propagation import LabelPropagation
from agnn.methods._majority import Majority
from agnn.methods._ridge import Ridge
from agnn.methods._split_method import (
    SplitMethod,
)
from agnn.networks import (
    Method,
    NetworkMethod,
    Outcome,
    Task,
    get_method,
    method_names,
    register,
    validation_scores,
)

__all__ = [
    "LabelPropagation",
    "Majority",
    "Method",
    "NetworkMethod",
    "Outcome",
    "Ridge",
    "SplitMethod",
    "Task",
    "get_method",
    "method_names",
    "register",
    "validation_scores",
]

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
