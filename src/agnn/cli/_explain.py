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
    from agnn.report import Bar

_LONGEST_WORDS = 5000
_CLASSES = 4  # shown with their probabilities


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
    full: Annotated[
        bool,
        typer.Option("--full", help="Also print all tables: nodes, training nodes, features."),
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="A new HTML file for the whole explanation.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Explain one prediction: why this class leads the second one, node by node.

    Numbers are means over the replicas. docs/explanations.md lists the methods that can be
    explained.
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
    _show_summary(found)
    if full:
        _show(found)
    if counterfactual:
        screen().print(_changed(found, changed))
    if html is not None:
        screen().print(f"the page: {html}", soft_wrap=True)
    if not full and screen().is_terminal:
        screen().print("--full prints all tables; agnn explore shows the picture", style="dim")


def _check_new(html: Path) -> None:
    """Raise unless a new page can be written there; asked before the work, not after."""
    from agnn.files import check_new_file

    if html.exists() or html.is_symlink():
        raise InputError(f"'{html}' exists already; choose another --html.")
    check_new_file(html)


def _show_summary(found: "Explanation") -> None:
    """Print the prediction, the probabilities and the waterfall: one screen of 80 columns."""
    from rich.table import Table
    from rich.text import Text

    from agnn.report import shown_text, signed, waterfall

    console = screen()
    names = [shown_text(name, 30) for name in found.class_names]
    title = Text(f"{shown_text(found.name, 40)}: {names[found.answer]}, ", style="bold")
    title.append(f"{found.confidence:.1%}")
    if found.label >= 0 and not found.trained_in:
        is_right = found.label == found.answer
        words = "  correct" if is_right else f"  wrong, the label is {names[found.label]}"
        title.append(words, style="green" if is_right else "red")
    console.print(title)
    console.print(shown_text(found.sentence, _LONGEST_WORDS))
    console.print()
    columns = max(12, min(console.width, 100) - 57)
    for k in found.order[:_CLASSES]:
        mark = "  (label)" if k == found.label else ""
        length = max(1, round(columns * float(found.probabilities[k])))
        line = Text(f" {names[k]:<30} ")
        line.append(
            "\N{FULL BLOCK}" * length, style="blue" if k == found.answer else "bright_black"
        )
        console.print(line.append(f" {found.probabilities[k]:.1%}{mark}"))
    console.print()
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("what carries it", width=24, no_wrap=True)
    table.add_column(f"over {names[found.second]}", width=columns, no_wrap=True)
    table.add_column("adds", width=5, justify="right", no_wrap=True)
    table.add_column("class", width=18, no_wrap=True, style="dim")
    bars = waterfall(found)
    for each in bars.bars:
        colour = "orange3" if each.step.value < 0 else "blue"
        label, name = shown_text(each.step.label or "", 18), shown_text(each.step.name, 24)
        bar = Text(_block(each, columns), style=colour)
        table.add_row(name, bar, signed(each.step.value), label)
    lead = Text(signed(found.margin), style="bold")
    bar = Text(_block(bars.total, columns), style="bright_black")
    table.add_row(Text("lead", style="bold"), bar, lead, "")
    console.print(table)
    for note in found.notes:
        console.print(f"Note: {note}")


def _block(bar: "Bar", columns: int) -> str:
    """The bar as text that is `columns` characters wide."""
    start = min(round(columns * bar.left / 100), columns - 1)
    end = max(start + 1, round(columns * (bar.left + bar.width) / 100))
    return " " * start + "\N{FULL BLOCK}" * (min(end, columns) - start)


def _show(found: "Explanation") -> None:
    """Print the paragraph and the tables."""
    from agnn.report import shown_text

    console = screen()
    console.print()
    console.print(shown_text(found.in_words(), _LONGEST_WORDS))
    second = shown_text(found.class_names[found.second])
    tables = [
        (
            "the node itself and the nodes with the largest weight",
            (found.itself, *found.neighbours),
        ),
        ("training nodes that reach it", found.training_nodes),
        (f"nodes that contribute most to {shown_text(found.prediction)}", found.for_answer),
        (f"nodes that contribute most to {second}", found.for_second),
    ]
    for title, rows in tables:
        if rows:
            console.print()
            console.print(_nodes(title, rows))
        if rows and rows[0] is found.itself and found.rest.nodes:
            left = f"{found.rest.weight:.1%} of the weight"
            console.print(f" ... and {found.rest.nodes:,} more with {left}")
    if found.features:
        console.print()
        console.print(_features(found, second))


def _nodes(title: str, rows: "tuple[ReachingNode, ...]") -> "Table":
    """Ids are somebody else's text: letters that would move the cursor are marked."""
    from rich.table import Table

    from agnn.report import shown_text

    has_weights = any(each.edge_weight is not None for each in rows)
    own = ("edge weight",) if has_weights else ()
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for name in ("id", "class", "known from"):
        table.add_column(name)
    for name in ("hops", *own, "weight", "attention", "contribution", "over second"):
        table.add_column(name, justify="right")
    for each in rows:
        attention = each.attention
        own = ("-" if each.edge_weight is None else f"{each.edge_weight:g}",) if has_weights else ()
        table.add_row(
            shown_text(each.name, 40), shown_text(each.class_name or "-", 32), each.class_from,
            str(each.hops), *own, f"{each.weight:.1%}",
            "-" if attention is None else " ".join(f"{value:.3f}" for value in attention),
            f"{each.toward_answer:+.3f}", f"{each.over_second:+.3f}",
        )  # fmt: skip
    return table


def _features(found: "Explanation", second: str) -> "Table":
    from rich.table import Table

    from agnn.report import shown_text

    table = Table(
        title="features that contribute most to it, and to the second class",
        title_justify="left", title_style="bold", box=None,
    )  # fmt: skip
    for name in ("feature", f"feature for {second}"):
        table.add_column(name)
        table.add_column("adds", justify="right")
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
