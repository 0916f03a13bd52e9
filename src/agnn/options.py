"""What can be said about a training, declared once.

The fields of `TrainingOptions` are the keywords of `agnn.evaluate`, the options of `agnn train` and
the keys of its configuration files. Nothing heavy is imported here: help and mistakes on the
command line are answered at once.

>>> from dataclasses import fields
>>> from agnn.options import TrainingOptions
>>> [field.name for field in fields(TrainingOptions)][:4]
['method', 'split', 'replicas', 'seed']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_type_hints

__all__ = ["AUTO", "RESULTS", "Option", "TrainingOptions", "flag_of"]

AUTO: Final = "auto"  # in place of a method: the one that validation nodes choose


@dataclass(frozen=True, kw_only=True)
class Option:
    """How a field is offered on the command line."""

    help: str
    panel: str
    kind: Any = None  # type of the value there; None: the field's
    flag: str | None = None  # None: the field's name
    shown_default: str | None = None  # in words, where the default is None
    default: Any = None  # on the command line, where it is not the field's
    is_common: bool = False  # shown by --help; the others by --help-all


_METHOD: Final = "Method"
_CHOOSING: Final = "Choosing settings"
_COMPUTING: Final = "Computing"
RESULTS: Final = "Results and files"


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingOptions:
    """Everything about a training but the data."""

    method: Annotated[
        object,
        Option(
            kind=str | None,
            help="A method (`agnn methods` lists them), or auto: the best of many, with its "
            "settings, on held-out labels.",
            shown_default="agnn on the paper's datasets; on any other graph agnn_plus, unless "
            "held-out labels clearly prefer agnn, appnp, separated or ridge",
            panel=_METHOD,
            is_common=True,
        ),
    ] = None
    split: Annotated[
        object,
        Option(
            kind=str | None,
            help="fixed, own, time, group, cross-fit, stratified, uniform, balanced, 20-per-class, "
            "10-fold, 10-fold-nested, stratified-5-fold (any number), or a .json file.",
            shown_default="the data's own; without one cross-fit",
            panel=_METHOD,
            is_common=True,
        ),
    ] = None
    replicas: Annotated[
        int | None,
        Option(
            help="Models to train, each with its own seed; with folds, trials. Cross-fitting has "
            "one per fold, and more are further passes with other folds.",
            shown_default="10; cross-fitted 5 where an epoch takes long",
            panel=_METHOD,
            is_common=True,
        ),
    ] = None
    seed: Annotated[
        int,
        Option(
            help="Seed of the first replica; the others count up from it.",
            panel=_METHOD,
            is_common=True,
        ),
    ] = 0
    changes: Annotated[
        Mapping[str, Any] | None,
        Option(
            kind=list[str] | None,
            flag="--set",
            help="NAME=VALUE: any hyper-parameter of the method (`agnn methods NAME` lists them); "
            "may be repeated.",
            shown_default="the preset's",
            panel=_METHOD,
            is_common=True,
        ),
    ] = None
    class_weight: Annotated[
        object,
        Option(
            kind=list[str] | None,
            help="'balanced' to give rare classes as much weight as common ones, or NAME=WEIGHT; "
            "may be repeated.",
            shown_default="every node has the same weight",
            panel=_METHOD,
            is_common=True,
        ),
    ] = None
    metric: Annotated[
        str | None,
        Option(
            help="Choose epochs and settings by this on validation nodes: accuracy, "
            "balanced_accuracy, f1, auc or log_loss.",
            shown_default="the method's own rule",
            panel=_CHOOSING,
            is_common=True,
        ),
    ] = None
    time_limit: Annotated[
        str | float | None,
        Option(
            kind=str | None,
            flag="--time",
            help="For --method auto: time for the choice and the training, as in 90s or 10m.",
            shown_default="10m",
            panel=_CHOOSING,
            is_common=True,
        ),
    ] = None
    quick: Annotated[
        bool,
        Option(
            help="A first look: three replicas with narrow states and few epochs, and no other "
            "method is tried.",
            panel=_CHOOSING,
            is_common=True,
        ),
    ] = False
    nested: Annotated[
        bool,
        Option(
            help="For --method auto: also repeat the whole choice on three splits, for an "
            "unbiased estimate of it; takes as much time again.",
            panel=_CHOOSING,
        ),
    ] = False
    unseen: Annotated[
        bool,
        Option(
            help="Also train without the tested nodes in the graph, for the accuracy on nodes "
            "that come later; takes as much time again.",
            panel=_CHOOSING,
        ),
    ] = False
    tuned: Annotated[
        bool,
        Option(help="Choose from the method's grid on validation nodes.", panel=_CHOOSING),
    ] = False
    search: Annotated[
        int | None,
        Option(
            help="Number of hyper-parameter settings to try first, scored on validation nodes.",
            shown_default="none",
            panel=_CHOOSING,
            is_common=True,
        ),
    ] = None
    search_file: Annotated[
        str | Path,
        Option(
            kind=Path,
            help="SQLite file that keeps the search; the same command continues it.",
            panel=_CHOOSING,
        ),
    ] = Path("agnn-search.sqlite")
    device: Annotated[str, Option(help="auto, cpu or cuda.", panel=_COMPUTING, is_common=True)] = (
        "auto"
    )
    backend: Annotated[str, Option(help="auto, reference, numba or triton.", panel=_COMPUTING)] = (
        "auto"
    )
    threads: Annotated[
        int | None,
        Option(
            help="Threads to compute with, or of each worker.",
            shown_default="torch's choice",
            panel=_COMPUTING,
        ),
    ] = None
    executor: Annotated[
        object,
        Option(
            kind=str | None,
            help="Workers that train: local:N (processes), dask:ADDRESS (of a Dask scheduler; or "
            "its file), or dask (on this machine).",
            shown_default="this process",
            panel=_COMPUTING,
        ),
    ] = None
    ranks: Annotated[
        int | None,
        Option(
            help="Processes to divide the training among. torchrun starts them on several "
            "machines.",
            shown_default="this one alone",
            panel=_COMPUTING,
        ),
    ] = None
    divide: Annotated[
        str | None,
        Option(
            help="What the ranks divide: rows of the graph, or replicas.",
            shown_default="replicas, if there are as many as ranks",
            panel=_COMPUTING,
        ),
    ] = None
    wire: Annotated[
        str,
        Option(
            help="Type of states on their way between ranks: float32 or bfloat16.",
            panel=_COMPUTING,
        ),
    ] = "float32"
    out: Annotated[
        str | Path | None,
        Option(
            kind=Path | None,
            help="A new folder for the weights and results.",
            panel=RESULTS,
            is_common=True,
        ),
    ] = None
    checkpoint: Annotated[
        str | float | None,
        Option(
            kind=str | None,
            help="Time between checkpoints, such as 30s or 5m. They are in OUT.checkpoint until "
            "the training is done.",
            shown_default="5m for trainings of over ten minutes",
            panel=RESULTS,
        ),
    ] = None
    resume: Annotated[
        bool,
        Option(help="Continue the training of OUT.checkpoint.", panel=RESULTS, is_common=True),
    ] = False
    callbacks: Annotated[
        Sequence[Any],
        Option(
            kind=list[str] | None,
            flag="--track",
            help="Record the training: tensorboard:FOLDER, mlflow:URI or wandb:PROJECT; may be "
            "repeated.",
            panel=RESULTS,
        ),
    ] = ()


def flag_of(name: str) -> str:
    """Return the option of the command line that sets a field, or a hyper-parameter.

    >>> flag_of("time_limit"), flag_of("weight_decay")
    ('--time', '--weight-decay')
    """
    hint = get_type_hints(TrainingOptions, include_extras=True).get(name)
    about = None if hint is None else get_args(hint)[1]
    return (about and about.flag) or f"--{name.replace('_', '-')}"
