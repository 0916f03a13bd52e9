"""`agnn explain`: the reasons for a prediction of a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Threads, use_threads
from agnn.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from agnn.explanation import Counterfactual, Explanation, ReachingNode

_LONGEST_WORDS = 5000


def explain(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    node: Annotated[str, typer.Argument(help="The node's id in the data.")],
    limit: Annotated[
        int, typer.Option(help="Neighbours, training nodes and features to list.")
    ] = 10,
    counterfactual: Annotated[
        bool,
        typer.Option(
            "--counterfactual",
            help="Also find the smallest set of neighbours whose removal changes the prediction.",
        ),
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="A new HTML file for the whole explanation.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Explain one prediction: its confidence, and the neighbours, training nodes, words behind it.

    Runs of AGNN, GCN and GLN can be explained. Numbers are means over the replicas.
    """
    from agnn import explanation
    from agnn.files import write_file
    from agnn.runs import load_run

    use_threads(threads)
    if html is not None:
        _check_new(html)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    place = trained.node(node)
    found = explanation.explain(trained, place, limit=limit)
    changed = explanation.counterfactual(trained, place) if counterfactual else None
    if html is not None:
        from agnn.report import explanation_page, surroundings_of

        page = explanation_page(found, surroundings_of(trained, place), changed)
        write_file(html, page.encode())
    if json:
        record = found.to_dict() | ({} if html is None else {"html": str(html)})
        if counterfactual:
            record["counterfactual"] = None if changed is None else changed.to_dict()
        write_json(record)
        return
    _show(found)
    if counterfactual:
        screen().print(_changed(found, changed), soft_wrap=True)
    if html is not None:
        screen().print(f"the page: {html}", soft_wrap=True)


def _check_new(html: Path) -> None:
    """Raise unless a new page can be written there; asked before the work, not after."""
    from agnn.files import check_new_file

    if html.exists() or html.is_symlink():
        raise InputError(f"'{html}' exists already; choose another --html.")
    check_new_file(html)


def _show(found: "Explanation") -> None:
    """Print the paragraph and the tables."""
    from agnn.report import shown_text

    console = screen()
    console.print(shown_text(found.in_words(), _LONGEST_WORDS))
    for note in found.notes:
        console.print(f"Note: {note}")
    console.print()
    console.print(_nodes("the node itself and its neighbours", (found.itself, *found.neighbours)))
    if found.rest.nodes:
        console.print(f"  ... and {found.rest.nodes:,} more with {found.rest.weight:.1%} of it")
    if found.training_nodes:
        console.print(_nodes("training nodes that reach it", found.training_nodes))
    if found.for_answer:
        answer = shown_text(found.prediction)
        console.print(_nodes(f"nodes that speak for {answer}", found.for_answer))
    second = shown_text(found.class_names[found.second])
    if found.for_second:
        console.print(_nodes(f"nodes that speak for {second}", found.for_second))
    if found.features:
        console.print(_features(found, second))


def _nodes(title: str, rows: "tuple[ReachingNode, ...]") -> "Table":
    """Ids are somebody else's text: letters that would move the cursor are marked."""
    from rich.table import Table

    from agnn.report import shown_text

    table = Table(
        "id", "class", "known from", "hops", "weight", "attention", "for it", "over second",
        title=title, title_justify="left", box=None,
    )  # fmt: skip
    for each in rows:
        attention = each.attention
        table.add_row(
            shown_text(each.id, 40), shown_text(each.class_name or "-", 32), each.class_from,
            str(each.hops), f"{each.weight:.1%}",
            "-" if attention is None else " ".join(f"{value:.3f}" for value in attention),
            f"{each.toward_answer:+.3f}", f"{each.over_second:+.3f}",
        )  # fmt: skip
    return table


def _features(found: "Explanation", second: str) -> "Table":
    from rich.table import Table

    from agnn.report import shown_text

    table = Table(
        "feature", "adds", f"feature for {second}", "adds ",
        title="features that speak for it, and for the second class",
        title_justify="left", box=None,
    )  # fmt: skip
    rows = max(len(found.features), len(found.features_for_second))
    ours = [(shown_text(f.name, 40), f"{f.toward_answer:+.3f}") for f in found.features]
    others = [(shown_text(f.name, 40), f"{f.over_second:+.3f}") for f in found.features_for_second]
    for k in range(rows):
        left = ours[k] if k < len(ours) else ("", "")
        table.add_row(*left, *(others[k] if k < len(others) else ("", "")))
    return table


def _changed(found: "Explanation", changed: "Counterfactual | None") -> str:
    from agnn.report import shown_text

    if changed is None:
        return "No set of neighbours was found whose removal changes the prediction."
    names = ", ".join(shown_text(each, 40) for each in changed.ids)
    answer = shown_text(found.class_names[changed.answer])
    proof = "no smaller set does it" if changed.is_smallest else "none of them can be spared"
    return f"Without {names} the prediction would be {answer}; {proof} ({changed.trials} trials)."
