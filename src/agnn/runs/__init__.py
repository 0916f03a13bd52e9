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

from agnn.runs._devices import (
    find_device as find_device,
    machine as machine,
    machine_words as machine_words,
    versions as versions,
)
from agnn.runs._folder import keep_elsewhere as keep_elsewhere, save_run as save_run
from agnn.runs._label_file import (
    LabelEntry as LabelEntry,
    LabelFile as LabelFile,
    labels_csv as labels_csv,
    last_labels as last_labels,
    read_labels as read_labels,
)
from agnn.runs._loading import load_run as load_run, run_files as run_files
from agnn.runs._plan import Plan as Plan
from agnn.runs._predictions import Predictions as Predictions
from agnn.runs._predictor import KnownResults as KnownResults
from agnn.runs._presets import (
    prepare as prepare,
    preset_method as preset_method,
    replica_seeds as replica_seeds,
    seeds_of_replicas as seeds_of_replicas,
)
from agnn.runs._retrain import (
    accuracy_before_and_after as accuracy_before_and_after,
    accuracy_difference as accuracy_difference,
    retrain as retrain,
    retrain_plan as retrain_plan,
    train_again as train_again,
)
from agnn.runs._run import Run as Run
from agnn.runs._summary import ResultSummary as ResultSummary
from agnn.runs._training import (
    Training as Training,
    evaluate as evaluate,
)
