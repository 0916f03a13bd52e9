"""A table that runs in a moment, and a run that was never run."""

from __future__ import annotations

from agnn.studies._reading import read_experiment
from agnn.studies._spec import Table
from agnn.studies._store import StoredRun

SMALL = """
title = "Small"
place = "Test"
seeds = 3

[[columns]]
title = "Cora"
dataset = "cora"
[[columns]]
title = "CiteSeer"
dataset = "citeseer"

[[rows]]
title = "AGNN"
method = "agnn"
paper = ["83.1 ± 0.08", ""]
fields = { epochs = 3 }
[[rows]]
title = "Not yet"
method = "not_yet"
paper = ["", "70.0"]
"""


def small_table(text: str = SMALL) -> Table:
    table = read_experiment("small", text, "small.toml")
    assert isinstance(table, Table)
    return table


def stored_run(**changes: object) -> StoredRun:
    values: dict[str, object] = {
        "spec": "s", "data": "d", "seed": 0, "experiment": "small", "method": "agnn",
        "dataset": "cora", "split": "fixed", "accuracy": 81.5, "selected_epochs": [3],
        "betas": [[0.0, 1.5]], "extra": {}, "versions": {"agnn": "0"}, "device": "cpu",
        "backend": "numba", "seconds": 0.25, "machine": {},
    }  # fmt: skip
    return StoredRun(**(values | changes))  # type: ignore[arg-type]
