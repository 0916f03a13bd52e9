"""A training: everything that is asked for, as one object that one driver runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

from agnn.choosing import ClassWeight, class_weights, small_form
from agnn.data import NodeData, Split, SplitSpec, make_splits
from agnn.distributed import Division, Meeting, PartsFolder
from agnn.errors import InputError, unknown_name
from agnn.executors import LaunchedRank
from agnn.files import check_new_folder, check_space
from agnn.kernels import choose
from agnn.methods import Majority, Method
from agnn.options import AUTO, TrainingOptions, seconds_of
from agnn.runs._devices import find_device
from agnn.runs._folder import folder_size
from agnn.runs._parts import parts_data, parts_method
from agnn.runs._plan import Plan
from agnn.runs._presets import default_name, prepare, replica_seeds, seeds_of_replicas
from agnn.runs._rules import RULES, both_names, check_scorable
from agnn.runs._run import Run
from agnn.runs._unseen import check_unseen
from agnn.training import Callback, Checkpoints, Progress

_FEW_REPLICAS: Final = 5
_QUICK_REPLICAS: Final = 3
_QUICK_EPOCHS: Final = 150
_FIRST_LOOK: Final = (
    f"{_QUICK_REPLICAS} replicas with states of width 32 at most, and up to {_QUICK_EPOCHS} epochs."
)
_ASKED_LOOK: Final = (
    f"This is a first look: {_FIRST_LOOK} Without `--quick` more replicas are trained for longer, "
    f"and other methods are tried where neighbours are unlike."
)
_LARGE_LOOK: Final = (
    f"This is a first look, because a full training would take long on this machine: {_FIRST_LOOK} "
    f"The full training, `--replicas {_FEW_REPLICAS}` (`replicas={_FEW_REPLICAS}`), goes on until "
    f"its replicas stop improving. It is usually a little more accurate and takes several times as "
    f"long."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Training(TrainingOptions):
    """A training: data, method, split, seeds and all that `TrainingOptions` declares.

    `plan` checks it and returns what can be trained; `run` does everything, as `agnn train` does.
    """

    # the path is a folder that `agnn partition` wrote; a function reads the data when it is needed
    data: NodeData | str | Path | Callable[[], NodeData]
    method: Method | str | None = None
    split: str | Split | None = None
    class_weight: ClassWeight = None
    executor: str | Executor | None = None
    seeds: Sequence[int] | None = None  # in place of `replicas` and `seed`; with folds, per trial
    splits: tuple[Split, ...] | None = None  # one per replica, drawn by `split`; so are `seeds`
    callbacks: Sequence[Callback] = ()
    checkpoints: Checkpoints | None = None  # in place of those beside `out`

    USUAL_REPLICAS: ClassVar[int] = 10

    def __post_init__(self) -> None:
        for check in RULES:
            check(self)

    @classmethod
    def usual_replicas(cls, data: NodeData, split: str | Split | None) -> int | None:
        """Return how many replicas a user trains who does not say: ten.

        None where they are cross-fitted: one per fold.
        """
        if isinstance(split, Split):
            return cls.USUAL_REPLICAS
        return None if SplitSpec.of(split, data).is_cross_fitted else cls.USUAL_REPLICAS

    def method_name(self, data: NodeData) -> str:
        """Return the name of the method: the one that is given, or the default for the data."""
        return str(self.method or default_name(data))

    @property
    def is_auto(self) -> bool:
        """Whether validation nodes choose the method."""
        return isinstance(self.method, str) and self.method.lower() == AUTO

    @property
    def given_changes(self) -> dict[str, Any]:
        """The hyper-parameters that are set."""
        return {name: value for name, value in (self.changes or {}).items() if value is not None}

    @cached_property
    def parts(self) -> str | None:
        """The folder of parts that is trained on; None for a graph in memory."""
        return str(self.data) if isinstance(self.data, str | Path) else None

    def read_data(self) -> NodeData:
        """Return the data; of a folder of parts what a training must know of it."""
        if isinstance(self.data, str | Path):
            return parts_data(self.data)
        return self.data if isinstance(self.data, NodeData) else self.data()

    def run(self, progress: Progress | None = None) -> Run:
        """Choose, train, score and, with `out`, save; raises on ranks other than the first."""
        plan = self.plan().choose(progress.tried if isinstance(progress, Callback) else None)
        run = plan.train(progress)
        if run is None:
            raise InputError("only rank 0 has the run; `plan().train()` gives the others None.")
        plan.save(run)
        return run

    def plan(self) -> Plan:
        """Check everything that can be checked before the training, and return what to train.

        Processes of torchrun meet before they read anything: what keeps one of them from training
        ends all.
        """
        with Meeting.of_process() as meeting:
            return self._plan(meeting)

    def _plan(self, meeting: Meeting | None) -> Plan:
        if self.out is not None:
            check_new_folder(self.out)
        device = find_device(self.device)
        choose(self.backend, device.split(":")[0])
        data, spec = self._data_and_split(device)
        seeds = self._seeds(SplitSpec.parse(spec))
        method = self._method(data, spec)
        splits = self.splits or make_splits(data, spec, seeds[:1] if self.is_auto else seeds)
        is_counted = self.seeds is None and not self.is_auto
        if is_counted and not method.is_random and len(set(splits)) == 1:
            # Replicas would be copies, and their spread of zero would look like certainty.
            seeds = seeds[:1]
            splits = splits[:1]
        passes = SplitSpec.parse(spec).passes(len(splits))
        check_scorable(data, splits, self.metric, passes)
        folds = SplitSpec.parse(spec).folds
        division = self._division(1 if passes else len(splits), meeting)
        if passes and division is not None and division.axis == "replicas":
            raise InputError(
                "cross-fitted replicas choose each other's epochs, so processes divide the rows of "
                "the graph: `divide='rows'` (--divide rows)."
            )
        if self.unseen and not self.is_auto:
            check_unseen(method)
        if self.method is None:
            by_rows = division is not None and division.axis == "rows"
            method = method.reduced(
                data, len(splits), device, by_rows=by_rows, given=self.given_changes.keys()
            )
        first_look = self._first_look(data, device)
        if first_look is not None:
            method = small_form(method, _QUICK_EPOCHS)
        if self.parts is not None and not isinstance(self.method, Method):
            method = parts_method(
                method, self.parts, is_scaling_given="scaling" in self.given_changes
            )
        weights = None
        if not self.is_auto:
            weights = class_weights(self.class_weight, method, data, splits)
        plan = Plan(
            training=self,
            method=method,
            data=data,
            split_spec=spec,
            splits=splits,
            seeds=seeds if self.is_auto or self.splits else seeds_of_replicas(seeds, folds),
            folds=folds,
            device=device,
            weights=weights,
            division=division,
            checkpoints=self._checkpoints(method, division),
            first_look=first_look,
        )
        if self.out is not None and not self.is_auto:
            check_space(self.out, folder_size(method, data, len(plan.seeds)))
        return plan

    def _data_and_split(self, device: str) -> tuple[NodeData, str]:
        """Return the data, and the name of one of its splits or of a way to draw some."""
        data = self.read_data()
        if self.parts is not None and LaunchedRank.current() is None:
            PartsFolder(self.parts).check()  # a rank of torchrun opens its own parts only
        data.check_learnable()
        if isinstance(self.split, Split):
            return data.with_split(self.split), self.split.name
        spec = SplitSpec.of(self.split, data, self._replicas(data, device))
        if self.is_auto and spec.folds > 1 and not spec.is_cross_fitted:
            raise InputError(
                f"'auto' chooses on one split, and '{spec.text}' has folds; use cross-fit or "
                f"stratified, or nested (--nested) for an estimate over several splits."
            )
        return data, spec.text

    def _replicas(self, data: NodeData, device: str) -> int | None:
        """Return the most folds that cross-fitting may have; None: as many as suit the labels.

        There are five where an epoch of the default method with ten replicas would take long.
        """
        if self.seeds is not None:
            return None
        if self._first_look(data, device) is not None:
            return _QUICK_REPLICAS
        if self.replicas is not None or self.method is not None:
            return self.replicas
        method = self._method(data, SplitSpec.CROSS_FIT)
        return _FEW_REPLICAS if method.is_slow(data, self.USUAL_REPLICAS, device) else None

    def _first_look(self, data: NodeData, device: str) -> str | None:
        """Return what is said of a training that is only a first look; None for a full one.

        It is one where it is asked for, and where nothing is asked for and a step takes long even
        in the form that `Method.reduced` gives a few replicas of the default.
        """
        if self.quick:
            return _ASKED_LOOK
        settings = (self.method, self.replicas, self.seeds, self.search, self.ranks, self.parts)
        if any(value is not None for value in settings) or self.given_changes or self.tuned:
            return None
        split = self.split or SplitSpec.default(data)
        if split != SplitSpec.CROSS_FIT or LaunchedRank.current() is not None:
            return None
        method = self._method(data, SplitSpec.CROSS_FIT).reduced(data, _FEW_REPLICAS, device)
        return _LARGE_LOOK if method.is_slow(data, _FEW_REPLICAS, device) else None

    def _seeds(self, spec: SplitSpec) -> tuple[int, ...]:
        """Return a seed for each replica, with folds for each trial.

        Cross-fitting has a replica per fold, so as many passes as `replicas` needs.
        """
        if self.seeds is not None:
            return tuple(self.seeds)
        count = 1 if self.replicas is None else self.replicas
        if self.quick:
            count = min(count, _QUICK_REPLICAS)
        seeds = replica_seeds(self.seed, count)
        return seeds[: math.ceil(count / spec.folds)] if spec.is_cross_fitted else seeds

    def _method(self, data: NodeData, spec: str) -> Method:
        """Return the method with its hyper-parameters; for auto one that needs no training."""
        if self.is_auto:
            return Majority()
        if isinstance(self.method, Method):
            return self.method.with_fields(**self.given_changes)
        name = self.method_name(data)
        return prepare(name, data, spec, self.given_changes, is_tuned=self.tuned)

    def _division(self, replicas: int, meeting: Meeting | None) -> Division | None:
        """Return how a training of so many independent replicas is divided among processes.

        None where it is not. Cross-fitted replicas are not independent of each other.
        """
        if meeting is not None:
            return Division(meeting.size, "rows", self.wire, meeting, self.parts)
        if self.parts is not None:
            axis = self.divide or "rows"
            return Division(self.ranks or 1, axis, self.wire, parts=self.parts)
        if self.ranks is None:
            return None
        axis = self.divide or ("replicas" if replicas >= self.ranks > 0 else "rows")
        return Division(self.ranks, axis, self.wire)

    def _checkpoints(self, method: Method, division: Division | None) -> Checkpoints | None:
        """Return the checkpoints of the training, which are kept beside the folder of its run."""
        if self.checkpoints is not None or self.out is None or self.is_auto:
            return self.checkpoints
        if not method.has_checkpoints:
            for name in ("checkpoint", "resume"):
                if getattr(self, name):
                    raise InputError(
                        f"{both_names(name)} is for methods that train a network, "
                        f"not {method.name}."
                    )
            return None
        every = None if self.checkpoint is None else seconds_of(self.checkpoint, "`checkpoint`")
        out = Path(self.out).absolute()
        file = out.with_name(f"{out.name}.checkpoint")
        is_resumed = self.resume
        meeting = None if division is None else division.meeting
        if meeting is not None and meeting.is_restart:
            is_resumed = file.exists()  # torchrun starts the same command again after a failure
        checkpoints = Checkpoints(file, every, resume=is_resumed)
        if LaunchedRank.is_first() and (division is None or division.axis == "rows"):
            checkpoints.check()
        return checkpoints


def evaluate(
    method: Method | str | None,
    data: NodeData | str | Path,
    split: str | Split | None = None,
    seeds: Sequence[int] | None = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Train a method once per seed, all replicas at once, and score it on the test nodes.

    Args:
        method: a method, or the name of one, which then has its hyper-parameters for the data.
            None: AGNN on the datasets of the paper, AGNN+ on any other graph. "auto": a method and
            settings that are chosen by validation nodes; all replicas then have one split.
        data: the graph, its features and labels; or a folder that `agnn partition` wrote.
        split: the name of a way to split the nodes, as in `agnn train`, or a Split. None: the
            data's own, else "cross-fit": every replica trains on all labels but one fold, the
            folds of the others choose its epoch, and every label is tested by a replica that was
            not trained on it.
        seeds: one per replica; with folds, one per trial.
        progress: called with (epochs done, epochs in all); see `agnn.progress`.
        options: the other fields of `Training`, the same as the options of `agnn train`:

            - `replicas`: instead of `seeds`, the number of replicas. One is trained where all
              would be the same: a method without randomness on a fixed split. Cross-fitting has
              one per fold, at least three; more are further passes with other folds;
            - `seed`: the first of their seeds;
            - `splits`: one per replica, drawn before; `split` is then the name of how, and `seeds`
              has one per replica;
            - `changes`: hyper-parameters by name. None is the same as leaving one out; the text
              "none" is the value None;
            - `device` ("auto", "cpu", "cuda") and `backend` ("auto", "reference", "numba",
              "triton");
            - `class_weight`: "balanced", or a weight per class name; for methods that train a
              network;
            - `metric`: by which the epoch and the settings are chosen on validation nodes:
              "accuracy", "balanced_accuracy", "f1", "auc" or "log_loss". None: the method's own
              rule;
            - `time_limit`: for "auto", seconds or a text such as "5m" for the choice and the
              training; `nested`: also repeat the choice on three splits;
            - `unseen`: also train without the tested nodes in the graph, for `run.unseen`: the
              accuracy on nodes that come later;
            - `search`, `search_file`, `executor`, `threads`: settings to try first, where the
              trials are kept, and who trains them; `tuned`: choose from the method's grid;
            - `out`, `checkpoint`, `resume`: a folder for the run, the time between checkpoints
              beside it, and whether a stopped training is continued; or `checkpoints`, an object;
            - `ranks`, `divide`, `wire`: among how many processes the training is divided, by rows
              of the graph or by replicas, and the type of states on their way;
            - `callbacks`: told about the start, every epoch and the result;
              `agnn.training.Callback`.

    With a k-fold split every seed is a trial of k replicas, one per fold, and its accuracy is the
    mean over them: folds share training nodes, so only trials count as repetitions.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=2, changes={"epochs": 3})
    >>> run.accuracy.n, run.scores.shape
    (2, torch.Size([2, 2708, 7]))
    """
    names = {field.name for field in fields(Training)}
    for name in options:
        if name not in names:
            raise unknown_name("argument of `evaluate`", name, names)
    training = Training(method=method, data=data, split=split, seeds=seeds, **options)
    return training.run(progress)


def _signature() -> inspect.Signature:
    """Return the signature of `evaluate` with its options, for help and completion."""
    signature = inspect.signature(evaluate)
    written = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    names = {p.name for p in written}
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=field.type,
        )
        for field in fields(Training)
        if field.name not in names
    ]
    return signature.replace(parameters=[*written, *options])


evaluate.__signature__ = _signature()  # type: ignore[attr-defined]
