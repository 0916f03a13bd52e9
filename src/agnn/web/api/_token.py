"""Optional bearer token. Without it only /health answers."""

from __future__ import annotations

import hmac
import re
from pathlib import Path
from typing import Final

from agnn.errors import InputError
from agnn.web._asgi import Application, Receive, Scope, Send, header_values, refuse

# The API page and its schema are not open: they name columns, an id and the range of values.
_OPEN: Final = frozenset({"/health"})
_FORM: Final = re.compile(r"[A-Za-z0-9._~+/=-]{16,500}")


class TokenGuard:
    """Refuses requests without `Authorization: Bearer TOKEN`, if there is a token."""

    def __init__(self, app: Application, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        is_open = self.token is None or scope["path"] in _OPEN
        if is_open or self._is_given(header_values(scope, "authorization")):
            await self.app(scope, receive, send)
            return
        message = "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN'."
        await refuse(send, 401, message, {"www-authenticate": "Bearer"})

    def _is_given(self, values: list[str]) -> bool:
        if len(values) != 1 or self.token is None:
            return False
        scheme, _, given = values[0].partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self.token.encode())
        return same and scheme.lower() == "bearer"


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
