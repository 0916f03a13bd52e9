"""`python -m benchmarks.gpu`: the GPU's figures, measured and written down."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu import large, layer, report, training
from benchmarks.gpu.clock import bandwidth
from benchmarks.machine import software
from benchmarks.processes import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def _tests_pass() -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "tests/gpu"]
    return subprocess.run(command, cwd=ROOT).returncode == 0  # noqa: S603 (ours)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """All figures, one after the other."""
    say = lambda words: print(words, file=sys.stderr, flush=True)  # noqa: E731, T201
    copy = bandwidth()
    results: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name(),
        "versions": software(),
        "bandwidth": copy,
        "rounds": options.rounds,
    }
    say("the fixed-split table")
    results["table"] = training.fixed_split_table()
    say("training against PyG")
    results["step"] = training.duel("cora", 1, "step", options.rounds)
    results["epochs"] = [
        training.duel(name, training.REPLICAS, "epoch", options.rounds)
        for name in training.DATASETS
    ]
    say("one layer against PyG")
    results["layers"] = [layer.measured(*size, options.rounds, copy) for size in layer.SIZES]
    say("a very large graph")
    results["large"] = None if options.skip_large else large.epoch()
    return results


def main() -> int:
    """Measure and write gpu.json, gpu.md and gpu.svg; 0, 1 where tests fail, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often each pair is timed")
    parser.add_argument("--skip-tests", action="store_true", help="for work on the benchmark")
    parser.add_argument("--skip-large", action="store_true", help="no graph of 3.3 billion edges")
    parser.add_argument("--out", default=str(RESULTS), help="folder; default: %(default)s")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("Error: torch sees no CUDA device.", file=sys.stderr)  # noqa: T201
        return 2
    if not options.skip_tests and not _tests_pass():
        print("Error: the tests on the GPU fail: no figures until they pass.", file=sys.stderr)  # noqa: T201
        return 1
    results = measured(options)
    results["tests"] = "skipped" if options.skip_tests else "passed"
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (folder / "gpu.md").write_text(report.markdown(results), encoding="utf-8")
    report.plot(results).savefig(folder / "gpu.svg")
    report.plot(results).savefig(folder / "gpu.png", dpi=150)
    print(report.markdown(results))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
