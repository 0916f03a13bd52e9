"""Where the program writes: results to standard output, all else to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from agnn.files import json_text

if TYPE_CHECKING:
    from rich.console import Console


def screen(*, is_error: bool = False) -> Console:
    """Standard output, or standard error, for words and tables; nothing in them is markup."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:  # rich would end the program with exit code 1
            drop_output()

    return Screen(stderr=is_error, markup=False, highlight=False, emoji=False)


def write_json(value: Any) -> None:
    """Write one JSON value and a line end to standard output."""
    try:
        sys.stdout.write(json_text(value))
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Write to nowhere from now on: the reader of a pipe, such as `head`, has seen enough."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
