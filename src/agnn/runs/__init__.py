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

from agnn.runs._devices import find_device, machine, machine_words, versions
from agnn.runs._duration import seconds_of
from agnn.runs._folder import keep_elsewhere, save_run
from agnn.runs._label_file import LabelFile, labels_csv, read_labels
from agnn.runs._loading import load_run, run_files
from agnn.runs._plan import Plan, is_first_rank
from agnn.runs._predictions import Predictions, check_table_file, id_name
from agnn.runs._predictor import KnownResults
from agnn.runs._presets import (
    default_name,
    prepare,
    preset_method,
    replica_seeds,
    seeds_of_replicas,
)
from agnn.runs._retrain import (
    accuracy_before_and_after,
    accuracy_difference,
    retrain,
    retrain_plan,
    train_again,
)
from agnn.runs._run import Run
from agnn.runs._summary import ResultSummary
from agnn.runs._training import (
    USUAL_REPLICAS,
    Training,
    evaluate,
    usual_replicas,
)

__all__ = [
    "USUAL_REPLICAS",
    "KnownResults",
    "LabelFile",
    "Plan",
    "Predictions",
    "ResultSummary",
    "Run",
    "Training",
    "accuracy_before_and_after",
    "accuracy_difference",
    "check_table_file",
    "default_name",
    "evaluate",
    "find_device",
    "id_name",
    "is_first_rank",
    "keep_elsewhere",
    "labels_csv",
    "load_run",
    "machine",
    "machine_words",
    "prepare",
    "preset_method",
    "read_labels",
    "replica_seeds",
    "retrain",
    "retrain_plan",
    "run_files",
    "save_run",
    "seconds_of",
    "seeds_of_replicas",
    "train_again",
    "usual_replicas",
    "versions",
]
