"""`agnn predict`: predictions of a saved model, for the nodes of its training or for new ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._arguments import Edges, Nodes, both_tables, given_options, reader_flag
from agnn.cli._console import rich_table, screen, write_json
from agnn.cli._options import AllowUnchecked, Backend, Device, Json, RunFolder, Threads, use_threads
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.data import NodeData, ReadOptions
    from agnn.decisions import AskedNodes, Rules, Wanted
    from agnn.runs import Predictions, Run

_ALL_LABELLED = "every node has a label; leave out --unlabelled."


def predict(
    run: RunFolder,
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
    decisions: dict[str, Any],
) -> None:
    """Predict classes with a saved model.

    Without tables, the nodes that it was trained with; with --nodes and --edges, new nodes. The
    columns are the id, prediction, label and is_labelled (not of new nodes), probability_of_CLASS
    for each class, and disagreement; then set and set_size, act_on_CLASS, novelty_p_value and
    is_novel, where they are asked for.
    """
    from agnn.decisions import Wanted
    from agnn.runs import Predictions, load_run

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
    wanted = Wanted(**decisions | {"costs": _two_numbers(decisions["costs"])})
    if batch is not None and not wanted.is_empty:
        raise InputError("--batch goes without decisions, which need the scores of all nodes.")
    if out is not None:
        Predictions.check_file(out)
    trained = load_run(run, device=device, backend=backend, trust_unchecked=allow_unchecked)
    rules = None if wanted.is_empty else wanted.calibrate(trained)
    files = trained.known.predictions
    if files is not None and out is not None and wanted.is_empty and not (out_of_fold or nodes):
        if unlabelled and trained.data.labelled.size == trained.data.nodes:
            raise InputError(_ALL_LABELLED)
        count = files.save(out, is_unlabelled=unlabelled)
        if json:
            write_json(_record(run, trained, count) | {"out": str(out)})
        else:
            _show_count(count, out)
        return
    warnings: list[str] = []
    if rules is not None:
        asked_nodes = _asked_nodes(
            trained, wanted, nodes, edges, options, out_of_fold=out_of_fold, new_graph=new_graph
        )
        predictions, warnings = rules.apply(asked_nodes)
    elif out_of_fold:
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
            raise InputError(_ALL_LABELLED)
    if out is not None:
        predictions.save(out)
    if json:
        record = _record(run, trained, len(predictions))
        if rules is not None:
            record["decisions"] = rules.to_dict() | {"warnings": warnings}
        more = {"predictions": predictions.to_dict()} if out is None else {"out": str(out)}
        write_json(record | more)
    else:
        _show(predictions, out)
        _show_rules(rules, warnings)


def _record(folder: Path, run: "Run", count: int) -> dict[str, Any]:
    """Return what `--json` prints of any prediction."""
    return {"run": str(folder), "method": run.method.name, "nodes": count}


def _check_tables(
    nodes: str | None, edges: str | None, options: dict[str, Any], *, is_new_graph: bool
) -> None:
    """Raise unless there are two tables, or none and no option that describes them."""
    if nodes is not None or edges is not None:
        both_tables(nodes, edges)
    elif is_new_graph or options:
        flag = "--new-graph" if is_new_graph else reader_flag(next(iter(options)))
        raise InputError(f"{flag} goes with --nodes and --edges.")


def _asked_nodes(
    trained: "Run",
    wanted: "Wanted",
    nodes: str | None,
    edges: str | None,
    options: dict[str, Any],
    *,
    out_of_fold: bool,
    new_graph: bool,
) -> "AskedNodes":
    """Return the nodes that the options mean, in the graph around them."""
    from agnn.decisions import AskedNodes

    if out_of_fold:
        return AskedNodes.out_of_fold(trained)
    if nodes is None or edges is None:
        return AskedNodes.known(trained)
    if new_graph:
        return AskedNodes.of_graph(trained, _new_graph(trained.data, nodes, edges, options))
    return AskedNodes.new(trained, nodes, edges, has_neighbours=wanted.has_neighbours, **options)


def _two_numbers(costs: str | None) -> tuple[float, float] | None:
    """Return the costs of a false alarm and of a miss in text such as 1,5."""
    if costs is None:
        return None
    try:
        false_alarm, miss = (float(number) for number in costs.split(","))
    except ValueError as error:
        raise InputError(
            f"--costs takes two numbers, of a false alarm and of a miss, such as 1,5; got "
            f"'{costs}'."
        ) from error
    return false_alarm, miss


def _new_graph(data: "NodeData", nodes: str, edges: str, options: dict[str, Any]) -> "NodeData":
    from agnn.data.tables import read_tables

    if data.preprocessing is None:
        raise InputError(f"'{data.name}' was not made from a table: no table fits its model.")
    return read_tables(
        nodes, edges, preprocessing=data.preprocessing, class_names=data.class_names, **options
    )


def _show_count(count: int, out: Path) -> None:
    screen().print(f"{count:,} predictions written to {out}", soft_wrap=True)


def _show(predictions: "Predictions", out: Path | None) -> None:
    """Print the first predictions, or where all of them are."""
    count = len(predictions)
    if out is not None:
        _show_count(count, out)
        return
    console = screen()
    table = predictions.table
    console.print(rich_table(table))
    if count > len(table.rows):
        unlisted = count - len(table.rows)
        console.print(f"... and {unlisted:,} more; --out FILE.csv writes them all.")


def _show_rules(rules: "Rules | None", warnings: list[str]) -> None:
    """Print what the decisions promise, how the sets do in each class, and what to beware of."""
    if rules is None:
        return
    console = screen()
    if rules.sets is not None:
        console.print(rich_table(rules.sets.table))
    for sentence in rules.sentences:
        console.print(sentence, soft_wrap=True)
    for warning in warnings:
        console.print(f"Warning: {warning}", style="yellow", soft_wrap=True)
