"""The packages that serving needs, asked for before anything is loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from agnn.errors import UnavailableError

_NEEDED: Final = ("fastapi", "uvicorn")


def check_packages() -> None:
    """Raise, with the way to get it, for a package that serving needs and that is not there."""
    for name in _NEEDED:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            raise UnavailableError(
                f"{error.name or name} is not installed, and models are served with it: "
                f"pip install 'agnn[serve]'."
            ) from error
