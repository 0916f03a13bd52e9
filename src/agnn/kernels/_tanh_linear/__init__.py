"""One kernel: `op.py` is its door, `reference.py` its definition."""
