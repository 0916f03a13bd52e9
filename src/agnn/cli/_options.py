"""Options that several commands share, and options made from the fields of dataclasses.

A command that has the parameter `read` takes the options of `agnn.data.ReadOptions` and gets such
an object; one that has `options` takes those of `agnn.options.TrainingOptions` and the most used
hyper-parameters, and gets them by name; `decisions` is the same for `DecisionOptions`. A field
that is added there is an option here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from agnn.errors import InputError
from agnn.options import (
    RESULTS,
    DecisionOptions,
    Option,
    TrainingOptions,
    option_of,
)

_RARE: Final = ("save_config", "config_schema")  # of a command's own, not shown by --help
# Hyper-parameters of many methods.
_hyper = partial(Option, panel="Method", shown_default="the method's")
HYPER_PARAMETERS: Final[Mapping[str, Option]] = {
    "epochs": _hyper("At most this many epochs.", kind=int | None, is_common=True),
    "layers": _hyper("Propagation layers.", kind=int | None, is_common=True),
    "hidden": _hyper("Width of the hidden states.", kind=int | None, is_common=True),
    "learning_rate": _hyper("Learning rate of Adam.", kind=float | None, is_common=True),
    "weight_decay": _hyper("Weight of the L2 penalty.", kind=float | None),
    "dropout": _hyper("Share of inputs and states to drop, from 0 to below 1.", kind=float | None),
    "scaling": _hyper(
        "Scaling of the features: sum (rows that sum to 1), length (rows of length 1), "
        "standard (columns of mean 0 and variance 1) or none.",
        kind=str | None,
        shown_default="sum on the paper's datasets, else what suits the features",
    ),
    "stop_after": _hyper(
        "Stop a replica after this many epochs without progress at the watched nodes.",
        kind=int | None,
    ),
    "evaluate_every": _hyper(
        "Epochs from one evaluation at the watched nodes to the next.",
        kind=int | None,
        shown_default="1",
    ),
    "stop_on": _hyper(
        "What counts as progress: loss or score.", kind=str | None, shown_default="loss"
    ),
    "batch": _hyper(
        "Training nodes per step, with --fanout.",
        kind=int | None,
        shown_default="all, or the method's own",
    ),
    "fanout": _hyper(
        "Neighbours to sample per hop, from the batch outwards, such as 15,10; one number is "
        "for every hop.",
        kind=str | None,
        shown_default="all neighbours",
    ),
    "precision": _hyper(
        "Type of the states between propagations: float32, or bf16 to halve them on a GPU.",
        kind=str | None,
        shown_default="float32",
    ),
}


def with_options(
    command: Callable[..., None], reading: Sequence[str] | None = None
) -> Callable[..., None]:
    """Return the command with an option for every field that its parameters stand for.

    `reading` names the fields of ReadOptions to offer; None: all.
    """
    signature = inspect.signature(command)
    written = dict(signature.parameters)
    is_long = "options" in written  # then --help shows the common ones
    read: dict[str, inspect.Parameter] = {}
    if written.pop("read", None):
        from agnn.data import ReadOptions

        read = _parameters(ReadOptions, reading, is_long=is_long)
    decisions = _parameters(DecisionOptions) if written.pop("decisions", None) else {}
    options = _parameters(TrainingOptions, is_long=True) if written.pop("options", None) else {}
    if is_long:
        written["help_all"] = _parameter(
            "help_all",
            bool,
            typer.Option(
                "--help-all", help="Show every option.", callback=_show_all, is_eager=True
            ),
            default=False,
        )
        written = {name: _in_last_panel(parameter) for name, parameter in written.items()}

    @wraps(command)
    def call(**arguments: Any) -> None:
        arguments.pop("help_all", None)
        if read:
            from agnn.data import ReadOptions

            values = {name: arguments.pop(name) for name in read}
            # A repeatable option that is not given is None, and an empty list to the readers.
            arguments["read"] = ReadOptions(**{name: v for name, v in values.items() if v})
        for name, group in {"options": options, "decisions": decisions}.items():
            if group:
                arguments[name] = {field: arguments.pop(field) for field in group}
        command(**arguments)

    tables = {name: written.pop(name) for name in ("dataset", "nodes", "edges") if name in written}
    parameters: dict[str, inspect.Parameter] = tables | read | options | decisions | written
    keyword_only = [p.replace(kind=p.KEYWORD_ONLY) for p in parameters.values()]
    call.__signature__ = signature.replace(parameters=keyword_only)  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return call


def _show_all(context: typer.Context, is_wanted: bool) -> None:
    """Print the help with every option."""
    if is_wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit


def _parameter(name: str, kind: Any, option: Any, *, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def _in_last_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the command's own option among those for results and files."""
    declared = getattr(parameter.annotation, "__metadata__", (None,))[0]
    if not isinstance(declared, OptionInfo) or declared.rich_help_panel is not None:
        return parameter
    option = copy(declared)
    option.rich_help_panel = RESULTS
    option.hidden = parameter.name in _RARE
    return parameter.replace(annotation=Annotated[get_args(parameter.annotation)[0], option])


