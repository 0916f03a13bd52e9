"""A TOML table that is read key by key: each with its kind, none left over."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, overload

from agnn.errors import DataError
from agnn.experiments.spec import is_finite_number

_REQUIRED: Any = object()


class Keys:
    """The keys of one TOML table; `where` is the file, and the place in it where it is nested."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values, self.where = values, where
        self.asked: list[str] = []

    def error(self, key: str, words: str) -> DataError:
        """An error that names file and key."""
        return DataError(f"{self.where}: `{key}` {words}.".replace("..", "."))

    def finish(self) -> None:
        """Raise if the table holds a key that nobody asked for."""
        for key in self.values:
            if key not in self.asked:
                near = difflib.get_close_matches(key, self.asked, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(self.asked)}."
                raise DataError(f"{self.where}: unknown key `{key}`; {hint}")

    def text(self, key: str, default: str = _REQUIRED) -> str:
        """A text."""
        found: str = self._of_kind(key, str, "a text", default)
        return found

    def optional_text(self, key: str) -> str | None:
        """A text, or None where the key is absent."""
        found: str | None = self._of_kind(key, str, "a text", None)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where the key is absent."""
        found: list[Any] = self._of_kind(key, list, "a list of texts", [])
        if not all(isinstance(each, str) for each in found):
            raise self.error(key, "must be a list of texts")
        return tuple(found)

    def count(self, key: str, default: int = _REQUIRED) -> int:
        """A whole number from 1 up."""
        found: int = self._of_kind(key, int, "a whole number", default)
        if found < 1:
            raise self.error(key, f"must be at least 1; got {found}")
        return found

    def optional_count(self, key: str, default: int | None) -> int | None:
        """A whole number from 0 up; -1 in the file stands for none."""
        found = self._of_kind(key, int, "a whole number", default)
        return None if found == -1 else found

    def number(self, key: str, default: float) -> float:
        """A number from 0 up."""
        found = self._take(key, default)
        if not is_finite_number(found) or found < 0:
            raise self.error(key, f"must be a number from 0 up; got {found!r}")
        return float(found)

    @overload
    def choice(self, key: str, known: Sequence[str], default: str) -> str: ...
    @overload
    def choice(self, key: str, known: Sequence[str], default: None) -> str | None: ...
    def choice(self, key: str, known: Sequence[str], default: str | None) -> str | None:
        """One of the known texts."""
        found: str | None = self._of_kind(key, str, "a text", default)
        if found != default and found not in known:
            raise self.error(key, f"is '{found}', which is unknown; known: {', '.join(known)}")
        return found

    def mapping(self, key: str) -> dict[str, Any]:
        """A table of hyper-parameters, empty where the key is absent; arrays become tuples."""
        found: dict[str, Any] = self._of_kind(key, dict, "a table", {})
        return {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}

    def tables(self, key: str, default: Sequence[Any] = _REQUIRED) -> list[Keys]:
        """A list of tables."""
        found = self._of_kind(key, list, "a list of tables", default)
        if not all(isinstance(each, dict) for each in found):
            raise self.error(key, "must be a list of tables")
        return [Keys(each, f"{self.where}, {key}[{k}]") for k, each in enumerate(found)]

    def _of_kind(self, key: str, kind: type, words: str, default: Any) -> Any:
        found = self._take(key, default)
        if found is not default and type(found) is not kind:
            raise self.error(key, f"must be {words}; got {found!r}")
        return found

    def _take(self, key: str, default: Any) -> Any:
        self.asked.append(key)
        found = self.values.get(key, default)
        if found is _REQUIRED:
            raise self.error(key, "is missing")
        return found
