"""Training a method on splits and seeds, the run that results, and runs on disk."""

from agnn.runs.class_weights import ClassWeight
from agnn.runs.devices import find_device, versions
from agnn.runs.run import Run, evaluate, preset_method, replica_seeds, suited_method
from agnn.runs.run_folder import run_config, save_run
from agnn.runs.run_history import stored_history
from agnn.runs.saved_run import SavedRun, check_data, load_run, stored_data, stored_scores
from agnn.runs.search import Search, searched

__all__ = [
    "ClassWeight",
    "Run",
    "SavedRun",
    "Search",
    "check_data",
    "evaluate",
    "find_device",
    "load_run",
    "preset_method",
    "replica_seeds",
    "run_config",
    "save_run",
    "searched",
    "suited_method",
    "stored_data",
    "stored_history",
    "stored_scores",
    "versions",
]
