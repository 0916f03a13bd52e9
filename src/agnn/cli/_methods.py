"""`agnn methods`: the methods and their hyper-parameters."""

from dataclasses import fields
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import Json

if TYPE_CHECKING:
    from agnn.methods import Method


def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="Show only this method, in more detail."),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods with their sources and hyper-parameters."""
    from agnn.methods import get_method, method_names

    wanted = method_names() if name is None else (get_method(name).name,)
    facts = [_facts(get_method(each)) for each in wanted]
    if json:
        write_json({"methods": facts})
        return
    from rich.padding import Padding

    console = screen()
    for fact in facts:
        console.print(f"{fact['name']}: {fact['title']}, {fact['source']}", style="bold")
        console.print(Padding(fact["description"], (0, 0, 0, 2)))
        values = (f"{name} {value}" for name, value in fact["hyper_parameters"].items())
        console.print(Padding(", ".join(values), (0, 0, 1, 2)))
        if name is not None:
            _print_more(fact)
    console.print("The paper's presets change these for its datasets; --json lists them.")


def _print_more(fact: dict[str, Any]) -> None:
    """Print what the list leaves out: the whole description, and what `--tuned` tries."""
    from rich.padding import Padding

    console = screen()
    if fact["details"]:
        console.print(Padding(fact["details"], (0, 0, 1, 2)), markup=False)
    uses = "Uses" if fact["uses_edge_weights"] else "Does not use"
    console.print(Padding(f"{uses} edge weights.", (0, 0, 1, 2)))
    if fact["grid"]:
        tried = (f"{name} {', '.join(map(str, each))}" for name, each in fact["grid"].items())
        console.print(Padding(f"--tuned tries {'; '.join(tried)}", (0, 0, 1, 2)))


def _facts(method: "type[Method]") -> dict[str, Any]:
    description, _, details = (getdoc(method) or "").partition("\n")
    return {
        "name": method.name,
        "title": method.title,
        "source": method.cites,
        "grid": {field: list(values) for field, values in method.grid.items()},
        "description": description,
        "details": _unwrapped(details.strip("\n")),
        "uses_edge_weights": method.uses_edge_weights,
        "hyper_parameters": {field.name: field.default for field in fields(method)},
        "presets": [
            {"setting": setting, "dataset": dataset, "hyper_parameters": dict(values)}
            for (setting, dataset), values in method.presets.items()
        ],
    }


def _unwrapped(text: str) -> str:
    """The text with each paragraph on one line; indented formulas keep their lines."""
    return "\n\n".join(
        part if part.startswith(" ") else part.replace("\n", " ") for part in text.split("\n\n")
    )
