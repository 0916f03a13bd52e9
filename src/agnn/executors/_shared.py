"""Large values for workers, each unpacked once per process."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

_KEPT: Final = 4  # unpacked values per process
_unpacked: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


class Shared(Generic[T]):
    """A value that many calls take, such as a graph; `key` tells it from every other one.

    It travels as bytes with every call, but a worker unpacks it once. What the worker derives from
    it and keeps with it is then made once, too.

    >>> import pickle
    >>> sent = [pickle.loads(pickle.dumps(Shared("numbers", [1, 2]))) for _ in range(2)]
    >>> sent[0].value, sent[0].value is sent[1].value
    ([1, 2], True)
    """

    def __init__(self, key: str, value: T) -> None:
        self.key = key
        self._value: T | None = value
        self._bytes: bytes | None = None

    @property
    def value(self) -> T:
        """The value."""
        if self._value is None:
            self._value = _unpack(self.key, self._bytes or b"")
        return self._value

    def __getstate__(self) -> tuple[str, bytes]:
        if self._bytes is None:
            self._bytes = pickle.dumps(self._value, pickle.HIGHEST_PROTOCOL)
        return self.key, self._bytes

    def __setstate__(self, state: tuple[str, bytes]) -> None:
        self.key, self._bytes = state
        self._value = None


def _unpack(key: str, content: bytes) -> Any:
    with _lock:
        if key not in _unpacked:
            _unpacked[key] = pickle.loads(content)  # noqa: S301 (from the process that asked)
        _unpacked.move_to_end(key)
        while len(_unpacked) > _KEPT:
            _unpacked.popitem(last=False)
        return _unpacked[key]
