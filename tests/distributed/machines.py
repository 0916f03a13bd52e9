"""Three machines: network namespaces where they can be made, else three torchruns of this one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

COUNT = 3


@dataclass(frozen=True)
class Machines:
    """Names of the namespaces, the first of which is the hub; none on loopback."""

    namespaces: tuple[str, ...]
    port: int

    @property
    def can_cut(self) -> bool:
        return bool(self.namespaces)

    def start(
        self, number: int, folder: Path, *words: str, torchrun: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        """Start torchrun with `agnn` on one of the machines."""
        address = f"10.77.0.{number + 1}" if self.namespaces else "127.0.0.1"
        first = "10.77.0.1" if self.namespaces else "127.0.0.1"
        enter = ["ip", "netns", "exec", self.namespaces[number + 1]] if self.namespaces else []
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "wire" if self.namespaces else "lo",
        }
        launcher = [
            "--nnodes", str(COUNT), "--nproc-per-node", "1", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"{first}:{self.port}", "--local-addr", address,
            "--rdzv-conf", f"is_host={int(number == 0)}", *torchrun,
        ]  # fmt: skip
        command = [*enter, sys.executable, "-m", "torch.distributed.run", *launcher, "-m", "agnn"]
        return subprocess.Popen(  # noqa: S603 (ours)
            [*command, *words],
            cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def cut(self, number: int) -> None:
        """Take the cable out of a machine."""
        _ip("-n", self.namespaces[number + 1], "link", "set", "wire", "down")


@contextmanager
def three_machines() -> Iterator[Machines]:
    """Give three machines; whatever runs on them ends with the block."""
    names = [f"agnn{os.getpid()}-{k}" for k in range(COUNT + 1)]
    made = []
    try:
        if shutil.which("ip") is not None and os.geteuid() == 0 and _ip("netns", "add", names[0]):
            made.append(names[0])
            made += [name for name in names[1:] if _ip("netns", "add", name)]
        is_wired = len(made) == len(names) and _wire(names)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        yield Machines(tuple(names) if is_wired else (), port)
    finally:
        for name in made:
            _ip("netns", "del", name)


def _wire(names: list[str]) -> bool:
    hub = names[0]
    steps = [["-n", hub, "link", "add", "bridge", "type", "bridge"]]
    steps.append(["-n", hub, "link", "set", "bridge", "up"])
    for k, name in enumerate(names[1:], start=1):
        steps += [
            ["-n", name, "link", "set", "lo", "up"],
            ["-n", name, "link", "add", "wire", "type", "veth", "peer", f"port{k}", "netns", hub],
            ["-n", name, "address", "add", f"10.77.0.{k}/24", "dev", "wire"],
            ["-n", name, "link", "set", "wire", "up"],
            ["-n", hub, "link", "set", f"port{k}", "master", "bridge"],
            ["-n", hub, "link", "set", f"port{k}", "up"],
        ]
    return all(_ip(*step) for step in steps)


def _ip(*words: str) -> bool:
    done = subprocess.run(["ip", *words], capture_output=True, check=False)  # noqa: S603, S607
    return done.returncode == 0


def worker_of(process: subprocess.Popen[str]) -> psutil.Process:
    """The rank that a torchrun has started."""
    below = psutil.Process(process.pid).children(recursive=True)
    return next(each for each in below if "RANK" in each.environ())


def end_all(processes: list[subprocess.Popen[str]]) -> None:
    """End torchruns and their ranks that a test has left."""
    for process in processes:
        if process.poll() is None:
            for each in psutil.Process(process.pid).children(recursive=True):
                each.kill()
            process.kill()
            process.communicate()
