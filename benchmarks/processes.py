"""Figures of fresh processes: start-up, compilation, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_STARTS = 5

_IMPORTS = """
import json, sys
from time import perf_counter
marks = [perf_counter()]
import torch
marks.append(perf_counter())
import agnn
marks.append(perf_counter())
import agnn.runs
marks.append(perf_counter())
sys.stdout.write(json.dumps([after - before for before, after in zip(marks, marks[1:])]))
"""


def import_seconds() -> dict[str, float]:
    """Median seconds for torch, for agnn after it, and for all that training needs after that."""
    names = ("torch", "agnn", "training")
    starts = [_answer(["-c", _IMPORTS]) for _ in range(_STARTS)]
    torch, agnn, rest = (median(times) for times in zip(*starts, strict=True))
    return dict(zip(names, (torch, agnn, agnn + rest), strict=True))


def compile_seconds() -> dict[str, float]:
    """Seconds of compilation on first use, with an empty cache and with the filled one."""
    with tempfile.TemporaryDirectory() as cache:
        seen = [
            _answer(["-m", "benchmarks.child", "compile"], NUMBA_CACHE_DIR=cache) for _ in range(2)
        ]
    return {"empty": seen[0]["seconds"], "filled": seen[1]["seconds"]}


def peak_memory() -> dict[str, float]:
    """GiB of a process that trains 100 replicas of PubMed."""
    return {"peak": _answer(["-m", "benchmarks.child", "memory"])["gib"]}


def _answer(arguments: list[str], **environment: str) -> Any:
    done = subprocess.run(  # noqa: S603 (this Python, on our own code)
        [sys.executable, *arguments], cwd=ROOT, env=os.environ | environment, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)
