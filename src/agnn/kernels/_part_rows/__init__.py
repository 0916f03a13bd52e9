"""Rows of one rank's part of a graph, computed in runs."""
