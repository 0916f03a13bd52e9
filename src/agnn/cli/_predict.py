"""`agnn predict`: predictions of a saved model, for the nodes of its training or for new ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._arguments import Edges, Nodes, both_tables, flag_of, given_options
from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Backend, Device, Json, Threads, use_threads
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.data import NodeData, ReadOptions
    from agnn.runs import Predictions

_SHOWN = 10


def predict(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    nodes: Nodes = None,
    edges: Edges = None,
    new_graph: Annotated[
        bool,
        typer.Option(
            "--new-graph",
            help="The tables are a separate graph, not new nodes with edges to the old ones.",
        ),
    ] = False,
    batch: Annotated[
        int | None,
        typer.Option(
            help="Nodes to compute at a time.", show_default="all, or as many as fit in memory"
        ),
    ] = None,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Only the nodes that have no label.")
    ] = False,
    out_of_fold: Annotated[
        bool,
        typer.Option(
            "--out-of-fold",
            help="Only the tested nodes, each predicted by models that were not trained on its "
            "label.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="A new .csv or .parquet file for the predictions.")
    ] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
    *,
    read: "ReadOptions",
) -> None:
    """Predict classes with a saved model.

    Without tables, the nodes that it was trained with; with --nodes and --edges, new nodes. The
    columns are the id, prediction, label and is_labelled (not of new nodes), probability_of_CLASS
    for each class, and disagreement.
    """
    from agnn.runs import check_table_file, load_run

    options = given_options(read)
    use_threads(threads)
    _check_tables(nodes, edges, options, is_new_graph=new_graph)
    if batch is not None and nodes is not None:
        raise InputError("--batch goes without --nodes: new nodes are computed at once.")
    if unlabelled and nodes is not None and not new_graph:
        raise InputError("--unlabelled goes without --nodes: new nodes have no labels.")
    for option, value in {"--nodes": nodes, "--batch": batch, "--unlabelled": unlabelled}.items():
        if out_of_fold and value:
            raise InputError(f"--out-of-fold is for labelled nodes of the run; leave out {option}.")
    if out is not None:
        check_table_file(out)
    trained = load_run(run, device=device, backend=backend, trust_unchecked=allow_unchecked)
    if out_of_fold:
        predictions = trained.predict_out_of_fold()
    elif nodes is None or edges is None:
        predictions = trained.predict(batch=batch)
    elif new_graph:
        predictions = trained.predict_graph(_new_graph(trained.data, nodes, edges, options))
    else:
        predictions = trained.predict_new(nodes, edges, **options)
    if unlabelled:
        predictions = predictions.unlabelled()
        if not len(predictions):
            raise InputError("every node has a label; leave out --unlabelled.")
    if out is not None:
        predictions.save(out)
    if json:
        record = {"run": str(run), "method": trained.method.name, "nodes": len(predictions)}
        more = {"predictions": predictions.to_dict()} if out is None else {"out": str(out)}
        write_json(record | more)
    else:
        _show(predictions, out)


def _check_tables(
    nodes: str | None, edges: str | None, options: dict[str, Any], *, is_new_graph: bool
) -> None:
    """Raise unless there are two tables, or none and no option that describes them."""
    if nodes is not None or edges is not None:
        both_tables(nodes, edges)
    elif is_new_graph or options:
        flag = "--new-graph" if is_new_graph else flag_of(next(iter(options)))
        raise InputError(f"{flag} goes with --nodes and --edges.")


def _new_graph(known: "NodeData", nodes: str, edges: str, options: dict[str, Any]) -> "NodeData":
    from agnn.data.tables import read_tables

    if known.preprocessing is None:
        raise InputError(f"'{known.name}' was not made from a table: no table fits its model.")
    return read_tables(
        nodes, edges, preprocessing=known.preprocessing, class_names=known.class_names, **options
    )


def _show(predictions: "Predictions", out: Path | None) -> None:
    """Print the first predictions, or where all of them are."""
    from rich.table import Table

    console = screen()
    count = len(predictions)
    if out is not None:
        console.print(f"{count:,} predictions written to {out}", soft_wrap=True)
        return
    table = Table("id", "prediction", "probability", "disagreement", box=None)
    for k in range(min(count, _SHOWN)):
        table.add_row(
            str(predictions.ids[k]),
            predictions.classes[k],
            f"{predictions.confidence[k]:.3f}",
            f"{predictions.disagreement[k]:.2f}",
        )
    console.print(table)
    if count > _SHOWN:
        console.print(f"... and {count - _SHOWN:,} more; --out FILE.csv writes them all.")
