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

from agnn.kernels._adam import adam_step
from agnn.kernels._additive_attention import AdditiveAttentionLink
from agnn.kernels._backends import BACKENDS, choose, obstacle, openmp_obstacle
from agnn.kernels._chain import (
    Attention,
    FirstStates,
    Link,
    TorchLink,
    hold_gate,
    holding,
    is_holding,
    run_chain,
)
from agnn.kernels._consistency import consistency, for_versions
from agnn.kernels._cosine_attention import (
    CosineAttentionLink,
    cosine_attention,
)
from agnn.kernels._counter import counter_words, stream_key
from agnn.kernels._cross_entropy import CrossEntropyLink, cross_entropy
from agnn.kernels._dense_linear import DenseLinearLink, dense_linear
from agnn.kernels._dropout import (
    Dropout,
    DropoutAt,
    DropoutLink,
    RowDropoutLink,
    dropout,
    random_words,
)
from agnn.kernels._links import (
    ELU,
    Anchor,
    Bias,
    Blend,
    Cast,
    FirstLayerLink,
    HeadMean,
    HopMean,
    HopState,
    ReLU,
    RowCopies,
    heads_of,
)
from agnn.kernels._neighbour_sample import sample_neighbours
from agnn.kernels._part_rows import FACTS, Matrices, PartRows, Runs, check_betas, part_rows
from agnn.kernels._propagate import PropagateLink, propagate
from agnn.kernels._random_walk import random_walks
from agnn.kernels._runtime.memory import recycled_memory
from agnn.kernels._self_check import self_check
from agnn.kernels._shared_linear import SharedLinearLink
from agnn.kernels._skip_gram import (
    Descent,
    hierarchical_skip_gram,
    negative_skip_gram,
    pair_skip_gram,
)
from agnn.kernels._sparse_linear import SparseLinearLink, sparse_linear
from agnn.kernels._weighted_sum import WeightedSumLink, weighted_sum

__all__ = [
    "BACKENDS",
    "ELU",
    "FACTS",
    "AdditiveAttentionLink",
    "Anchor",
    "Attention",
    "Bias",
    "Blend",
    "Cast",
    "CosineAttentionLink",
    "CrossEntropyLink",
    "DenseLinearLink",
    "Descent",
    "Dropout",
    "DropoutAt",
    "DropoutLink",
    "FirstLayerLink",
    "FirstStates",
    "HeadMean",
    "HopMean",
    "HopState",
    "Link",
    "Matrices",
    "PartRows",
    "PropagateLink",
    "ReLU",
    "RowCopies",
    "RowDropoutLink",
    "Runs",
    "SharedLinearLink",
    "SparseLinearLink",
    "TorchLink",
    "WeightedSumLink",
    "adam_step",
    "check_betas",
    "choose",
    "consistency",
    "cosine_attention",
    "counter_words",
    "cross_entropy",
    "dense_linear",
    "dropout",
    "for_versions",
    "heads_of",
    "hierarchical_skip_gram",
    "hold_gate",
    "holding",
    "is_holding",
    "negative_skip_gram",
    "obstacle",
    "openmp_obstacle",
    "pair_skip_gram",
    "part_rows",
    "propagate",
    "random_walks",
    "random_words",
    "recycled_memory",
    "run_chain",
    "sample_neighbours",
    "self_check",
    "sparse_linear",
    "stream_key",
    "weighted_sum",
]
