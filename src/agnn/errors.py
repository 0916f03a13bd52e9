"""The errors a user can meet, each with one line that says what was given and what to do.

>>> import agnn
>>> agnn.get_method("agn")
Traceback (most recent call last):
agnn.errors.InputError: unknown method 'agn'; did you mean 'agnn'?

All of them are kinds of `AgnnError`, so one `except` catches what the package raises on purpose.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class AgnnError(Exception):
    """Base of every error that agnn raises on purpose; the command line prints it and exits 2."""


class InputError(AgnnError, ValueError):
    """An argument is not what the operation takes."""


class UnknownNodeError(InputError):
    """No node has the id that was asked for."""


class DataError(AgnnError, ValueError):
    """A file or a dataset is damaged, inconsistent or not what it claims to be."""


class UnavailableError(AgnnError):
    """Something asked for by name is not on this machine: a device, a backend, a package."""


class DivergedError(AgnnError):
    """Training ended without a single replica of finite weights."""


class StoppedError(AgnnError):
    """Training was stopped on request, between two epochs."""


class ResultWarning(UserWarning):
    """A trained run has something that a reader of its accuracy must know; see `run.warnings`."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return an error for a name that is not in `known`, with the nearest one that is."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}."
    return InputError(f"unknown {kind} '{name}'; {hint}")


def import_extra(module: str, purpose: str, install: str) -> Any:
    """Return a package that agnn does without where nobody asks for what it does.

    >>> import_extra("json", "files are written with it", "agnn[tables]").dumps([1])
    '[1]'
    >>> import_extra("no_such_one", "files are read with it", "agnn[tables]")
    Traceback (most recent call last):
    agnn.errors.UnavailableError: no_such_one is not installed, and files are read with it: pip ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = (error.name or module).partition(".")[0]
        raise UnavailableError(
            f"{package} is not installed, and {purpose}: pip install '{install}'."
        ) from error
