"""Ours against torch_geometric: run `python -m benchmarks` from the root of the repository."""
