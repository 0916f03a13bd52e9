"""The explorer in one file, for the page with the five pictures."""

from __future__ import annotations

from pathlib import Path

import agnn

PAGE = "pictures/live.html"
_PAPER = "1131150"  # the one of the pictures


def write_live_page(docs: Path) -> None:
    """Train what the pictures show, and share one paper of it in the folder of the pages."""
    path = docs / PAGE
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    run = agnn.evaluate("agnn", agnn.load_dataset("cora"), split="fixed", replicas=10)
    agnn.share(run, path, nodes=[_PAPER])
