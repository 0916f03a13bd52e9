"""Rows with mean 0 and variance 1 on a GPU: by torch's kernels."""

from agnn.kernels._layer_norm import backward as backward, forward as forward
