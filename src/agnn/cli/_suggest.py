"""`agnn suggest`: which nodes to label next."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._arguments import Edges, Nodes, find_data, flag_of, given_options
from agnn.cli._console import rich_table, screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Threads, use_threads
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.data import ReadOptions


def suggest(
    run: Annotated[
        str | None,
        typer.Argument(
            help="A folder that `agnn train --out` wrote; or a .graphml, .gexf or .npz file.",
            show_default="--nodes and --edges",
        ),
    ] = None,
    nodes: Nodes = None,
    edges: Edges = None,
    count: Annotated[int, typer.Option(help="Nodes to suggest.")] = 20,
    out: Annotated[Path | None, typer.Option(help="A new .csv file for the list.")] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
    *,
    read: "ReadOptions",
) -> None:
    """Suggest which nodes to label next, also before there is any label.

    Those that stand for most nodes without a label, by their features and their neighbours'; none
    is like another or like a labelled one. Label them, and ask again for the next.
    """
    from agnn import decisions
    from agnn.files import check_new_file, write_file
    from agnn.runs import load_run

    use_threads(threads)
    if count < 1:
        raise InputError(f"--count must be at least 1; got {count}.")
    if out is not None:
        if out.suffix.lower() != ".csv":
            raise InputError(f"'{out}' must end in .csv to be written.")
        check_new_file(out)
    is_run = run is not None and Path(run).is_dir()
    if is_run:
        tables = {"nodes": nodes, "edges": edges} | given_options(read)
        for name, value in tables.items():
            if value is not None:
                raise InputError(f"{flag_of(name)} goes without a run, which has its own data.")
    if run is not None and is_run:
        suggestions = decisions.suggest(load_run(run, trust_unchecked=allow_unchecked), count)
    else:
        suggestions = decisions.suggest(find_data(run, nodes, edges, None, read), count)
    if out is not None:
        write_file(out, suggestions.table.csv())
    if json:
        written = {} if out is None else {"out": str(out)}
        write_json({"run": run if is_run else None, **suggestions.to_dict(), **written})
        return
    console = screen()
    for sentence in suggestions.sentences:
        console.print(sentence)
    console.print()
    console.print(rich_table(suggestions.table))
    if out is not None:
        console.print(f"the list: {out}", soft_wrap=True)
