"""Repeated runs, their accuracy with its uncertainty, and runs on disk."""

from agnn.evaluation.calibration import (
    Calibration,
    Reliability,
    calibrated,
    fitted_temperature,
    reliability,
)
from agnn.evaluation.class_weights import ClassWeight
from agnn.evaluation.devices import find_device, versions
from agnn.evaluation.ensemble import Ensemble, ensemble_of, held_out
from agnn.evaluation.output_file import check_output_file, write_new_file
from agnn.evaluation.run import Run, evaluate, preset_method, replica_seeds, setting_of
from agnn.evaluation.run_folder import check_output_folder, run_config, save_run
from agnn.evaluation.run_history import stored_history
from agnn.evaluation.saved_run import SavedRun, check_data, load_run, stored_data, stored_scores
from agnn.evaluation.search import Search, searched
from agnn.evaluation.summary import Summary

__all__ = [
    "Calibration",
    "ClassWeight",
    "Ensemble",
    "Reliability",
    "Run",
    "SavedRun",
    "Search",
    "Summary",
    "calibrated",
    "check_data",
    "check_output_file",
    "check_output_folder",
    "ensemble_of",
    "evaluate",
    "find_device",
    "fitted_temperature",
    "held_out",
    "load_run",
    "preset_method",
    "reliability",
    "replica_seeds",
    "run_config",
    "save_run",
    "searched",
    "setting_of",
    "stored_data",
    "stored_history",
    "stored_scores",
    "versions",
    "write_new_file",
]
