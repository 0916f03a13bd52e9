"""One operation: `op.py` has its interface, `reference.py` its definition."""
