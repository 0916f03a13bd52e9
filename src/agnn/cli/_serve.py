"""`agnn explore` and `agnn serve`: a saved run over HTTP, for this machine unless you say more."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final
from urllib.parse import urlencode

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Quiet, RunFolder, Threads, use_threads
from agnn.errors import InputError


def explore(
    run: RunFolder,
    compare: Annotated[
        Path | None, typer.Option(help="A second run on the same data, shown beside the first.")
    ] = None,
    label_mode: Annotated[
        bool,
        typer.Option(
            "--label-mode", help="Give nodes a class in the page, and retrain with these labels."
        ),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="With --label-mode: the file that keeps the labels.",
            show_default="RUN.labels.jsonl, beside the run",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="With --label-mode: the folder for the retrained run; the next ones have -2, -3 "
            "... at its end.",
            show_default="RUN-labelled",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser.")
    ] = False,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Walk through a run in the browser: which neighbours each prediction depends on.

    Reads runs of every network that `agnn explain` can explain. The page is served at 127.0.0.1
    only, needs no other network, and runs until Ctrl-C. In label mode the link that is printed
    holds a token, without which nothing is shown or changed.
    """
    console = screen(is_error=True)
    if console.is_terminal and not json and run.is_dir():
        console.print(f"loading {run} ...", style="dim")  # what follows takes seconds
    from agnn.web import check_packages

    check_packages()
    from agnn.runs import load_run
    from agnn.web.explore import Explorer, Labelling, explore_app
    from agnn.web.server import bound_socket, run_server

    use_threads(threads)

    def working(step: str) -> None:
        if not json:
            console.print(step, style="dim")

    if compare is not None and label_mode:
        raise InputError("--label-mode shows one run; leave out --compare.")
    for name, value in (("--labels", labels), ("--out", out)):
        if value is not None and not label_mode:
            raise InputError(f"{name} goes with --label-mode.")
    bound_socket("127.0.0.1", port).close()  # a port that is taken is said before the work
    explorer = Explorer(
        [
            load_run(folder, trust_unchecked=allow_unchecked)
            for folder in (run, compare)
            if folder is not None
        ]
    )
    labelling = None
    if label_mode:
        base = run.absolute()
        labelling = Labelling(
            explorer,
            base,
            labels or base.with_name(f"{base.name}.labels.jsonl"),
            out or base.with_name(f"{base.name}-labelled"),
            trust_unchecked=allow_unchecked,
        )
        working(f"labels are kept in {labelling.file.path}")
    working("computing predictions and attention of all nodes ...")
    explorer.prepare()

    def report(address: str) -> None:
        token = {} if labelling is None else {"token": labelling.token}
        link = f"{address}/#{urlencode(token)}" if token else address
        if json:
            write_json({"address": address, **token})
        else:
            screen().print(f"{link}  (Ctrl-C ends it)", soft_wrap=True)
        if not no_browser:
            page = _page_to(link, pages.enter_context(TemporaryDirectory())) if token else link
            _open_page(page)

    with ExitStack() as pages:
        if labelling is not None:
            pages.callback(labelling.close)
        run_server(explore_app(explorer, labelling), port=port, ready=report)


def _page_to(link: str, folder: str) -> str:
    """A file of this user's alone that leads to the link, as an address.

    The command line of a browser can be read by every user of the machine.
    """
    page = Path(folder) / "explore.html"
    page.write_text(f'<meta http-equiv="refresh" content="0; url={link}">', encoding="utf-8")
    return page.as_uri()


def _open_page(address: str) -> None:
    """Open the address in the user's browser, which may take its time or not be there."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


_TOKEN: Final = "AGNN_TOKEN"  # noqa: S105 (the name of a variable)


def serve(
    run: RunFolder,
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
    from agnn.web.api import ServedModel, ServeOptions, find_token, served_application
    from agnn.web.guards import hosts_of
    from agnn.web.server import bound_socket, run_server

    use_threads(threads)
    if not 1 <= max_body <= 1024:
        raise InputError(f"`max_body` must be from 1 to 1024 MiB; got {max_body}.")
    token = find_token(token_file, _TOKEN)
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
