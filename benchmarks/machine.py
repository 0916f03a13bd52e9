"""Where and with what the figures were taken."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agnn.runs import versions


def machine() -> dict[str, Any]:
    """The processor, its cores and how busy they were."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average_at_start": os.getloadavg()[0],
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def software() -> dict[str, str]:
    """The versions of both sides."""
    return versions() | {"torch_geometric": version("torch_geometric")}
