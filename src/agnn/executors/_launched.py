"""What processes that work together must know of each other: who they are, and their versions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Self

from agnn.errors import InputError


@dataclass(frozen=True)
class LaunchedRank:
    """One of several processes that train together, and where they meet."""

    rank: int
    size: int  # ranks in all
    local_rank: int = 0  # among those of this machine
    local_size: int = 1
    host: str = "127.0.0.1"
    port: int = 0
    # Whether the store at this address is the launcher's, which outlives the ranks.
    has_lasting_store: bool = False

    @classmethod
    def current(cls) -> Self | None:
        """Return this process's place among those of torchrun; None where it did not start it."""
        return cls.from_environment() if "TORCHELASTIC_RUN_ID" in os.environ else None

    @classmethod
    def is_first(cls) -> bool:
        """Return whether this process reports and writes: the only one, or rank 0 of torchrun's."""
        current = cls.current()
        return current is None or current.rank == 0

    @classmethod
    def from_environment(cls) -> Self:
        """Return what a launcher has put into the environment; raise if there was none."""
        environment = os.environ
        try:
            return cls(
                rank=int(environment["RANK"]),
                size=int(environment["WORLD_SIZE"]),
                local_rank=int(environment.get("LOCAL_RANK", "0")),
                local_size=int(environment.get("LOCAL_WORLD_SIZE", "1")),
                host=environment.get("MASTER_ADDR", "127.0.0.1"),
                port=int(environment.get("MASTER_PORT", "0")),
                has_lasting_store=environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
            )
        except (KeyError, ValueError) as error:
            raise InputError(
                "this process was not started as one of several ranks; use torchrun, or --ranks."
            ) from error


@cache
def package_versions() -> dict[str, str]:
    """Return the versions that results depend on, of this process."""
    from agnn import __version__

    versions = {"agnn": __version__}
    for package in ("torch", "numba"):
        try:
            # The part after "+" names a build, such as one for a GPU.
            versions[package] = version(package).partition("+")[0]
        except PackageNotFoundError:
            versions[package] = "none"
    return versions
