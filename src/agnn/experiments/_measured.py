"""What is measured of a run beside its accuracy."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from agnn.errors import DivergedError, InputError
from agnn.explanation import edge_ranking
from agnn.methods import validation_scores
from agnn.metrics import MEASURES, node_contributions
from agnn.runs import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL_MEASURES: Final = "all_measures"
_RANKED_EDGES: Final = 100  # at either end of the order, as in the paper's Table 6
_MOST_NODES: Final = 20_000  # test nodes of a trial whose contributions are kept


def measured(
    measure: str | None, run: Run, folds: int, memory: int | None, metric: str | None
) -> list[dict[str, Any]]:
    """What `measure` says of each trial of `folds` replicas; nothing where it is None.

    "all_measures": every measure of `agnn.metrics`, the contributions of test nodes to the metric,
    its value on validation nodes, and the memory, as `trial_measures` unpacks them.
    """
    if measure is None:
        return [{} for _ in run.seeds[::folds]]
    if measure == ALL_MEASURES:
        starts = range(0, len(run.seeds), folds)
        return [
            _all_measures(run, range(k, k + folds), memory, metric or "accuracy") for k in starts
        ]
    if run.diverged.any():
        raise DivergedError(f"training diverged, so '{measure}' cannot be measured.")
    if measure == "edge_ranking":
        return _edge_ranking(run)[::folds]
    raise InputError(f"unknown measure '{measure}'; known: {ALL_MEASURES}, edge_ranking.")


def _all_measures(
    run: Run, replicas: Sequence[int], memory: int | None, metric: str
) -> dict[str, Any]:
    labels = run.data.labels
    tested = [(run.splits[r].test, run.scores[r].numpy()[run.splits[r].test]) for r in replicas]
    found: dict[str, Any] = {
        "measures": {
            name: _json_number(fmean(of(labels[test], own) for test, own in tested))
            for name, of in MEASURES.items()
        },
        "memory": memory,
    }
    parts = [node_contributions(metric, labels[test], own) for test, own in tested]
    found["contributions"] = _packed(np.concatenate(parts))
    splits = [run.splits[r] for r in replicas]
    if all(split.validation.size for split in splits):
        scores = run.scores[list(replicas)]
        values = validation_scores(scores, run.data, splits, "", metric)
        sign = -1.0 if MEASURES[metric].is_loss else 1.0
        found["validation"] = _json_number(sign * fmean(values))
    return found


def _json_number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _packed(values: NDArray[np.float64]) -> str:
    """The contributions of evenly spaced nodes, at most 20,000, as text."""
    kept = values[kept_places(values.size)].astype("<f4")
    return base64.b64encode(zlib.compress(kept.tobytes())).decode("ascii")


def kept_places(count: int) -> NDArray[np.int64]:
    """Which of `count` test nodes have their contribution kept, as places in their list."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_NODES)).astype(np.int64))


def unpacked_contributions(text: str) -> NDArray[np.float64]:
    """The contributions that were kept."""
    kept = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f4")
    return kept.astype(np.float64)


def _edge_ranking(run: Run) -> list[dict[str, Any]]:
    """Shares of edges within a class among the last layer's most and least relevant."""
    last = edge_ranking(run, _RANKED_EDGES)[-1]
    if last.top is None or last.bottom is None:
        raise InputError("the last layer attends evenly, so its edges have no order.")
    pairs = zip(last.top.values, last.bottom.values, strict=True)
    return [{"top_within": top, "bottom_within": bottom} for top, bottom in pairs]


@dataclass
class Memory:
    """The memory that some work added to the process at its peak, in bytes; None if unknown."""

    peak: int | None = None


@contextmanager
def watching_memory(device: str) -> Iterator[Memory]:
    """Measure the memory of the block, on a GPU that of the GPU."""
    found = Memory()
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        yield found
        found.peak = torch.cuda.max_memory_allocated(device)
        return
    before = None
    with suppress(OSError):  # where the system does not tell
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
        before = _resident("VmRSS")
    yield found
    if before is not None:
        found.peak = max(0, _resident("VmHWM") - before)


def _resident(key: str) -> int:
    """Bytes: `VmRSS` is what the process has, `VmHWM` the most that it had."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
