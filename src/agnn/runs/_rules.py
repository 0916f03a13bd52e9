"""Which options of a training go together, and what its splits must have to be scored on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agnn.choosing import Search
from agnn.data import NodeData, Split
from agnn.distributed import Division, PartsFolder
from agnn.errors import InputError
from agnn.executors import LaunchedRank, parse_executor
from agnn.methods import Method
from agnn.metrics import check_metric
from agnn.options import flag_of, seconds_of

if TYPE_CHECKING:
    from agnn.runs._training import Training


def both_names(name: str) -> str:
    """Return a field as messages name it: the keyword, and the option of the command line."""
    return f"`{name}` ({flag_of(name)})"


def _auto_chooses_alone(training: Training) -> None:
    for name in (
        *training.given_changes,
        *(n for n in ("tuned", "search", "quick") if getattr(training, n)),
    ):
        if training.is_auto:
            raise InputError(f"the method auto chooses the settings; leave out {both_names(name)}.")
    for name in ("checkpoint", "resume", "checkpoints"):
        if training.is_auto and getattr(training, name):
            raise InputError(
                f"{both_names(name)} does not go with the method auto, which would choose again."
            )
    for name in ("time_limit", "nested"):
        if not training.is_auto and getattr(training, name):
            raise InputError(f"{both_names(name)} goes with the method auto (--method auto).")


def _one_chooser(training: Training) -> None:
    if training.search is not None and training.tuned:
        raise InputError(
            "`search` (--search) and `tuned` (--tuned) both choose settings; leave one out."
        )
    if training.executor is not None and training.search is None:
        raise InputError(
            "`executor` (--executor) trains the candidates of a search (--search); without one "
            "leave it out."
        )
    if isinstance(training.executor, str):
        parse_executor(training.executor)
    if training.tuned and isinstance(training.method, Method):
        raise InputError(
            "`tuned` (--tuned) takes a method by its name; give `Tuned(method)` instead."
        )


def _progress_has_a_limit(training: Training) -> None:
    if training.given_changes.get("stop_on") and not training.given_changes.get("stop_after"):
        raise InputError(
            "`stop_on` (--stop-on) goes with `stop_after` (--stop-after), the number of epochs to "
            "wait."
        )


def _one_set_of_seeds(training: Training) -> None:
    if training.seeds is not None and training.replicas is not None:
        raise InputError("give `seeds` or `replicas`, not both.")


def _divided_trainings(training: Training) -> None:
    is_torchrun = LaunchedRank.current() is not None
    if training.divide not in (None, *Division.AXES):
        raise InputError(f"{both_names('divide')} takes rows or replicas; got '{training.divide}'.")
    if training.wire not in Division.WIRES:
        wires = " or ".join(Division.WIRES)
        raise InputError(f"{both_names('wire')} takes {wires}; got '{training.wire}'.")
    if is_torchrun and (training.divide == "replicas" or training.ranks is not None):
        raise InputError("torchrun divides the rows; leave --ranks and --divide out.")
    is_divided = is_torchrun or training.ranks is not None or training.parts is not None
    if not is_divided and (training.divide is not None or training.wire != "float32"):
        raise InputError("--divide and --wire are for trainings with --ranks or torchrun.")
    if training.unseen and is_divided:
        raise InputError(
            f"{both_names('unseen')} trains on graphs in the memory of one process; leave out "
            f"--ranks, torchrun and folders of parts."
        )
    choosers = {"--search": training.search is not None, "--method auto": training.is_auto}
    for option, is_given in choosers.items():
        if is_given and (training.parts is not None or is_torchrun):
            raise InputError(
                f"{option} trains many models, each on a whole graph; for a folder of parts or "
                f"under torchrun, name the method and its settings."
            )


def _folders(training: Training) -> None:
    for name in ("checkpoint", "resume"):
        if getattr(training, name) and training.out is None:
            raise InputError(
                f"{both_names(name)} needs `out` (--out): checkpoints are kept beside that folder."
            )
    if training.parts is not None and not PartsFolder.is_at(training.parts):
        raise InputError(
            f"'{training.parts}' is not a folder of parts, which `agnn partition` writes."
        )


def _known_values(training: Training) -> None:
    if training.metric is not None:
        check_metric(training.metric)
    if training.checkpoint is not None:
        seconds_of(training.checkpoint, "--checkpoint")
    if training.time_limit is not None:
        seconds_of(training.time_limit, "--time")
    if training.search is not None:
        Search(training.search, Path(training.search_file))


# Which options go together: all such rules, in the order in which they are checked.
RULES: Final[tuple[Callable[[Training], None], ...]] = (
    _one_set_of_seeds,
    _one_chooser,
    _auto_chooses_alone,
    _progress_has_a_limit,
    _divided_trainings,
    _folders,
    _known_values,
)


def check_scorable(
    data: NodeData, splits: Sequence[Split], metric: str | None, passes: Sequence[int]
) -> None:
    """Raise for a split without test nodes, and for one whose AUC would not be defined.

    Cross-fitted replicas are measured together, by pass.
    """
    for split in splits:
        if split.test.size == 0:
            raise InputError(f"the split '{split.name}' has no test nodes to score on.")
        if passes:
            continue
        for part in ("validation", "test") if metric == "auc" else ():
            labels = data.labels[split.parts[part]]
            if labels.size and (labels == labels[0]).all():
                raise InputError(
                    f"AUC needs nodes of two classes, but all {labels.size} {part} nodes of the "
                    f"split '{split.name}' are of class '{data.class_names[labels[0]]}'. Use "
                    f"another metric, such as log_loss, or a stratified split."
                )
