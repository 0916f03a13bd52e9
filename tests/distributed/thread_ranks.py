"""Ranks that are threads of one process: the same messages through shared memory, at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from agnn.distributed._ranks import Exchange, Ranks
from agnn.errors import StoppedError


class ThreadRanks(Ranks):
    """One of several threads; `board` is where each leaves what the others read."""

    def __init__(self, rank: int, size: int, board: list[Any], barrier: threading.Barrier) -> None:
        super().__init__(rank, size)
        self.board, self.barrier = board, barrier
        self.volume = 0  # rows received

    def _posted(self, message: Any) -> list[Any]:
        self.board[self.rank] = message
        self.barrier.wait(60)
        found = list(self.board)
        self.barrier.wait(60)
        return found

    def exchange(
        self, packed: Tensor, send_counts: Sequence[int], receive_counts: Sequence[int]
    ) -> Exchange:
        found = self._posted(packed.split(list(send_counts)))
        received = torch.cat([each[self.rank] for each in found])
        assert [len(each[self.rank]) for each in found] == list(receive_counts)
        self.volume += len(received)
        return Exchange(received, None, self)

    def gather(self, own: Tensor) -> list[Tensor]:
        return [each.clone() for each in self._posted(own)]

    def to_first(self, own: Tensor, rows: Sequence[int]) -> Tensor | None:
        found = self._posted(own.clone())
        assert [len(each) for each in found] == list(rows)
        return torch.cat(found) if self.rank == 0 else None

    def from_first(self, value: Tensor) -> Tensor:
        first: Tensor = self._posted(value.clone())[0]
        return first


def on_ranks(size: int, work: Callable[[Ranks], Any]) -> list[Any]:
    """What `work` gives on each of `size` ranks."""
    if size == 1:
        return [work(Ranks())]
    board, barrier = [None] * size, threading.Barrier(size)
    found: list[Any] = [None] * size

    def run(rank: int) -> None:
        try:
            found[rank] = work(ThreadRanks(rank, size, board, barrier))
        except BaseException as error:
            found[rank] = error
            if not isinstance(error, StoppedError):  # all stop together, one of them writes
                barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [each for each in found if isinstance(each, BaseException)]
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    if errors:
        raise errors[0]
    return found
