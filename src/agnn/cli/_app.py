"""The program `agnn`: its commands, and what a user sees when something goes wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agnn import __version__
from agnn._allocator import keep_freed_memory
from agnn.cli._compare import compare
from agnn.cli._console import escape
from agnn.cli._explain import explain
from agnn.cli._failures import INTERRUPTED, Interrupted, one_line, with_rank
from agnn.cli._labels import audit, curve, suggest
from agnn.cli._lists import datasets, doctor, inspect, methods
from agnn.cli._options import with_options
from agnn.cli._partition import partition
from agnn.cli._predict import predict
from agnn.cli._report import demo, report
from agnn.cli._reproduce import reproduce
from agnn.cli._retrain import retrain
from agnn.cli._serve import explore, serve
from agnn.cli._sharing import export, pull, push, share
from agnn.cli._train import train

# Every command with the panel of the help that it is in, and an example.
COMMANDS: Mapping[Callable[..., None], tuple[str, str]] = {
    demo: ("Start", "agnn demo --out demo"),
    train: ("Train", "agnn train --nodes nodes.csv --edges edges.csv --label topic --out runs/own"),
    retrain: ("Train", "agnn retrain runs/own --labels labels.csv --out runs/own-labelled"),
    compare: ("Train", "agnn compare cora --replicas 5 --out compared"),
    predict: ("Ask", "agnn predict runs/cora --out predictions.csv"),
    explain: ("Ask", "agnn explain runs/cora 8617 --counterfactual --html why.html"),
    suggest: ("Label", "agnn suggest --nodes nodes.csv --edges edges.csv --count 20"),
    audit: ("Label", "agnn audit runs/own --out suspicious.csv"),
    curve: ("Label", "agnn curve runs/own --repeats 5"),
    report: ("Look", "agnn report runs/cora --out report.html"),
    explore: ("Look", "agnn explore runs/cora --compare runs/gcn"),
    share: ("Look", "agnn share runs/cora --cohort wrong --out wrong.html"),
    serve: ("Ask", "agnn serve runs/cora --port 8000"),
    export: ("Ask", "agnn export runs/cora --out model.onnx"),
    push: ("Share", "agnn push runs/cora ./shared/cora"),
    pull: ("Share", "agnn pull ./shared/cora --out runs/copy"),
    inspect: ("Data", "agnn inspect --nodes nodes.csv --edges edges.csv --label topic"),
    partition: ("Data", "agnn partition cora --parts 4 --out parts"),
    reproduce: ("Research", "agnn reproduce table2 --seeds 10 --out results"),
    datasets: ("Data", "agnn datasets"),
    methods: ("Start", "agnn methods agnn"),
    doctor: ("Start", "agnn doctor"),
}
# Commands that read tables, with the fields of ReadOptions that are options of theirs.
READERS: Mapping[str, Sequence[str] | None] = {
    "train": None,
    "compare": None,
    "inspect": None,
    "partition": None,
    "suggest": None,
    "predict": (
        "database",
        "node_id",
        "source",
        "target",
        "drop_unknown",
        "edge_weight",
        "ignore_weights",
    ),
}


def _with_plain_flags(options: list[Any]) -> list[Any]:
    """The options; Typer's help would write `<bool>` beside a flag, which takes no value."""
    for option in options:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
    return options


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _with_plain_flags(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _with_plain_flags(super().get_params(ctx))


def program(argv: Sequence[str]) -> typer.Typer:
    """The program with all options of the commands among `argv`.

    The others are only listed: the options of readers come from `agnn.data`, and help on something
    else should not have to load it.
    """
    app = typer.Typer(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
    app.callback(invoke_without_command=True)(_program)
    for command, (panel, example) in COMMANDS.items():
        name = command.__name__
        about: dict[str, Any] = {
            "rich_help_panel": panel,
            "epilog": f"Example: {example}",
            "cls": _Command,
        }
        if name not in argv:
            app.command(name, help=command.__doc__, **about)(lambda: None)
        elif name in READERS:
            app.command(name, **about)(with_options(command, READERS[name]))
        else:
            app.command(name, **about)(command)
    return app


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"agnn {__version__}")
        raise typer.Exit


def _program(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Attention-based graph neural networks: classify the nodes of a graph from a few labels."""
    del version
    if context.invoked_subcommand is None:
        context.get_help()  # writes it, too


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program on `arguments` (by default the process's own); gives back the exit code."""
    argv = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None:  # a process of its own; a caller's process is left as it is
        keep_freed_memory()
    try:
        # A shell that completes a line asks with it in the environment: any command may be meant.
        is_completion = "_AGNN_COMPLETE" in os.environ
        names = [function.__name__ for function in COMMANDS] if is_completion else argv
        command = typer.main.get_command(program(names))
        code = command.main(args=argv, prog_name="agnn", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Interrupted as interruption:
        sys.stderr.write(f"\ninterrupted: {escape(str(interruption))}\n")
        return interruption.code
    except SystemExit as end:
        # rich ends the program so when nobody reads the help any more, as in `agnn --help | head`.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return 0
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        line = with_rank(message, error)
        if line is not None:
            sys.stderr.write(f"error: {escape(line)}\n")
        return 2
    return code if isinstance(code, int) else 0
