"""No figures from kernels that are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.processes import ROOT

KERNEL_TESTS = ROOT / "tests" / "kernels"


def kernels_are_right(folder: Path = KERNEL_TESTS) -> bool:
    """Whether `folder` holds tests and all of them pass; pytest says on screen which do not."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0  # noqa: S603 (this Python)
