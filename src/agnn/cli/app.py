"""The program `agnn`: its verbs, and what a user sees when something goes wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agnn import __version__
from agnn.cli._allocator import keep_freed_memory
from agnn.cli.datasets import datasets
from agnn.cli.demo import demo
from agnn.cli.doctor import doctor
from agnn.cli.explain import explain
from agnn.cli.explore import explore
from agnn.cli.export import export
from agnn.cli.failures import INTERRUPTED, Interrupted, one_line
from agnn.cli.inspect import inspect
from agnn.cli.methods import methods
from agnn.cli.predict import predict
from agnn.cli.report import report
from agnn.cli.reproduce import reproduce
from agnn.cli.serve import serve
from agnn.cli.train import train

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
VERBS = (
    demo, train, predict, explain, report, explore, serve, export, inspect, reproduce, datasets,
    methods, doctor,
)  # fmt: skip
for verb in VERBS:
    app.command()(verb)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"agnn {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _program(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Attention-based graph neural networks: a graph, a few labels, answers with reasons."""
    del version
    if context.invoked_subcommand is None:
        context.get_help()  # writes it, too


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program on `arguments` (by default the process's own); gives back the exit code."""
    program = typer.main.get_command(app)
    if arguments is None:  # a process of its own; a caller's process is left as it is
        keep_freed_memory()
    try:
        code = program.main(args=arguments, prog_name="agnn", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Interrupted as interruption:
        sys.stderr.write(f"\ninterrupted: {interruption}\n")
        return INTERRUPTED
    except SystemExit as end:
        # rich ends the program so when nobody reads the help any more, as in `agnn --help | head`.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return 0
    except Exception as error:
        message = one_line(error)
        if message is None:
            raise
        sys.stderr.write(f"error: {message}\n")
        return 2
    return code if isinstance(code, int) else 0
