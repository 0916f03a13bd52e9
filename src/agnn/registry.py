"""Runs in MLflow's model registry, as models that `mlflow.pyfunc` loads.

`save_model` and `log_model` are the functions of MLflow's flavours. The model is the folder of the
run: JSON, arrays and safetensors, no pickle. `mlflow.pyfunc.load_model(...).predict(frame)` gives
the same table as `agnn predict`. The package is an extra: `pip install 'agnn[mlflow,tables]'`.

    >>> from agnn.registry import log_model, save_model
    >>> save_model("runs/accounts", "model")  # doctest: +SKIP
    >>> import mlflow.pyfunc  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model("model").predict(frame)  # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import agnn
from agnn.errors import InputError, import_extra
from agnn.files import check_new_folder
from agnn.runs import Run, load_run

__all__ = ["RunModel", "log_model", "save_model"]

_PACKAGE: Final = ("mlflow.pyfunc", "models are kept with it", "agnn[mlflow,tables]")
NEIGHBOURS: Final = "neighbours"  # the column that makes new nodes of the rows of a frame


def save_model(run: Run | Path | str, path: Path | str) -> None:
    """Write a run, or the folder of one, as an MLflow model to a new folder."""
    pyfunc = import_extra(*_PACKAGE)
    check_new_folder(path)
    with TemporaryDirectory() as drafts:
        pyfunc.save_model(path=str(path), **_model(run, Path(drafts)))


def log_model(run: Run | Path | str, name: str = "model", **options: Any) -> Any:
    """Log a run, or the folder of one, as a model of MLflow's active run; gives its information.

    The options are those of `mlflow.pyfunc.log_model`: `registered_model_name="papers"` registers
    it.
    """
    pyfunc = import_extra(*_PACKAGE)
    with TemporaryDirectory() as drafts:
        return pyfunc.log_model(name=name, **_model(run, Path(drafts)), **options)


class RunModel:
    """What `mlflow.pyfunc.load_model` calls: a run that takes and gives data frames."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the table of `agnn predict` for the rows of a frame.

        A frame with the column of ids asks for nodes of the training data; one without rows for all
        of them. With the column `neighbours`, a list of ids in each row, its rows are new nodes,
        and the other columns are those of the table that the run was trained on.
        """
        del params  # a part of MLflow's protocol
        from agnn.data.tables import DataFrame

        frame = frame if isinstance(frame, DataFrame) else DataFrame(frame)
        if not len(frame):
            return DataFrame(self.run.predict().to_dict())
        id_name = self.run.data.id_name
        name = id_name if id_name in frame.columns else "id"
        if name not in frame.columns:
            raise InputError(f"the frame has no column of ids, '{id_name}'.")
        ids = frame[name].tolist()
        if NEIGHBOURS not in frame.columns:
            return DataFrame(self.run.predict(ids).to_dict())
        pairs = [
            (node, neighbour)
            for node, neighbours in zip(ids, frame[NEIGHBOURS], strict=True)
            for neighbour in neighbours
        ]
        edges = DataFrame(pairs, columns=["source", "target"])
        nodes = frame.drop(columns=[NEIGHBOURS])
        predictions = self.run.predict_new(
            nodes, edges, node_id=name, source="source", target="target"
        )
        return DataFrame(predictions.to_dict())


def _load_pyfunc(path: str) -> RunModel:
    """Return the model in a folder; MLflow finds this function by its name."""
    return RunModel(load_run(path))


def _model(run: Run | Path | str, drafts: Path) -> dict[str, Any]:
    """Return the arguments of MLflow's functions; a run in memory is written to `drafts`."""
    if isinstance(run, Run):
        run.save(drafts / "run")
        run = drafts / "run"
    else:
        load_run(run)  # or MLflow would take any folder
    return {
        "loader_module": __name__,
        "data_path": str(run),
        "pip_requirements": [f"agnn[tables]=={agnn.__version__}"],
    }
