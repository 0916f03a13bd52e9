"""The methods by name."""

from __future__ import annotations

from typing import TypeVar

from agnn.errors import unknown_name
from agnn.methods.protocol import Method

_METHODS: dict[str, type[Method]] = {}


M = TypeVar("M", bound=type[Method])


def register(method: M) -> M:
    """Class decorator: make the method known under its name."""
    if method.name in _METHODS:
        raise ValueError(f"two methods are called '{method.name}'")
    _METHODS[method.name] = method
    return method


def method_names() -> tuple[str, ...]:
    """The names of all methods, in alphabetical order."""
    return tuple(sorted(_METHODS))


def get_method(name: str) -> type[Method]:
    """The method of this name."""
    if name.lower() not in _METHODS:
        raise unknown_name("method", name, _METHODS)
    return _METHODS[name.lower()]
