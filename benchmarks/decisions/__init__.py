"""Figures of `agnn.decisions`."""
