"""The explorer in a notebook cell as a widget: the labels of its page come back to Python."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import anywidget
from pydantic import ValidationError
from traitlets import Dict, List, Unicode

from agnn.data import NodeData
from agnn.runs import LabelEntry, last_labels
from agnn.web.explore._label_card import GivenLabel, label_record
from agnn.web.explore._notebook import ExplorerCell

_SCRIPT: Final = Path(__file__).parent / "static" / "widget.js"


def _known_entries(entries: Any, widget: ExplorerWidget) -> Any:
    """Return what the page sent without entries about nodes or classes that the data have not."""
    return [e for e in entries if widget.knows(e)] if isinstance(entries, list) else entries


class ExplorerWidget(ExplorerCell, anywidget.AnyWidget):  # type: ignore[misc]
    """The explorer as a widget: its page has a card to give classes to nodes, `labels` has them.

    The page stays in its sandboxed frame. It sends what was given and undone to the script around
    it, which keeps it in `entries`; Python checks that and answers with `kept`, which the page
    shows, in every view of the widget.
    """

    _esm = _SCRIPT.read_text(encoding="utf-8")
    frame = Unicode().tag(sync=True)
    entries = List().tag(sync=True, from_json=_known_entries)
    kept = Dict().tag(sync=True)

    def __init__(self, page: str, title: str, height: int, data: NodeData) -> None:
        ExplorerCell.__init__(self, page, title, height)
        self._data = data
        anywidget.AnyWidget.__init__(self, frame=self._repr_html_(), kept=self._record())
        self.observe(lambda _: self.set_trait("kept", self._record()), "entries")

    @property
    def labels(self) -> dict[Hashable, str]:
        """The class that each node was given in the page, by node id; see `Run.retrain`."""
        data = self._data
        labels = last_labels(self._given())
        return {data.node_ids[node]: data.class_names[label] for node, label in labels.items()}

    def knows(self, entry: Any) -> bool:
        """Whether this is a class and nodes of the data, as the page gives them."""
        try:
            given = GivenLabel.model_validate(entry)
        except ValidationError:
            return False
        return max(given.nodes) < self._data.nodes and given.label < self._data.classes

    def _given(self) -> list[LabelEntry]:
        return [LabelEntry(tuple(entry["nodes"]), entry["label"]) for entry in self.entries]

    def _record(self) -> dict[str, Any]:
        """Return what the card shows; the count makes every change one that the page hears of."""
        record = label_record(self._data, self._given())
        return record | {"file": "Python", "count": len(self.entries)}
