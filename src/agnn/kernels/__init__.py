"""The operations that take the time, each with its definition and its fast implementations.

Each operation is a function, such as `cosine_attention`, and most are also a `Link`: a part of a
chain that `run_chain` differentiates as one node of torch's graph. Every operation has a
definition in plain torch ("reference") and compiled CPU code ("numba"); those that train networks
also have Triton kernels for a GPU ("triton"). `self_check` compares them. Other packages import
from here and not from the modules below.

>>> import numpy as np, torch
>>> from agnn.graph import Graph
>>> from agnn.kernels import cosine_attention
>>> graph = Graph.from_edges(np.array([[0, 1], [1, 2]]), nodes=3)  # the path 0 - 1 - 2
>>> h = torch.tensor([[[1.0], [2.0], [6.0]]])  # one replica, three nodes, one feature
>>> cosine_attention(graph, h, torch.zeros(1)).flatten().tolist()  # beta 0: the plain mean
[1.5, 3.0, 4.0]
"""

from agnn.kernels._adam import adam_step as adam_step
from agnn.kernels._additive_attention import AdditiveAttentionLink as AdditiveAttentionLink
from agnn.kernels._backends import (
    BACKENDS as BACKENDS,
    choose as choose,
    obstacle as obstacle,
    openmp_obstacle as openmp_obstacle,
)
from agnn.kernels._chain import (
    Attention as Attention,
    FirstStates as FirstStates,
    Link as Link,
    TorchLink as TorchLink,
    hold_gate as hold_gate,
    holding as holding,
    is_holding as is_holding,
    run_chain as run_chain,
)
from agnn.kernels._consistency import consistency as consistency, for_versions as for_versions
from agnn.kernels._cosine_attention import (
    CosineAttentionLink as CosineAttentionLink,
    cosine_attention as cosine_attention,
)
from agnn.kernels._counter import counter_words as counter_words, stream_key as stream_key
from agnn.kernels._cross_entropy import (
    CrossEntropyLink as CrossEntropyLink,
    cross_entropy as cross_entropy,
)
from agnn.kernels._dense_linear import (
    DenseLinearLink as DenseLinearLink,
    dense_linear as dense_linear,
)
from agnn.kernels._dropout import (
    Dropout as Dropout,
    DropoutAt as DropoutAt,
    DropoutLink as DropoutLink,
    RowDropoutLink as RowDropoutLink,
    dropout as dropout,
    random_words as random_words,
)
from agnn.kernels._dropped_propagate import (
    DroppedPropagateLink as DroppedPropagateLink,
    EntryDropout as EntryDropout,
    dropped_propagate as dropped_propagate,
)
from agnn.kernels._layer_norm import LayerNormLink as LayerNormLink, layer_norm as layer_norm
from agnn.kernels._links import (
    ELU as ELU,
    Anchor as Anchor,
    Bias as Bias,
    Blend as Blend,
    Cast as Cast,
    FirstLayerLink as FirstLayerLink,
    HeadMean as HeadMean,
    HopMean as HopMean,
    HopState as HopState,
    ReLU as ReLU,
    RowCopies as RowCopies,
    feature_linear as feature_linear,
    heads_of as heads_of,
)
from agnn.kernels._neighbour_sample import sample_neighbours as sample_neighbours
from agnn.kernels._part_rows import (
    FACTS as FACTS,
    Matrices as Matrices,
    Runs as Runs,
    part_rows as part_rows,
)
from agnn.kernels._propagate import PropagateLink as PropagateLink, propagate as propagate
from agnn.kernels._random_walk import random_walks as random_walks
from agnn.kernels._runtime.memory import (
    buffer_like as buffer_like,
    recycled_memory as recycled_memory,
)
from agnn.kernels._self_check import self_check as self_check
from agnn.kernels._skip_gram import (
    Descent as Descent,
    hierarchical_skip_gram as hierarchical_skip_gram,
    negative_skip_gram as negative_skip_gram,
    pair_skip_gram as pair_skip_gram,
)
from agnn.kernels._weighted_sum import (
    WeightedSumLink as WeightedSumLink,
    weighted_sum as weighted_sum,
)
