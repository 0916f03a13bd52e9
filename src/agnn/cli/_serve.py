"""`agnn serve`: a saved model over HTTP, for this machine only unless you choose an address."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Quiet, Threads, use_threads
from agnn.errors import InputError

_TOKEN: Final = "AGNN_TOKEN"  # noqa: S105 (the name of a variable)


def serve(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Anything but loopback exposes the model to other machines."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Another host name that requests may have, such as a proxy's; may be repeated."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help=f"A file with the token that every request must carry; else {_TOKEN} in the "
            f"environment, else none.",
            show_default=False,
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(help="Largest body of a request, in MiB.")] = 8,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Serve a saved model over HTTP: predict, explain, health, metrics.

    The address it prints has a page that lists the operations. Ctrl-C stops it.
    """
    from agnn.web import check_packages

    check_packages()
    from agnn.runs import load_run
    from agnn.web.api import ServedModel, ServeOptions, served_application
    from agnn.web.guards import hosts_of
    from agnn.web.server import bound_socket, run_server

    use_threads(threads)
    if not 1 <= max_body <= 1024:
        raise InputError(f"`max_body` must be from 1 to 1024 MiB; got {max_body}.")
    token = _token(token_file)
    bound_socket(host, port).close()  # a wrong address should not have to wait for the model
    model = ServedModel(load_run(run, trust_unchecked=allow_unchecked))
    model.warm()
    options = ServeOptions(
        hosts_of(host, allow_host or ()), token, max_body * 2**20, _discard if quiet else _log
    )
    _warn(host, token)
    title = model.run.method.title
    data = model.run.data.name

    def report(address: str) -> None:
        if json:
            write_json({"address": address, "run": str(run), "has_token": token is not None})
        else:
            line = f"{title} on {data} at {address} (Ctrl-C stops it)"
            screen().print(line, soft_wrap=True)

    run_server(served_application(model, options), host, port, ready=report)


def _token(file: Path | None) -> str | None:
    from agnn.web.api import checked_token, read_token

    if file is not None:
        return read_token(file)
    given = os.environ.get(_TOKEN)
    return None if given is None else checked_token(given, f"the environment's {_TOKEN}")


def _warn(host: str, token: str | None) -> None:
    from agnn.web.guards import is_loopback

    if not is_loopback(host) and token is None:
        screen(is_error=True).print(
            f"warning: anyone who reaches {host} can query this model, since there is no token; "
            f"--token-file or {_TOKEN} sets one.",
            soft_wrap=True,
        )


def _log(line: str) -> None:
    screen(is_error=True).print(line, soft_wrap=True)


def _discard(_line: str) -> None:
    """Drop a line of the log, for --quiet."""
