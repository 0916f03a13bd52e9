"""Resolve all extras for every supported Python and system, pinned and with the newest versions.

`python scripts/check_install.py UV`. It reads metadata only and installs nothing. On Linux the
registry's ordinary torch is meant, the CUDA build: it prescribes a version of Triton, which the
CPU builds do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

SETS = {
    "pinned": ["--constraints", "constraints.txt"],
    "newest": [],
}
SYSTEMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "Windows": "x86_64-pc-windows-msvc",
    "macOS 14": "aarch64-apple-darwin",
}
UNREACHABLE = ("Failed to fetch", "error sending request")


def supported_pythons() -> list[str]:
    """Return the versions of Python that the classifiers of pyproject.toml name."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [line.rpartition(" :: ")[2] for line in project["classifiers"]]
    return [version for version in versions if version.startswith("3.")]


def resolve(uv: str, versions: str, python: str, system: str) -> subprocess.CompletedProcess[str]:
    """Let uv resolve all extras; a package without a wheel for the system is a conflict."""
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}
    environment.pop("UV_TORCH_BACKEND", None)  # it would take CPU builds
    command = [
        uv, "pip", "compile", "pyproject.toml", "--all-extras", "--no-build", "--no-header",
        "--no-annotate", "--quiet", "--python-version", python,
        "--python-platform", SYSTEMS[system], *SETS[versions],
    ]  # fmt: skip
    return subprocess.run(command, env=environment, capture_output=True, text=True)  # noqa: S603


def main(uv: str) -> int:
    """Print a line per combination; return 1 if one of them has no solution."""
    cases = list(product(SETS, supported_pythons(), SYSTEMS))
    status = 0
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda case: resolve(uv, *case), cases)
        for (versions, python, system), answer in zip(cases, answers, strict=True):
            if answer.returncode == 0:
                lines = answer.stdout.splitlines()
                result = ", ".join(line for line in lines if line.startswith(("torch=", "triton=")))
            elif any(text in answer.stderr for text in UNREACHABLE):
                print("The package registry cannot be reached: not all requirements are checked.")
                pool.shutdown(cancel_futures=True)
                return status
            else:
                status, result = 1, f"FAILED\n{answer.stderr.strip()}"
            print(f"{versions}, Python {python}, {system}: {result}", flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
