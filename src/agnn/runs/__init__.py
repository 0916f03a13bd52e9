"""Runs: training a method on a graph, and everything that follows from it.

`evaluate` trains replicas of a method and returns a `Run`. A run predicts known and new nodes,
explains its predictions, and is saved to a folder from which `load_run` gives the same object back.

>>> import tempfile
>>> import agnn
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("gcn", cora, split="fixed", replicas=2, changes={"epochs": 5})
>>> run.predict(["1131150"]).classes.shape
(1,)
>>> with tempfile.TemporaryDirectory() as folder:
...     run.save(f"{folder}/cora")
...     again = agnn.load_run(f"{folder}/cora")
>>> again.seeds, again.accuracy == run.accuracy
((0, 1), True)
"""

from agnn.runs._auto import AUTO, Choice, Tried
from agnn.runs._baselines import BaselineComparison
from agnn.runs._class_weights import ClassWeight, class_weights, rare_class_warning
from agnn.runs._devices import find_device, machine, machine_words, versions
from agnn.runs._duration import seconds_of
from agnn.runs._evaluate import (
    Plan,
    auto_plan,
    default_name,
    evaluate,
    nested_estimate,
    plan,
    prepare,
    preset_method,
    replica_seeds,
    seeds_of_replicas,
    suited_method,
)
from agnn.runs._folder import folder_size, keep_elsewhere, load_run, run_files, save_run
from agnn.runs._label_file import Given, LabelFile, labels_csv, read_labels
from agnn.runs._parts import parts_data, parts_method, whole_run
from agnn.runs._predictions import Predictions, check_table_file
from agnn.runs._retrain import (
    accuracy_before_and_after,
    accuracy_difference,
    retrain,
    retrain_plan,
)
from agnn.runs._run import Run
from agnn.runs._search import Search, optimism, searched
from agnn.runs._search_space import can_search

__all__ = [
    "AUTO",
    "BaselineComparison",
    "Choice",
    "ClassWeight",
    "Given",
    "LabelFile",
    "Plan",
    "Predictions",
    "Run",
    "Search",
    "Tried",
    "accuracy_before_and_after",
    "accuracy_difference",
    "auto_plan",
    "can_search",
    "check_table_file",
    "class_weights",
    "default_name",
    "evaluate",
    "find_device",
    "folder_size",
    "keep_elsewhere",
    "labels_csv",
    "load_run",
    "machine",
    "machine_words",
    "nested_estimate",
    "optimism",
    "parts_data",
    "parts_method",
    "plan",
    "prepare",
    "preset_method",
    "rare_class_warning",
    "read_labels",
    "replica_seeds",
    "retrain",
    "retrain_plan",
    "run_files",
    "save_run",
    "searched",
    "seconds_of",
    "seeds_of_replicas",
    "suited_method",
    "versions",
    "whole_run",
]
