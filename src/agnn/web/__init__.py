"""Trained runs over HTTP: `agnn serve` (an API) and `agnn explore` (a page to walk through a run).

`agnn.web.api` and `agnn.web.explore` hold the two applications. Both stand behind the same
`guards` and are run by the same `server`. The web packages are an extra; `check_packages` reports
one that is missing before anything is loaded.

>>> from agnn.web.guards import is_loopback
>>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")  # the second is open to other machines
(True, False)
"""

from __future__ import annotations

from typing import Final

from agnn.errors import import_extra

_NEEDED: Final = ("fastapi", "uvicorn", "prometheus_client")


def check_packages() -> None:
    """Raise an error that says what to install if a package that serving needs is missing."""
    for name in _NEEDED:
        import_extra(name, "models are served with it", "agnn[serve]")
