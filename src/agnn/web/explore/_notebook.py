"""The explorer in a notebook cell: the page of `share` in a frame, without a server."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agnn.errors import InputError, UnavailableError
from agnn.files import check_new_file, write_file
from agnn.runs import Run
from agnn.web.explore._explorer import Explorer
from agnn.web.explore._node_map import quick_map
from agnn.web.explore._shared_page import shared_page

_LOWEST: Final = 200  # pixels: below, nothing of the page is seen
# Scripts of its own, and files that the reader saves; nothing of the notebook around it.
_SANDBOX: Final = "allow-scripts allow-downloads allow-popups"


@dataclass(repr=False, eq=False)
class ExplorerCell:
    """The explorer as Jupyter, VS Code and marimo show it: a frame that holds the whole page."""

    page: str  # the HTML of the page
    title: str
    height: int = 760  # pixels

    @property
    def labels(self) -> dict[Hashable, str]:
        """The class that each node was given in the page, by node id; with the extra `notebook`."""
        raise UnavailableError(
            "labels come back from the page with anywidget: pip install 'agnn[notebook]', restart "
            "Python and make the explorer again."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title}, {len(self.page) / 1e6:.1f} MB)"

    def _repr_html_(self) -> str:
        """Return the frame; the page is inside, so that it is also there in a saved notebook."""
        return (
            f'<iframe title="{escape(self.title)}" sandbox="{_SANDBOX}" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #c5ccd3" '
            f'srcdoc="{escape(self.page)}"></iframe>'
        )

    def _mime_(self) -> tuple[str, str]:
        """Return the frame with its type, as marimo asks for it."""
        return "text/html", self._repr_html_()

    def save(self, path: Path | str) -> None:
        """Write the page to a new HTML file."""
        check_new_file(path)
        write_file(path, self.page.encode())


def explorer_cell(
    run: Run,
    *,
    cohort: str | None = None,
    nodes: Sequence[Hashable] | None = None,
    limit: int = 40,
    height: int = 760,
) -> ExplorerCell:
    """Return the explorer of some nodes of a run for a notebook cell; see `Run.explorer`.

    Where anywidget is installed, it is a widget whose page takes labels.

    The map has the layout that is kept with the run. Where there is none it shows principal
    components: UMAP takes several seconds.
    """
    if height < _LOWEST:
        raise InputError(f"`height` must be at least {_LOWEST} pixels; got {height}.")
    explorer = Explorer([run], quick_map(run))
    page = shared_page(explorer, cohort=cohort, nodes=nodes, limit=limit)
    title = f"{run.method.title} on {run.data.name}"
    if find_spec("anywidget") is None:
        return ExplorerCell(page, title, height)
    from agnn.web.explore._widget import ExplorerWidget

    return ExplorerWidget(page, title, height, run.data)
