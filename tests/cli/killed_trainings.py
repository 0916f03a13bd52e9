"""Kill `agnn train` at random moments, continue it with --resume, and compare the bits.

    python killed_trainings.py FOLDER KILLS

Each training is a fork of this process, which has everything imported and computes nothing.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

import agnn.runs  # noqa: F401 (in every fork)
from agnn.cli import main

WORDS = [
    "train", "cora", "--replicas", "2", "--epochs", "160", "--checkpoint", "0s", "--quiet",
    "--json",
]  # fmt: skip


def started(words: list[str]) -> int:
    process = os.fork()
    if process:
        return process
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 (a device)
        os.dup2(nothing.fileno(), 1)
    os._exit(main(words))


def code_of(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def bits(folder: Path) -> dict[str, str]:
    files = ("model.safetensors", "history.safetensors")
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}


def run(base: Path, kills: int) -> int:
    """The number of trainings with other bits than one that was never killed."""
    torch.set_num_threads(1)
    source = random.Random(0)  # noqa: S311 (no secret)
    begin = time.monotonic()
    if code_of(started([*WORDS, "--out", str(base / "whole")])):
        raise RuntimeError("the training that was not killed failed")
    seconds = time.monotonic() - begin
    expected, made, wrong, number = bits(base / "whole"), 0, 0, 0
    while made < kills:
        number += 1
        out = base / f"run-{number}"
        file = base / f"run-{number}.checkpoint"
        while not out.exists():
            more = ["--resume"] if file.exists() else []
            process = started([*WORDS, "--out", str(out), *more])
            if made < kills:
                time.sleep(seconds * source.uniform(0.1, 1.1))
                os.kill(process, signal.SIGKILL)
            code = code_of(process)
            if code == -signal.SIGKILL:
                made += 1
            elif code:
                raise RuntimeError(f"the continued training ended with {code}")
        wrong += bits(out) != expected
        if file.exists():
            raise RuntimeError("the checkpoint of a finished training was left behind")
    print(f"{made} kills, {number} trainings, {wrong} with other bits")  # noqa: T201
    return wrong


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), int(sys.argv[2])))
