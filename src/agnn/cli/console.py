"""Where the program writes: results to standard output, all else to standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agnn.files import json_text

if TYPE_CHECKING:
    from rich.console import Console


def screen(*, is_error: bool = False) -> Console:
    """Standard output, or standard error, for words and tables; nothing in them is markup."""
    from rich.console import Console

    return Console(stderr=is_error, markup=False, highlight=False, emoji=False)


def write_json(value: Any) -> None:
    """Write one JSON value and a line end to standard output."""
    sys.stdout.write(json_text(value))
    sys.stdout.flush()
