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
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from agnn.errors import InputError
from agnn.options import RESULTS, DecisionOptions, Option, TrainingOptions, flag_of

TABLES: Final = "Your own tables"
# Of the readers' options, those that --help shows in a command with many.
_COMMON_READING: Final = frozenset(
    {
        "label",
        "node_id",
        "source",
        "target",
        "text",
        "category",
        "ignore",
        "split_column",
        "split_time",
        "edge_weight",
    }
)
_RARE: Final = ("save_config", "config_schema")  # of a command's own, not shown by --help
_PRESET: Final = "the method's"
# Hyper-parameters of many methods: type, help, default in words, whether --help shows it.
HYPER_PARAMETERS: Final[Mapping[str, tuple[type, str, str, bool]]] = {
    "epochs": (int, "At most this many epochs.", _PRESET, True),
    "layers": (int, "Propagation layers.", _PRESET, True),
    "hidden": (int, "Width of the hidden states.", _PRESET, True),
    "learning_rate": (float, "Learning rate of Adam.", _PRESET, True),
    "weight_decay": (float, "Weight of the L2 penalty.", _PRESET, False),
    "dropout": (float, "Share of inputs and states to drop, from 0 to below 1.", _PRESET, False),
    "scaling": (
        str,
        "Scaling of the features: sum (rows that sum to 1), length (rows of length 1), standard "
        "(columns of mean 0 and variance 1) or none.",
        "sum on the paper's datasets, else what suits the features",
        False,
    ),
    "stop_after": (
        int,
        "Stop a replica after this many epochs without progress at the watched nodes.",
        _PRESET,
        False,
    ),
    "evaluate_every": (
        int,
        "Epochs from one evaluation at the watched nodes to the next.",
        "1",
        False,
    ),
    "stop_on": (str, "What counts as progress: loss or score.", "loss", False),
    "batch": (int, "Training nodes per step, with --fanout.", "all, or the method's own", False),
    "fanout": (
        str,
        "Neighbours to sample per hop, from the batch outwards, such as 15,10; one number is for "
        "every hop.",
        "all neighbours",
        False,
    ),
    "precision": (
        str,
        "Type of the states between propagations: float32, or bf16 to halve them on a GPU.",
        "float32",
        False,
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
    read = _reading_parameters(reading) if written.pop("read", None) else {}
    decisions = _parameters(DecisionOptions) if written.pop("decisions", None) else {}
    options = _parameters(TrainingOptions) if written.pop("options", None) else {}
    if options:  # a command with so many options shows the common ones
        written["help_all"] = _parameter(
            "help_all",
            bool,
            typer.Option(
                "--help-all", help="Show every option.", callback=_show_all, is_eager=True
            ),
            default=False,
        )
        written = {name: _in_last_panel(parameter) for name, parameter in written.items()}
        read = {
            name: parameter if name in _COMMON_READING else _without_help(parameter)
            for name, parameter in read.items()
        }

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


def _without_help(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return an option that --help leaves out."""
    parameter.annotation.__metadata__[0].hidden = True
    return parameter


def _reading_parameters(names: Sequence[str] | None) -> dict[str, inspect.Parameter]:
    """Return an option for each of these fields of ReadOptions: a switch, a text, or several."""
    from agnn.data import ReadOptions

    hints = get_type_hints(ReadOptions, include_extras=True)
    parameters = {}
    for name in (field.name for field in fields(ReadOptions)):
        hint = hints[name]
        if not hasattr(hint, "__metadata__") or (names is not None and name not in names):
            continue
        kind, help_text = get_args(hint)[:2]
        default: bool | None = None
        if kind is bool:
            default = False
        elif kind == Sequence[str]:
            kind = list[str] | None
            help_text = f"{help_text[:-1]}; may be repeated."
        else:
            kind = str | None
        option = typer.Option(*ReadOptions.flags(name), help=help_text, rich_help_panel=TABLES)
        parameters[name] = _parameter(name, kind, option, default=default)
    return parameters


def training_option(name: str) -> Any:
    """Return the option for a field of TrainingOptions in a command with few options."""
    return _option(name, _offered_field(TrainingOptions, name)[1])


def _option(name: str, about: Option, panel: str | None = None, *, is_hidden: bool = False) -> Any:
    return typer.Option(
        about.flag or flag_of(name),
        help=about.help,
        show_default=about.shown_default or True,
        rich_help_panel=panel,
        hidden=is_hidden,
    )


def hyper_parameter_option(name: str, panel: str | None = None, *, is_hidden: bool = False) -> Any:
    """Return the option for a hyper-parameter of many methods."""
    _, help_text, shown_default, _ = HYPER_PARAMETERS[name]
    return typer.Option(
        flag_of(name),
        help=help_text,
        show_default=shown_default,
        rich_help_panel=panel,
        hidden=is_hidden,
    )


def _offered_field(declared: type, name: str) -> tuple[Any, Option]:
    """Return the type of a field on the command line, and how it is offered there."""
    kind, about = get_args(get_type_hints(declared, include_extras=True)[name])[:2]
    return about.kind or kind, about


def _parameters(declared: type) -> dict[str, inspect.Parameter]:
    """Return an option for each field; with those of a training the common hyper-parameters."""
    has_common = declared is TrainingOptions  # and others, which --help leaves out
    parameters = {}
    for field in fields(declared):
        kind, about = _offered_field(declared, field.name)
        # An option that may be repeated is None where it is not given.
        is_repeatable = kind == list[str] | None
        default = about.default if about.default is not None or is_repeatable else field.default
        is_hidden = has_common and not about.is_common
        option = _option(field.name, about, about.panel, is_hidden=is_hidden)
        parameters[field.name] = _parameter(field.name, kind, option, default=default)
        if field.name == "seed":  # the hyper-parameters follow
            for name, (kind, *_, is_common) in HYPER_PARAMETERS.items():
                option = hyper_parameter_option(name, about.panel, is_hidden=not is_common)
                parameters[name] = _parameter(name, kind | None, option, default=None)
    return parameters


RunFolder = Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")]
SplitName = Annotated[str | None, training_option("split")]
Replicas = Annotated[int, training_option("replicas")]
Seed = Annotated[int, training_option("seed")]
Epochs = Annotated[int | None, hyper_parameter_option("epochs")]
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
