"""Trackers: trainings recorded by TensorBoard, MLflow or Weights & Biases.

Each is a `Callback`, given to `agnn.evaluate(..., callbacks=[...])` or named on the command line
(`agnn train --track tensorboard:logs`). A tracker records the hyper-parameters, after every epoch
the mean over the replicas of what was measured, and in the end the test accuracy. The packages are
extras: `pip install 'agnn[tensorboard]'`, `'agnn[mlflow]'`, `'agnn[wandb]'`.

>>> from agnn.trackers import tracker
>>> tracker("tensorboard:logs")
TensorBoard(folder='logs', every=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agnn.errors import import_extra, unknown_name
from agnn.runs import Run
from agnn.training import Callback, EpochReport


@dataclass
class TensorBoard(Callback):
    """Event files for TensorBoard: `tensorboard --logdir FOLDER` shows them."""

    folder: str = "runs/tensorboard"
    every: int = 1
    _writer: Any = field(default=None, init=False, repr=False)
    _about: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False)

    def start(self, about: Mapping[str, Any]) -> None:
        """Open a new file in the folder."""
        _package("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self._about = about
        self._writer = SummaryWriter(self.folder)

    def epoch(self, report: EpochReport) -> None:
        """Write the means over the replicas."""
        for name, value in report.means().items():
            self._writer.add_scalar(name, value, report.epoch)

    def finish(self, run: Run) -> None:
        """Write hyper-parameters and results, and close the file."""
        self._writer.add_hparams(_flat(self._about), _results(run), run_name=".")
        self._writer.close()


@dataclass
class MLflow(Callback):
    """A run of MLflow at a tracking URI; by default that of the environment."""

    uri: str | None = None
    experiment: str = "agnn"
    every: int = 1
    _client: Any = field(default=None, init=False, repr=False)
    _id: str = field(default="", init=False, repr=False)

    def start(self, about: Mapping[str, Any]) -> None:
        """Begin a run and record the hyper-parameters."""
        mlflow = _package("mlflow")
        # A client of its own: the program's own active run and tracking URI stay as they are.
        self._client = mlflow.MlflowClient(self.uri)
        existing = self._client.get_experiment_by_name(self.experiment)
        if existing is None:
            experiment = self._client.create_experiment(self.experiment)
        else:
            experiment = existing.experiment_id
        name = f"{about['method']} on {about['dataset']}"
        self._id = self._client.create_run(experiment, run_name=name).info.run_id
        for name, value in _flat(about).items():
            self._client.log_param(self._id, name, value)

    def epoch(self, report: EpochReport) -> None:
        """Record the means over the replicas."""
        for name, value in report.means().items():
            self._client.log_metric(self._id, name, value, step=report.epoch)

    def finish(self, run: Run) -> None:
        """Record the results and end the run."""
        for name, value in _results(run).items():
            self._client.log_metric(self._id, name, value)
        for name, value in {**run.versions, **run.machine}.items():
            self._client.set_tag(self._id, name, str(value))
        self._client.set_terminated(self._id)


@dataclass
class WandB(Callback):
    """A run of Weights & Biases; `mode="offline"` writes to a folder and needs no account."""

    project: str = "agnn"
    mode: str | None = None  # None: that of the environment, WANDB_MODE
    folder: str | None = None
    every: int = 1
    _run: Any = field(default=None, init=False, repr=False)

    def start(self, about: Mapping[str, Any]) -> None:
        """Begin a run with the hyper-parameters as its configuration."""
        wandb = _package("wandb")
        self._run = wandb.init(
            project=self.project, mode=self.mode, dir=self.folder, config=_flat(about)
        )

    def epoch(self, report: EpochReport) -> None:
        """Record the means over the replicas."""
        self._run.log(report.means(), step=report.epoch)

    def finish(self, run: Run) -> None:
        """Record the results and end the run."""
        self._run.summary.update(_results(run))
        self._run.finish()


_KINDS: Final[Mapping[str, Callable[[str], Callback]]] = {
    "tensorboard": lambda folder: TensorBoard(folder) if folder else TensorBoard(),
    "mlflow": lambda uri: MLflow(uri or None),
    "wandb": lambda project: WandB(project) if project else WandB(),
}


def tracker(description: str) -> Callback:
    """Return the tracker for "tensorboard:FOLDER", "mlflow:URI" or "wandb:PROJECT".

    What follows the colon may be left out. Raises at once if its package is not installed.
    """
    kind, _, target = description.partition(":")
    if kind not in _KINDS:
        raise unknown_name("tracker", kind, _KINDS)
    _package(kind)
    return _KINDS[kind](target)


def _package(name: str) -> Any:
    return import_extra(name, "trainings are recorded with it", f"agnn[{name}]")


def _flat(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything by one name, as trackers take it: numbers, switches and texts."""
    values = {**about, **about["hyper_parameters"]}
    del values["hyper_parameters"]
    return {
        name: value if isinstance(value, bool | int | float | str) else str(value)
        for name, value in values.items()
    }


def _results(run: Run) -> dict[str, float]:
    results = {"test_accuracy": run.accuracy.mean, "seconds": run.seconds}
    if run.accuracy.standard_error is not None:
        results["test_accuracy_standard_error"] = run.accuracy.standard_error
    return results
