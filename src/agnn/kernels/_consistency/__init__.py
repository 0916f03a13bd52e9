"""Consistency of predictions: `op.py` is the public entry, `reference.py` the definition."""
