"""Where the program writes: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def screen(*, is_error: bool = False) -> Console:
    """Standard output, or standard error, for words and tables; nothing in them is markup."""
    from rich.console import Console

    return Console(stderr=is_error, markup=False, highlight=False, emoji=False)


def write_json(value: Any) -> None:
    """Write one JSON value and a line end to standard output."""
    sys.stdout.write(json.dumps(plain(value), allow_nan=False) + "\n")
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """The same value in what JSON has: tuples as lists, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