def training_option(name: str) -> Any:
    """Return the option for a field of TrainingOptions, or a hyper-parameter of many methods.

    For a command with few options, which have no panels.
    """
    about = option_of(name) or HYPER_PARAMETERS[name]
    return _option(name, replace(about, panel=None))


def _option(name: str, about: Option, *, is_hidden: bool = False) -> Any:
    flags = (about.flag_of(name), *filter(None, [about.alias]))
    return typer.Option(
        *flags,
        help=about.help,
        show_default=about.shown_default or True,
        rich_help_panel=about.panel,
        hidden=is_hidden,
    )


def _parameters(
    declared: type, names: Sequence[str] | None = None, *, is_long: bool = False
) -> dict[str, inspect.Parameter]:
    """Return an option for each offered field; with those of a training the hyper-parameters.

    `names` are the fields to offer; None: all. Of a long list --help shows the common ones.
    """
    parameters = {}

    def add(name: str, about: Option, kind: Any, default: Any) -> None:
        option = _option(name, about, is_hidden=is_long and not about.is_common)
        parameters[name] = _parameter(name, kind, option, default=default)

    hints = get_type_hints(declared)
    for field in fields(declared):
        about = option_of(field.name, declared)
        if about is None or (names is not None and field.name not in names):
            continue
        kind = about.kind or hints[field.name]
        # An option that may be repeated is None where it is not given.
        is_repeatable = kind == list[str] | None
        default = about.default if about.default is not None or is_repeatable else field.default
        add(field.name, about, kind, default)
        if declared is TrainingOptions and field.name == "seed":
            for name, hyper_parameter in HYPER_PARAMETERS.items():
                add(name, hyper_parameter, hyper_parameter.kind, None)
    return parameters


RunFolder = Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")]
SplitName = Annotated[str | None, training_option("split")]
Replicas = Annotated[int, training_option("replicas")]
Seed = Annotated[int, training_option("seed")]
Epochs = Annotated[int | None, training_option("epochs")]
Device = Annotated[str, training_option("device")]
Backend = Annotated[str, training_option("backend")]
Threads = Annotated[int | None, training_option("threads")]
Executor = Annotated[str | None, training_option("executor")]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object and nothing else; an error is still a line of text on stderr.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress and no report on the data.")]
AllowUnchecked = Annotated[
    bool,
    typer.Option(
        "--allow-unchecked",
        help="Load a run folder without checksums, whose origin you know.",
    ),
]


def use_threads(count: int | None) -> None:
    """Compute with this many threads; None leaves it to torch."""
    if count is None:
        return
    if not 1 <= count <= 1024:
        raise InputError(f"`threads` must be from 1 to 1024; got {count}.")
    import torch

    torch.set_num_threads(count)
