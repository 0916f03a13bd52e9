"""Repeated runs, their accuracy with its uncertainty, and runs on disk."""

from agnn.evaluation.devices import find_device, versions
from agnn.evaluation.run import Run, evaluate, preset_method, replica_seeds, setting_of
from agnn.evaluation.run_folder import (
    SavedRun,
    check_data,
    check_output_folder,
    load_run,
    save_run,
)
from agnn.evaluation.summary import Summary

__all__ = [
    "Run",
    "SavedRun",
    "Summary",
    "check_data",
    "check_output_folder",
    "evaluate",
    "find_device",
    "load_run",
    "preset_method",
    "replica_seeds",
    "save_run",
    "setting_of",
    "versions",
]
