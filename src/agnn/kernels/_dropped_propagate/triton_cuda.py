"""Propagation with dropped entries on a GPU: the weights are drawn first, and kept."""

from agnn.kernels._dropout import triton_cuda as dropout
from agnn.kernels._dropped_propagate import DrawnFirst
from agnn.kernels._weighted_sum import triton_cuda as weighted_sum

_forms = DrawnFirst(dropout, weighted_sum)
forward = _forms.forward
backward = _forms.backward
