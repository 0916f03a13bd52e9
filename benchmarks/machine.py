"""Where and with what the figures were taken."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from agnn import runs


def machine() -> dict[str, Any]:
    """The processor, its cores and how busy they were."""
    found = runs.machine()
    return {
        "cpu": found["processor"],
        "cores": found["cores"],
        "threads": found["threads"],
        "memory": found["memory"],
        "system": found["system"],
        "load_average_at_start": os.getloadavg()[0],
    }


def software() -> dict[str, str]:
    """The versions of both sides."""
    return runs.versions() | {"torch_geometric": version("torch_geometric")}
