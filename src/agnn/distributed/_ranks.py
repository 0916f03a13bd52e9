"""The processes that train one graph together, and what they tell each other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Self

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from agnn.distributed._meeting import Meeting, RanksError, open_store
from agnn.executors import LaunchedRank
from agnn.files import json_text, plain
from agnn.training import first_difference

_FOREVER: Final = timedelta(days=1)  # the meeting knows sooner when a message will not come
_SLICE: Final = timedelta(seconds=1)  # between two looks at whether all ranks are alive


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
        self._meeting: Meeting | None = None

    @classmethod
    def join(cls, meeting: Meeting, device: str = "cpu") -> Self:
        """Connect this process with the others of a meeting, for messages."""
        own_device, identity = rank_device(meeting.launched, device)
        ranks = cls(meeting.rank, meeting.size, own_device)
        ranks._meeting = meeting
        if meeting.size > 1:
            engine = os.environ.get("AGNN_BACKEND") or engine_of(meeting.share("device", identity))
            ranks._connect(meeting, engine)
        return ranks

    def _connect(self, meeting: Meeting, engine: str) -> None:
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        store = open_store(meeting.launched, _FOREVER.total_seconds())
        store = dist.PrefixStore(meeting.name, store)  # type: ignore[attr-defined]
        self._send(
            lambda: dist.init_process_group(
                engine, store=store, rank=self.rank, world_size=self.size, timeout=_FOREVER
            )
        )

    def leave(self) -> None:
        """End the connection."""
        if self._meeting is not None:
            self._meeting.leave()
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()

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
        pending = self._send(
            lambda: dist.all_to_all_single(
                received, source, list(receive_counts), list(send_counts), async_op=True
            )
        )
        # The source must live until it has been sent.
        return Exchange(received, pending, self, source)

    def gather(self, values: Tensor) -> list[Tensor]:
        """Return the tensors of all ranks, in their order; all have one shape."""
        if self.size == 1:
            return [values]
        source = values.to(self._wire).contiguous()
        received = [torch.empty_like(source) for _ in range(self.size)]
        self._await(self._send(lambda: dist.all_gather(received, source, async_op=True)))
        return [tensor.to(values.device) for tensor in received]

    def counts(self, values: Tensor) -> Tensor:
        """Return the sum of whole numbers over all ranks; their order does not matter."""
        return torch.stack(self.gather(values)).sum(0)

    def agree(self, facts: Mapping[str, Any]) -> None:
        """Raise on every rank unless all give the same facts; the first difference is named."""
        encoded = np.frombuffer(json_text(plain(facts)).encode(), np.uint8)
        sizes = torch.cat(self.gather(torch.tensor([encoded.size]))).tolist()
        padded = torch.from_numpy(np.pad(encoded, (0, max(sizes) - encoded.size)))
        by_rank = [
            json.loads(text[:size].numpy().tobytes())
            for text, size in zip(self.gather(padded), sizes, strict=True)
        ]
        for rank, facts_of_rank in enumerate(by_rank):
            difference = first_difference(facts_of_rank, by_rank[0])
            if difference is not None:
                meeting = self._meeting
                is_reporter = (self.rank if meeting is None else meeting.launched.local_rank) == 0
                if meeting is not None:
                    meeting.share("difference", "")  # no rank is to miss one that ends before it
                    self.leave()  # gloo's threads may crash a process that ends with them
                    meeting.let_others_end(is_reporter=is_reporter)
                raise RanksError(
                    f"rank {rank} has another training than rank 0: {difference}. Start all ranks "
                    f"with the same command, data and versions.",
                    is_reporter=is_reporter,
                )

    def from_first(self, value: Tensor) -> Tensor:
        """Return the tensor of rank 0, on every rank; all have one shape and type."""
        if self.size == 1:
            return value
        sent = value.to(self._wire).contiguous()
        self._await(self._send(lambda: dist.broadcast(sent, 0, async_op=True)))
        return sent.to(value.device)

    def to_first(self, values: Tensor, rows: Sequence[int]) -> Tensor | None:
        """Return the rows of all ranks in order, on rank 0; `rows[q]` come from rank q."""
        if self.size == 1:
            return values
        if self.rank > 0:
            source = values.to(self._wire).contiguous()
            self._await(self._send(lambda: dist.isend(source, 0)))
            return None
        parts = [values.to(self._wire)]
        for rank in range(1, self.size):
            received = parts[0].new_empty(rows[rank], *values.shape[1:])
            parts.append(received)
        works = self._send(lambda: [dist.irecv(rows, q) for q, rows in enumerate(parts) if q > 0])
        for pending in works:
            self._await(pending)
        return torch.cat(parts).to(values.device)

    def _send(self, begin: Callable[[], Any]) -> Any:
        """Begin a message, in which all ranks take part."""
        meeting = self._meeting
        if meeting is None:
            return begin()
        meeting.begun += 1
        with meeting.waiting():
            try:
                return begin()
            except (RuntimeError, dist.DistError) as error:
                meeting.raise_broken(error)

    def _await(self, work: Any) -> None:
        """Wait for a message, as long as all ranks are alive."""
        meeting = self._meeting
        if meeting is None or dist.get_backend() != "gloo":
            work.wait()  # on a GPU the host does not wait, and the meeting ends what hangs
            return
        with meeting.waiting():
            while True:
                try:
                    work.wait(_SLICE)
                except (RuntimeError, dist.DistError) as error:
                    if "Operation timed out" not in str(error):
                        meeting.raise_broken(error)
                    meeting.check()
                else:
                    return


def rank_device(launched: LaunchedRank, device: str) -> tuple[str, str]:
    """Return the device of a rank, and what tells a GPU from all others; nothing for a CPU.

    A GPU of its own for every rank of a machine; ranks beyond their number share them.
    """
    if device != "cuda":
        return device, ""
    index = launched.local_rank % max(torch.cuda.device_count(), 1)
    return f"cuda:{index}", str(torch.cuda.get_device_properties(index).uuid)


def engine_of(identities: Sequence[str]) -> str:
    """Return what the messages of ranks with these GPUs travel by: gloo, or NCCL between GPUs.

    NCCL refuses ranks that share a GPU. Every rank decides by the GPUs of all, since a launcher may
    show each rank of a machine one GPU, which is another one or the same.

    >>> engine_of(["GPU-1", "GPU-2"]), engine_of(["GPU-1", "GPU-1"]), engine_of(["", ""])
    ('nccl', 'gloo', 'gloo')
    """
    is_distinct = "" not in identities and len(set(identities)) == len(identities)
    return "nccl" if is_distinct else "gloo"


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
        received = self.received.to(self.ranks.device)
        del self.source, self.received  # of tens of megabytes, which the caller may free
        return received
