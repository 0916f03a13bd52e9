"""What can be said about a training, and about decisions on its predictions, declared once.

The fields of `TrainingOptions` are the keywords of `agnn.evaluate`, the options of `agnn train` and
the keys of its configuration files; those of `DecisionOptions` are options of `agnn predict`.
Nothing heavy is imported here: help and mistakes on the command line are answered at once.

>>> from dataclasses import fields
>>> from agnn.options import TrainingOptions
>>> [field.name for field in fields(TrainingOptions)][:4]
['method', 'split', 'replicas', 'seed']
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_type_hints

from agnn.errors import InputError

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}  # in seconds
AUTO: Final = "auto"  # in place of a method: the one that validation nodes choose
USUAL_TIME: Final = "10m"  # for that choice and the training


@dataclass(frozen=True)
class Option:
    """How a field is offered on the command line."""

    help: str
    panel: str | None
    _: KW_ONLY
    kind: Any = None  # type of the value there; None: the field's
    flag: str | None = None  # None: the field's name
    alias: str | None = None  # another flag for the same
    shown_default: str | None = None  # in words, where the default is None
    default: Any = None  # on the command line, where it is not the field's
    is_common: bool = False  # shown by --help; the others by --help-all

    def flag_of(self, name: str) -> str:
        """Return the option that sets the field of this name."""
        return self.flag or f"--{name.replace('_', '-')}"


RESULTS: Final = "Results and files"  # a panel
TABLES: Final = "Your own tables"  # likewise
_method = partial(Option, panel="Method", is_common=True)
_choosing = partial(Option, panel="Choosing settings")
_computing = partial(Option, panel="Computing")
_results = partial(Option, panel=RESULTS)
_decisions = partial(Option, panel="Decisions, calibrated on labels that chose nothing")


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingOptions:
    """Everything about a training but the data."""

    method: Annotated[
        object,
        _method(
            "A method (`agnn methods` lists them), or auto: the best of many, with its "
            "settings, on held-out labels.",
            kind=str | None,
            shown_default="agnn on the paper's datasets; on any other graph agnn_plus, unless "
            "held-out labels clearly prefer agnn, appnp, separated or ridge",
        ),
    ] = None
    split: Annotated[
        object,
        _method(
            "fixed, own, time, group, cross-fit, stratified, uniform, balanced, 20-per-class, "
            "10-fold, 10-fold-nested, stratified-5-fold (any number), or a .json file.",
            kind=str | None,
            shown_default="the data's own; without one cross-fit",
        ),
    ] = None
    replicas: Annotated[
        int | None,
        _method(
            "Models to train, each with its own seed; with folds, trials. Cross-fitting has "
            "one per fold, and more are further passes with other folds.",
            shown_default="10; cross-fitted 5 where an epoch takes long",
        ),
    ] = None
    seed: Annotated[int, _method("Seed of the first replica; the others count up from it.")] = 0
    changes: Annotated[
        Mapping[str, Any] | None,
        _method(
            "NAME=VALUE: any hyper-parameter of the method (`agnn methods NAME` lists them); "
            "may be repeated.",
            kind=list[str] | None,
            flag="--set",
            shown_default="the preset's",
        ),
    ] = None
    class_weight: Annotated[
        object,
        _method(
            "'balanced' to give rare classes as much weight as common ones, or NAME=WEIGHT; "
            "may be repeated.",
            kind=list[str] | None,
            shown_default="every node has the same weight",
        ),
    ] = None
    metric: Annotated[
        str | None,
        _choosing(
            "Choose epochs and settings by this on validation nodes: accuracy, "
            "balanced_accuracy, f1, auc or log_loss.",
            shown_default="the method's own rule",
            is_common=True,
        ),
    ] = None
    time_limit: Annotated[
        str | float | None,
        _choosing(
            "For --method auto: time for the choice and the training, as in 90s or 10m.",
            kind=str | None,
            flag="--time",
            shown_default=USUAL_TIME,
            is_common=True,
        ),
    ] = None
    quick: Annotated[
        bool,
        _choosing(
            "A first look: three replicas with narrow states and few epochs, and no other "
            "method is tried.",
            is_common=True,
        ),
    ] = False
    nested: Annotated[
        bool,
        _choosing(
            "For --method auto: also repeat the whole choice on three splits, for an "
            "unbiased estimate of it; takes as much time again."
        ),
    ] = False
    unseen: Annotated[
        bool,
        _choosing(
            "Also train without the tested nodes in the graph, for the accuracy on nodes "
            "that come later; takes as much time again."
        ),
    ] = False
    tuned: Annotated[bool, _choosing("Choose from the method's grid on validation nodes.")] = False
    search: Annotated[
        int | None,
        _choosing(
            "Number of hyper-parameter settings to try first, scored on validation nodes.",
            shown_default="none",
            is_common=True,
        ),
    ] = None
    search_file: Annotated[
        str | Path,
        _choosing("SQLite file that keeps the search; the same command continues it.", kind=Path),
    ] = Path("agnn-search.sqlite")
    device: Annotated[str, _computing("auto, cpu or cuda.", is_common=True)] = "auto"
    backend: Annotated[str, _computing("auto, reference, numba or triton.")] = "auto"
    threads: Annotated[
        int | None,
        _computing("Threads to compute with, or of each worker.", shown_default="torch's choice"),
    ] = None
    executor: Annotated[
        object,
        _computing(
            "Workers that train: local:N (processes), dask:ADDRESS (of a Dask scheduler; or "
            "its file), or dask (on this machine).",
            kind=str | None,
            shown_default="this process",
        ),
    ] = None
    ranks: Annotated[
        int | None,
        _computing(
            "Processes to divide the training among. torchrun starts them on several machines.",
            shown_default="this one alone",
        ),
    ] = None
    divide: Annotated[
        str | None,
        _computing(
            "What the ranks divide: rows of the graph, or replicas.",
            shown_default="replicas, if there are as many as ranks",
        ),
    ] = None
    wire: Annotated[
        str, _computing("Type of states on their way between ranks: float32 or bfloat16.")
    ] = "float32"
    out: Annotated[
        str | Path | None,
        _results("A new folder for the weights and results.", kind=Path | None, is_common=True),
    ] = None
    checkpoint: Annotated[
        str | float | None,
        _results(
            "Time between checkpoints, such as 30s or 5m. They are in OUT.checkpoint until "
            "the training is done.",
            kind=str | None,
            shown_default="5m for trainings of over ten minutes",
        ),
    ] = None
    resume: Annotated[
        bool, _results("Continue the training of OUT.checkpoint.", is_common=True)
    ] = False
    callbacks: Annotated[
        Sequence[Any],
        _results(
            "Record the training: tensorboard:FOLDER, mlflow:URI or wandb:PROJECT; may be "
            "repeated.",
            kind=list[str] | None,
            flag="--track",
        ),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """What to decide beside the predictions; None: nothing of that kind."""

    coverage: Annotated[
        float | None,
        _decisions(
            "Also write the set of classes that fit each node; this share of the sets, such as "
            "0.9, holds the true class."
        ),
    ] = None
    score: Annotated[
        Literal["lac", "aps", "daps"],
        _decisions(
            "lac: the smallest sets; daps: also by the neighbours, more even over the graph; aps.",
            kind=str,
            flag="--set-score",
        ),
    ] = "lac"
    by_class: Annotated[
        bool,
        _decisions("The coverage holds for the nodes of every class; the sets are larger."),
    ] = False
    class_name: Annotated[
        str | None,
        _decisions(
            "A class to act on from some probability, which --precision, --recall or --costs "
            "chooses.",
            flag="--class",
        ),
    ] = None
    precision: Annotated[
        float | None,
        _decisions("This share of the nodes that are acted on shall be of the class."),
    ] = None
    recall: Annotated[float | None, _decisions("This share of the class shall be acted on.")] = None
    costs: Annotated[
        tuple[float, float] | None,
        _decisions("What a false alarm and a miss cost, such as 1,5.", kind=str | None),
    ] = None
    false_alarms: Annotated[
        float | None,
        _decisions(
            "Also flag nodes unlike the labelled ones; this share of ordinary nodes, such as "
            "0.05, is flagged by mistake.",
            flag="--novelty",
        ),
    ] = None
    calibrate_on: Annotated[
        str | Sequence[Hashable] | None,
        _decisions(
            "test: the test nodes calibrate; for runs without cross-fitting.",
            kind=str | None,
            shown_default="labels out of fold",
        ),
    ] = None


def option_of(name: str, declared: type = TrainingOptions) -> Option | None:
    """Return how a field is offered on the command line; None where it is not."""
    hint = get_type_hints(declared, include_extras=True).get(name)
    about = getattr(hint, "__metadata__", (None,))[0]
    return about if isinstance(about, Option) else None


def flag_of(name: str, declared: type = TrainingOptions) -> str:
    """Return the option of the command line that sets a field, or a hyper-parameter.

    >>> flag_of("time_limit"), flag_of("weight_decay")
    ('--time', '--weight-decay')
    """
    return (option_of(name, declared) or Option("", None)).flag_of(name)


def seconds_of(value: str | float, name: str) -> float:
    """Return the seconds in a duration such as "30s", "5m" or "2h", or a number of seconds.

    >>> seconds_of("10m", "time"), seconds_of(45, "time")
    (600.0, 45.0)
    """
    seconds: float = -1.0
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", value.strip().lower())
        if match is not None and match[2] in _UNITS:
            seconds = float(match[1]) * _UNITS[match[2]]
    else:
        seconds = float(value)
    if not 0.0 <= seconds < math.inf:
        raise InputError(f"{name} takes a duration such as 30s, 5m or 2h; got '{value}'.")
    return seconds
