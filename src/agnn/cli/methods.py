"""`agnn methods`: what can be trained, and by which hyper-parameters."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from agnn.cli.console import screen, write_json
from agnn.cli.options import Json

if TYPE_CHECKING:
    from agnn.methods import Method


def methods(json: Json = False) -> None:
    """List the methods with their sources and hyper-parameters."""
    from agnn.methods import get_method, method_names

    facts = [_facts(get_method(name)) for name in method_names()]
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
    console.print("The paper's presets change these for its datasets; --json lists them.")


def _facts(method: "type[Method]") -> dict[str, Any]:
    return {
        "name": method.name,
        "title": method.title,
        "source": method.cites,
        "description": (method.__doc__ or "").splitlines()[0],
        "hyper_parameters": {field.name: field.default for field in fields(method)},
        "presets": [
            {"setting": setting, "dataset": dataset, "hyper_parameters": dict(values)}
            for (setting, dataset), values in method.presets.items()
        ],
    }
