"""Optional packages, asked for by the function that needs them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from agnn.errors import UnavailableError


@cache  # asked for once a column
def tables_package(name: str) -> Any:
    """The module `name` of pandas, pyarrow or networkx, or an error that says how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise UnavailableError(
            f"{package} is not installed, and tables and graph files are read with it: "
            f"pip install 'agnn[tables]'."
        ) from error
