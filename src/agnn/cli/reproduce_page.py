"""`agnn reproduce --page`: one Markdown page from finished runs alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agnn.cli.reproduce_run import TITLE, chosen_experiments, command_of
from agnn.errors import InputError
from agnn.experiments import Choice, Store, Table, compare, drawing_hash, import_rows

if TYPE_CHECKING:
    from pathlib import Path

_OPENING = """\
Every table and figure of the paper, as this package reruns them: the paper's figure, ours with its
standard error and number of runs in brackets, and the verdict. The command above a table makes it
again; finished runs are not repeated.

This page is generated from {source}:

    {command}
"""


def write_page(
    page: Path, names: list[str], choice: Choice, store: Path, rows: Path | None, out: Path
) -> None:
    """Write the page from the exported runs in `rows`, else from the store.

    Figures that were drawn in `out` are copied to a folder beside the page.
    """
    from agnn.report import (
        FIGURES,
        adopt_figures,
        comparison_markdown,
        drawing_markdown,
        drawn_figures,
        markdown_page,
        write_whole,
    )

    experiments = chosen_experiments(names, choice)
    if rows is None and not store.is_file():
        raise InputError(f"there is no store '{store}'; give --store, or --rows with a folder.")
    kept = Store.open(store) if rows is None else Store.in_memory()
    try:
        if rows is not None:
            import_rows(kept, rows)
        sections = []
        for each in experiments:
            command = command_of(each.name, choice)
            if isinstance(each, Table):
                sections.append(comparison_markdown(compare(each, kept), command))
                continue
            adopt_figures(out, page.parent, each.name, drawing_hash(each))
            stems = drawn_figures(page.parent, each.name)
            images = [f"{FIGURES}/{stem}.png" for stem in stems]
            sections.append(drawing_markdown(each, command, images))
    finally:
        kept.close()
    source = f"the runs in `{store if rows is None else rows}`"
    option = f"--store {store}" if rows is None else f"--rows {rows}"
    again = f"agnn reproduce {' '.join(names)} --page {page} {option}".replace(os.sep, "/")
    opening = _OPENING.format(source=source, command=again).rstrip()
    write_whole(page, markdown_page(TITLE, opening, sections))
