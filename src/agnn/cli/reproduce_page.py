"""`agnn reproduce --page`: one Markdown page from finished runs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.cli.reproduce_names import chosen_experiments, command_of
from agnn.cli.reproduce_report import TITLE, Account
from agnn.errors import InputError
from agnn.experiments import Choice, Drawing, Store, drawing_hash, import_rows

if TYPE_CHECKING:
    from pathlib import Path

_OPENING = """\
Every table and figure of the paper, as this package reruns them: the paper's figure, ours with its
standard error and number of runs in brackets, and the verdict. The command above a table makes it
again; finished runs are not repeated.

This page is generated from the runs in `{source}`:

    {command}
"""


def write_page(
    page: Path, names: list[str], choice: Choice, store: Path, rows: Path | None, out: Path
) -> None:
    """Write the page from the exported runs in `rows`, else from the store.

    Figures that were drawn in `out` are copied to a folder beside the page.
    """
    from agnn.report import adopt_figures, markdown_page, write_whole

    experiments = chosen_experiments(names, choice)
    kept = _finished(store, rows)
    try:
        for each in experiments:
            if isinstance(each, Drawing):
                adopt_figures(out, page.parent, each.name, drawing_hash(each))
        sections = [
            Account(each, command_of(each.name, choice), kept, page.parent).markdown
            for each in experiments
        ]
    finally:
        kept.close()
    opening = _opening(page, names, store, rows)
    write_whole(page, markdown_page(TITLE, opening, sections))


def _finished(store: Path, rows: Path | None) -> Store:
    if rows is not None:
        kept = Store.in_memory()
        import_rows(kept, rows)
        return kept
    if not store.is_file():
        raise InputError(f"there is no store '{store}'; give --store, or --rows with a folder.")
    return Store.open(store)


def _opening(page: Path, names: list[str], store: Path, rows: Path | None) -> str:
    source = (rows or store).as_posix()
    option = "--store" if rows is None else "--rows"
    command = f"agnn reproduce {' '.join(names)} --page {page.as_posix()} {option} {source}"
    return _OPENING.format(source=source, command=command)
