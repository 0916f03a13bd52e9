"""The processes that train one graph together, and what they tell each other."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Self

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from agnn.errors import InputError, UnavailableError
from agnn.executors import LaunchedRank
from agnn.files import json_text, plain
from agnn.training import first_difference

_SETUP: Final = timedelta(minutes=30)  # until all have met: reading the data may take long
_SILENCE: Final = 45.0  # seconds after which a rank counts as dead
_REPORT_WITHIN: Final = 8.0  # seconds for the other ranks to report once one is silent
_HEAD_START: Final = 2.0  # seconds for one rank to print what happened, before the others end
_PREPARED_AFTER: Final = 64  # messages: by then everything is compiled


def silence() -> float:
    """Return after how many silent seconds a rank counts as dead; AGNN_RANK_TIMEOUT sets it."""
    given = os.environ.get("AGNN_RANK_TIMEOUT", str(_SILENCE))
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 1.0 <= seconds <= 86_400.0:
        raise InputError(f"AGNN_RANK_TIMEOUT takes from 1 to 86400 seconds; got '{given}'.")
    return seconds


class RanksError(UnavailableError):
    """An error that several ranks have; `is_reporter` is true on the one that prints it."""

    def __init__(self, message: str, *, is_reporter: bool = True) -> None:
        super().__init__(message)
        self.is_reporter = is_reporter


class LostRankError(RanksError):
    """Another rank did not answer: it died, or its machine cannot be reached."""


class Ranks:
    """One process among those that train together; a single one needs no others.

    >>> alone = Ranks()
    >>> alone.rank, alone.size
    (0, 1)
    """

    def __init__(self, rank: int = 0, size: int = 1, device: str = "cpu") -> None:
        self.rank = rank
        self.size = size
        self.device = torch.device(device)
        self._messages = 0
        self._quick: Any = None
        self._signs: SignsOfLife | None = None
        self._reports: Any = None  # torchrun's store, which outlives the ranks

    @classmethod
    def join(cls, launched: LaunchedRank, device: str = "cpu") -> Self:
        """Meet the other processes that torchrun or `agnn train --ranks` started."""
        own_device, engine = _device_and_engine(launched, device)
        ranks = cls(launched.rank, launched.size, own_device)
        if launched.size > 1:
            ranks._guard(lambda: ranks._meet(launched, os.environ.get("AGNN_BACKEND") or engine))
        return ranks

    def _meet(self, launched: LaunchedRank, engine: str) -> None:
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        is_lasting = launched.has_lasting_store
        store = _store(launched, is_master=self.rank == 0 and not is_lasting)
        self._reports = store if is_lasting else None
        dist.init_process_group(
            engine, store=store, rank=self.rank, world_size=self.size, timeout=_SETUP
        )
        # Every rank takes part in every message, so a rank that is silent for long is gone.
        self._quick = dist.new_group(timeout=timedelta(seconds=silence()))
        # Another connection: a thread that waits for an answer keeps others from using its own.
        self._signs = SignsOfLife(_store(launched), self.rank, self.size)

    def leave(self) -> None:
        """End the connection."""
        if self._signs is not None:
            self._signs.end()
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()

    @property
    def _group(self) -> Any:
        self._messages += 1
        return self._quick if self._messages > _PREPARED_AFTER else None

    @property
    def _wire(self) -> torch.device:
        """Where messages lie: gloo reads the memory of the host."""
        is_host = self.size > 1 and dist.get_backend() == "gloo"
        return torch.device("cpu") if is_host else self.device

    def exchange(
        self, packed: Tensor, send_counts: Sequence[int], receive_counts: Sequence[int]
    ) -> Exchange:
        """Begin to send each rank its rows of `packed` and to receive those that it sends here."""
        if self.size == 1:
            return Exchange(packed.new_empty(0, *packed.shape[1:]), None, self)
        source = packed.to(self._wire).contiguous()
        received = source.new_empty(sum(receive_counts), *packed.shape[1:])
        work = self._guard(
            lambda: dist.all_to_all_single(
                received,
                source,
                list(receive_counts),
                list(send_counts),
                group=self._group,
                async_op=True,
            )
        )
        # The source must live until it has been sent.
        return Exchange(received, work, self, source)

    def gather(self, own: Tensor) -> list[Tensor]:
        """Return the tensors of all ranks, in their order; all have one shape."""
        if self.size == 1:
            return [own]
        source = own.to(self._wire).contiguous()
        received = [torch.empty_like(source) for _ in range(self.size)]
        self._await(
            self._guard(lambda: dist.all_gather(received, source, group=self._group, async_op=True))
        )
        return [tensor.to(own.device) for tensor in received]

    def counts(self, own: Tensor) -> Tensor:
        """Return the sum of whole numbers over all ranks; their order does not matter."""
        return torch.stack(self.gather(own)).sum(0)

    def agree(self, facts: Mapping[str, Any]) -> None:
        """Raise on every rank unless all give the same facts; the first difference is named."""
        own = np.frombuffer(json_text(plain(facts)).encode(), np.uint8)
        sizes = torch.cat(self.gather(torch.tensor([own.size]))).tolist()
        padded = torch.from_numpy(np.pad(own, (0, max(sizes) - own.size)))
        by_rank = [
            json.loads(text[:size].numpy().tobytes())
            for text, size in zip(self.gather(padded), sizes, strict=True)
        ]
        for rank, theirs in enumerate(by_rank):
            difference = first_difference(theirs, by_rank[0])
            if difference is not None:
                if self.rank > 0:
                    time.sleep(_HEAD_START)  # torchrun ends all when one has ended
                raise RanksError(
                    f"rank {rank} has another training than rank 0: {difference}. Start all ranks "
                    f"with the same command, data and versions.",
                    is_reporter=self.rank == 0,
                )

    def from_first(self, value: Tensor) -> Tensor:
        """Return the tensor of rank 0, on every rank; all have one shape and type."""
        if self.size == 1:
            return value
        sent = value.to(self._wire).contiguous()
        self._await(self._guard(lambda: dist.broadcast(sent, 0, group=self._group, async_op=True)))
        return sent.to(value.device)

    def to_first(self, own: Tensor, rows: Sequence[int]) -> Tensor | None:
        """Return the rows of all ranks in order, on rank 0; `rows[q]` come from rank q."""
        if self.size == 1:
            return own
        if self.rank > 0:
            source = own.to(self._wire).contiguous()
            self._guard(lambda: dist.send(source, 0))
            return None
        parts = [own.to(self._wire)]
        for rank in range(1, self.size):
            received = parts[0].new_empty(rows[rank], *own.shape[1:])
            self._guard(lambda received=received, rank=rank: dist.recv(received, rank))
            parts.append(received)
        return torch.cat(parts).to(own.device)

    def _await(self, work: Any) -> None:
        """Wait for a message, during the first ones as long as all ranks show signs of life."""

        def wait() -> None:
            while self._messages <= _PREPARED_AFTER and not work.is_completed():
                if self._signs is not None:
                    self._signs.check()
                time.sleep(0.001)
            work.wait()

        self._guard(wait)

    def _guard(self, message: Any) -> Any:
        try:
            return message()
        except (RuntimeError, dist.DistError) as error:
            reason = " ".join(str(error).split())
            is_silence = "imed out" in reason
            silent = self._silent_ranks(is_silence=is_silence)
            first = min(set(range(self.size)) - set(silent))
            if silent:
                names = f"rank {', '.join(map(str, silent))} of {self.size}"
                if self.rank != first:
                    time.sleep(_HEAD_START)  # torchrun ends all when one has ended
                raise LostRankError(
                    f"{names} did not answer for {silence():.0f} seconds.",
                    is_reporter=self.rank == first,
                ) from error
            if "closed by peer" in reason or "reset by peer" in reason:
                reason = "another rank ended and closed the connection"
            elif is_silence:
                reason = f"another rank did not answer for {silence():.0f} seconds"
            raise LostRankError(
                f"rank {self.rank} lost the others: {reason[:200]}.", is_reporter=self.rank == 0
            ) from error

    def _silent_ranks(self, *, is_silence: bool) -> list[int]:
        """Return the ranks that do not report after some rank has waited too long for another one.

        None without torchrun: the process that started the ranks sees which did not end.
        """
        if self._reports is None:
            return []
        try:
            self._reports.set(f"alive-{self.rank}", "")
            if is_silence:
                self._reports.set("silence", "")
            # Where a rank has died instead, torchrun names it, and nobody is to be waited for.
            end = time.monotonic() + (_REPORT_WITHIN if is_silence else 1.0)
            missing = list(range(self.size))
            while missing and time.monotonic() < end:
                time.sleep(0.1)
                missing = [rank for rank in missing if not self._reports.check([f"alive-{rank}"])]
                if not is_silence and self._reports.check(["silence"]):
                    is_silence = True
                    end = time.monotonic() + _REPORT_WITHIN
        except (RuntimeError, dist.DistError):  # the store's machine is gone, too
            return []
        return missing if is_silence else []


def _store(launched: LaunchedRank, *, is_master: bool = False) -> Any:
    """Connect to where the ranks find each other's addresses, or open it."""
    listener = None
    if is_master and _is_loopback(launched.host):
        # By itself the store listens on all interfaces, and it has no password.
        address = (launched.host, launched.port)
        listener = socket.create_server(address, backlog=2 * launched.size).detach()
    store = dist.TCPStore(  # type: ignore[attr-defined]
        launched.host,
        launched.port,
        launched.size,
        is_master=is_master,
        timeout=_SETUP,
        wait_for_workers=False,
        master_listen_fd=listener,
    )
    # torchrun keeps its store over restarts: addresses of dead processes must not be found.
    return dist.PrefixStore(f"agnn-{launched.restarts}", store)  # type: ignore[attr-defined]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SignsOfLife:
    """A thread that counts up in the store, and sees whether those of the other ranks do.

    It counts while its process reads, compiles or computes, however long that takes, but not
    when the process or its machine is frozen.
    """

    def __init__(self, store: Any, rank: int, size: int) -> None:
        self._store = store
        self._rank = rank
        self._limit = silence()
        self._is_over = threading.Event()
        self._counts = {other: 0 for other in range(size) if other != rank}
        self._last_seen = dict.fromkeys(self._counts, time.monotonic())
        threading.Thread(target=self._count, name="signs of life", daemon=True).start()

    def check(self) -> None:
        """Raise if another rank has shown no sign of life for too long."""
        if time.monotonic() - min(self._last_seen.values()) > self._limit:
            raise RuntimeError("timed out: another rank shows no sign of life")

    def end(self) -> None:
        """Stop counting."""
        self._is_over.set()

    def _count(self) -> None:
        with contextlib.suppress(RuntimeError, dist.DistError):  # the store is gone
            while not self._is_over.wait(min(1.0, self._limit / 10)):
                self._store.add(f"sign-{self._rank}", 1)
                for other, before in self._counts.items():
                    count = self._store.add(f"sign-{other}", 0)
                    if count != before:
                        self._counts[other] = count
                        self._last_seen[other] = time.monotonic()


def _device_and_engine(launched: LaunchedRank, device: str) -> tuple[str, str]:
    """Return the device of a rank, and what its messages travel by: gloo, or NCCL between GPUs.

    A GPU of its own for every rank of a machine; ranks beyond their number share them, which NCCL
    refuses.
    """
    if device != "cuda":
        return device, "gloo"
    count = torch.cuda.device_count()
    engine = "gloo" if launched.local_size > count else "nccl"
    return f"cuda:{launched.local_rank % max(count, 1)}", engine


class Exchange:
    """Rows on their way."""

    def __init__(
        self, received: Tensor, work: Any, ranks: Ranks, source: Tensor | None = None
    ) -> None:
        self.received = received
        self.work = work
        self.ranks = ranks
        self.source = source

    def wait(self) -> Tensor:
        """Wait for the rows, and return them by sending rank."""
        if self.work is not None:
            self.ranks._await(self.work)
        self.source = None
        return self.received.to(self.ranks.device)
