"""Titles, addresses and descriptions of nodes, which are shown to people and read by no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from agnn.errors import DataError

KINDS: Final = ("title", "url", "description")
_SCHEMES: Final = ("http://", "https://")


def checked_texts(texts: Mapping[str, Sequence[str]], nodes: int) -> Mapping[str, tuple[str, ...]]:
    """Return the texts by kind, one per node; an address must be one of the web."""
    checked = {}
    for kind, values in texts.items():
        if kind not in KINDS:
            raise DataError(f"`texts` may have {', '.join(KINDS)}; got '{kind}'.")
        cells = tuple(str(cell).strip() for cell in values)
        if len(cells) != nodes:
            raise DataError(f"`texts`: {len(cells)} of kind '{kind}' for {nodes} nodes.")
        checked[kind] = cells
    # A page links to them: any other scheme, such as javascript:, could run a program.
    for row, address in enumerate(checked.get("url", ())):
        if address and not address.lower().startswith(_SCHEMES):
            raise DataError(
                f"the address of node {row + 1} must begin with http:// or https://; got "
                f"'{address[:60]}'."
            )
    return MappingProxyType(checked)
