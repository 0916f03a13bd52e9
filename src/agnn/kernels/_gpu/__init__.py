"""What the Triton kernels share: tiles, gathers, sparse products, sums."""
