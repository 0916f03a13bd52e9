"""`agnn reproduce --list`: what can be rerun."""

from __future__ import annotations

from agnn.cli.console import screen, write_json


def show_list(*, as_json: bool) -> None:
    """The experiments of the package in the paper's order."""
    from agnn.experiments import NAMES, bundled

    found = [bundled(name) for name in NAMES]
    if as_json:
        facts = [{"name": e.name, "place": e.place, "title": e.title} for e in found]
        write_json({"experiments": facts})
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, show_header=False, padding=(0, 2, 0, 0))
    for each in found:
        grid.add_row(each.name, each.place, each.title)
    screen().print(grid)
