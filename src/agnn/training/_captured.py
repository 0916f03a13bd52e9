"""Repeated work: on a GPU it is recorded once as a CUDA graph and then replayed."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch

_WARM_UP = 2  # calls before the recording: they compile kernels and fill caches


class Captured:
    """A function without arguments whose every call does the same work on a GPU.

    The first calls run normally. If the last of them never made the host wait, the next one is
    recorded in a CUDA graph, and from then on a call is one launch. Work that waits for the device
    cannot be recorded and keeps running normally.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function
        self.calls = 0
        self.waits = True
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        """Call the function once."""
        self.calls += 1
        if self.calls < _WARM_UP:
            self._aside()
        elif self.calls == _WARM_UP:
            self.waits = _makes_the_host_wait(self._aside)
        elif self.waits:
            self.function()
        else:
            self._replay()

    def _aside(self) -> None:
        """Run on a separate stream, as a recording does."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.function()
        torch.cuda.current_stream().wait_stream(stream)

    def _replay(self) -> None:
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.function()
        self.graph.replay()


def _makes_the_host_wait(function: Callable[[], None]) -> bool:
    """Run the function and return whether it waited for the device."""
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            function()
        finally:
            torch.cuda.set_sync_debug_mode(mode)
    return any("called a synchronizing" in str(warning.message) for warning in caught)
