"""The token that requests must carry, read from a file or checked as it was given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from agnn.errors import InputError

_FORM: Final = re.compile(r"[A-Za-z0-9._~+/=-]{16,500}")


def checked_token(token: str, place: str) -> str:
    """The token without spaces around it; raises unless a header can carry it."""
    found = token.strip()
    if not _FORM.fullmatch(found):
        raise InputError(
            f"the token in {place} must be 16 to 500 letters, digits or . _ ~ + / = - signs; such "
            f"as python -c 'import secrets; print(secrets.token_urlsafe())' prints."
        )
    return found


def read_token(path: Path) -> str:
    """The token in a file."""
    try:
        with path.open(encoding="utf-8") as stream:
            return checked_token(stream.read(10_000), f"'{path}'")
    except UnicodeDecodeError as error:
        raise InputError(f"the token file '{path}' is not text.") from error
