"""The networks, one file each: hyper-parameters, presets, citation, parameters, operations.

A network is a frozen dataclass whose fields are its hyper-parameters. `build` gives its model, a
`torch.nn.Module` with any number of replicas:

    >>> import agnn
    >>> from agnn.graph import Graph, View, features_of
    >>> from agnn.networks import AGNN
    >>> cora = agnn.load_dataset("cora")
    >>> features = features_of(cora.scaled_features("sum"))
    >>> model = AGNN(layers=2, first_beta=0.0).build(features.width, cora.classes, seeds=(0, 1))
    >>> view = View.whole(features, Graph.of(cora), model.hops)
    >>> model(view).shape  # replicas, nodes, classes
    torch.Size([2, 2708, 7])
    >>> model.betas.tolist()  # replicas, layers
    [[0.0, 1.0], [0.0, 1.0]]
    >>> first, second = model.attentions(view)  # how much each node attends to each neighbour
    >>> first.edges.shape == (2, Graph.of(cora).edges)
    True

A model has R replicas: parameters are [R, ...], states [R, n, d] and logits [R, n, c]. It is a
chain of operations (`NodeModel.links`), differentiated as one node of torch's graph, and computes
logits at the targets of a `View`: the features and the part of the graph that reaches these
targets. Layers such as `Linear` hold parameters and give links.

A network is also a `Method`: it turns a `Task` (data, splits and seeds) into an `Outcome` (class
probabilities of every node for every replica). Every module of this package is imported here, so a
new network registers itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from agnn.networks._agnn import AGNN as AGNN
from agnn.networks._agnn_plus import AGNNPlus as AGNNPlus
from agnn.networks._appnp import APPNP as APPNP
from agnn.networks._chebnet import ChebNet as ChebNet
from agnn.networks._dcnn import DCNN as DCNN
from agnn.networks._dynamic_filter import DynamicFilter as DynamicFilter
from agnn.networks._fagcn import FAGCN as FAGCN
from agnn.networks._gat import GAT as GAT
from agnn.networks._gcn import GCN as GCN, GLN as GLN
from agnn.networks._gcnii import GCNII as GCNII
from agnn.networks._grand import GRAND as GRAND
from agnn.networks._graph_cnn import GraphCNN as GraphCNN
from agnn.networks._graphsage import GraphSAGE as GraphSAGE
from agnn.networks._layers import (
    FeatureLinear as FeatureLinear,
    Linear as Linear,
    generators as generators,
    glorot_uniform as glorot_uniform,
)
from agnn.networks._model import (
    INPUT as INPUT,
    OUTPUT as OUTPUT,
    NodeModel as NodeModel,
    at as at,
    rows_by_layer as rows_by_layer,
)
from agnn.networks._monet import MoNet as MoNet
from agnn.networks._multilayer_perceptron import MultilayerPerceptron as MultilayerPerceptron
from agnn.networks._network import (
    HiddenNetwork as HiddenNetwork,
    NetworkMethod as NetworkMethod,
)
from agnn.networks._pair_attention import GATv2 as GATv2, GraphTransformer as GraphTransformer
from agnn.networks._paths import Paths as Paths
from agnn.networks._protocol import (
    Count as Count,
    Method as Method,
    Outcome as Outcome,
    Positive as Positive,
    Share as Share,
    Task as Task,
    get_method as get_method,
    method_names as method_names,
    register as register,
    validation_scores as validation_scores,
)
from agnn.networks._semi_supervised_embedding import (
    SemiSupervisedEmbedding as SemiSupervisedEmbedding,
)
from agnn.networks._separated import Separated as Separated
from agnn.networks._sgc import SGC as SGC

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
