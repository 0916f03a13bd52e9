"""What a reader of an accuracy must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agnn.methods import Method

_OPTIMISTIC: Final = (
    "the epoch was chosen on the evaluated fold, which is the paper's protocol and optimistic"
)


def caveat(method: Method) -> str | None:
    """What makes the accuracy of this method other than it seems; None where nothing does."""
    return _OPTIMISTIC if getattr(method, "watched", None) == "test" else None
