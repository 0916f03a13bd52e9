"""`agnn explain`: the reasons for a prediction of a saved model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import print_table, screen, write_json
from agnn.cli._options import AllowUnchecked, Json, RunFolder, Threads, use_threads
from agnn.errors import InputError
from agnn.palette import AGAINST, FOR

if TYPE_CHECKING:
    from agnn.explanation import Counterfactual, Explanation

_LONGEST_WORDS = 5000
_CLASSES = 4  # shown with their probabilities
_CHANCE = 24  # letters of the longest bar of a probability
_NAME = 24  # letters of what carries a prediction, at least


def explain(
    run: RunFolder,
    node: Annotated[str, typer.Argument(help="The node's id in the data.")],
    *,
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
    index = trained.node(node)
    explained = explanation.explain(trained, index, limit=limit)
    changed = explanation.Counterfactual.of(trained, index) if counterfactual else None
    if html is not None:
        from agnn.report import explanation_page, surroundings_of

        page = explanation_page(explained, surroundings_of(trained, index), changed)
        write_file(html, page.encode())
    if json:
        record = explained.to_dict() | ({} if html is None else {"html": str(html)})
        if counterfactual:
            record["counterfactual"] = None if changed is None else changed.to_dict()
        write_json(record)
        return
    _show_summary(explained)
    if full:
        _show(explained)
    if counterfactual:
        screen().print(_change_text(explained, changed))
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


def _show_summary(explanation: "Explanation") -> None:
    """Print the prediction, the probabilities and the waterfall: one screen of 80 columns."""
    from rich.table import Table
    from rich.text import Text

    from agnn.report import waterfall
    from agnn.tables import shown_text, signed_number

    console = screen()
    names = [shown_text(name, 30) for name in explanation.class_names]
    title = Text(f"{shown_text(explanation.name, 40)}: {names[explanation.answer]}, ", style="bold")
    title.append(f"{explanation.confidence:.1%}")
    if explanation.label >= 0 and not explanation.trained_in:
        is_right = explanation.label == explanation.answer
        verdict = "  correct" if is_right else f"  wrong, the label is {names[explanation.label]}"
        title.append(verdict, style="green" if is_right else "red")
    console.print(title)
    console.print(shown_text(explanation.sentence, _LONGEST_WORDS))
    console.print()
    named = max(_NAME, *(len(step.name) for step in explanation.lead.steps))
    named = min(named, max(_NAME, console.width - 45))
    columns = max(12, min(console.width, 100) - 33 - named)
    for k in explanation.order[:_CLASSES]:
        mark = "  (label)" if k == explanation.label else ""
        length = max(1, round(_CHANCE * float(explanation.probabilities[k])))
        line = Text(f" {names[k]:<30} ")
        line.append(
            "\N{FULL BLOCK}" * length, style="blue" if k == explanation.answer else "bright_black"
        )
        console.print(line.append(f" {explanation.probabilities[k]:.1%}{mark}"))
    console.print()
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("what carries it", width=named, no_wrap=True)
    table.add_column(f"over {names[explanation.second]}", width=columns, no_wrap=True)
    table.add_column("adds", width=5, justify="right", no_wrap=True)
    table.add_column("class", width=18, no_wrap=True, style="dim")
    bars = waterfall(explanation)
    for row in bars.bars:
        colour = (AGAINST if row.step.value < 0 else FOR).terminal
        label = shown_text(row.step.label or "", 18)
        name = shown_text(row.step.name, named)
        bar = Text(_block(row.left, row.width, columns), style=colour)
        table.add_row(name, bar, signed_number(row.step.value), label)
    lead = Text(signed_number(explanation.margin), style="bold")
    bar = Text(_block(bars.total.left, bars.total.width, columns), style="bright_black")
    table.add_row(Text("lead", style="bold"), bar, lead, "")
    console.print(table)
    for note in explanation.notes:
        console.print(f"Note: {note}")


def _block(left: float, width: float, columns: int) -> str:
    """Return a bar as text that is `columns` characters wide; its ends are in percent of them."""
    start = min(round(columns * left / 100), columns - 1)
    end = max(start + 1, round(columns * (left + width) / 100))
    return " " * start + "\N{FULL BLOCK}" * (min(end, columns) - start)


def _show(explanation: "Explanation") -> None:
    """Print the paragraph and the tables."""
    from agnn.report import explanation_tables
    from agnn.tables import share_text, shown_text

    console = screen()
    console.print()
    console.print(shown_text(explanation.in_words(), _LONGEST_WORDS))
    for key, table in explanation_tables(explanation).items():
        print_table(table, gap=1)
        if key == "neighbours" and explanation.rest.nodes:
            share = f"{share_text(explanation.rest.weight)} of the weight"
            console.print(f" ... and {explanation.rest.nodes:,} more with {share}")


def _change_text(explanation: "Explanation", changed: "Counterfactual | None") -> str:
    from agnn.tables import shown_text

    if changed is None:
        return "No set of neighbours was found whose removal changes the prediction."
    names = ", ".join(shown_text(node_id, 40) for node_id in changed.ids)
    answer = shown_text(explanation.class_names[changed.answer])
    proof = "no smaller set does it" if changed.is_smallest else "none of them can be spared"
    return f"Without {names} the prediction would be {answer}; {proof} ({changed.trials} trials)."
