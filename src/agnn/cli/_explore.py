"""`agnn explore`: a run as a page in the browser, served to this machine alone."""

from pathlib import Path
from typing import Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Threads, use_threads


def explore(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    compare: Annotated[
        Path | None, typer.Option(help="A second run on the same data, shown beside the first.")
    ] = None,
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser.")
    ] = False,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Walk through a run in the browser: which neighbours each prediction depends on.

    Reads runs of every network that `agnn explain` can explain. The page is served at 127.0.0.1
    only, needs no other network, and runs until Ctrl-C.
    """
    from agnn.web import check_packages

    check_packages()
    from agnn.runs import load_run
    from agnn.web.explore import Explorer, explore_app
    from agnn.web.server import bound_socket, run_server

    use_threads(threads)

    def working(words: str) -> None:
        if not json:
            screen(is_error=True).print(words, style="dim")

    bound_socket("127.0.0.1", port).close()  # a port that is taken is said before the work
    explorer = Explorer(
        [
            load_run(each, trust_unchecked=allow_unchecked)
            for each in (run, compare)
            if each is not None
        ]
    )
    working("computing predictions and attention of all nodes ...")
    explorer.prepare()

    def told(address: str) -> None:
        if json:
            write_json({"address": address})
        else:
            screen().print(f"{address}  (Ctrl-C ends it)", soft_wrap=True)
        if not no_browser:
            _open_page(address)

    run_server(explore_app(explorer), port=port, ready=told)


def _open_page(address: str) -> None:
    """Open the address in the user's browser, which may take its time or not be there."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
