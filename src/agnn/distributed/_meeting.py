"""Where ranks meet, and how each of them learns that another one failed or is gone.

Messages between ranks say nothing when they do not come. So every rank also has a connection to one
store, from its start to its end, over which it shows that it is alive and says why it fails.
"""

from __future__ import annotations

import atexit
import contextlib
import ipaddress
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ClassVar, Final, NoReturn, Self

import torch.distributed as dist

from agnn.errors import InputError, StoppedError, UnavailableError
from agnn.executors import LaunchedRank

LOST: Final = 3  # exit code of a process that lost another rank
_TIMEOUT: Final = 45.0  # seconds after which a rank that is silent counts as gone
_BEAT: Final = 1.0  # seconds between two signs of life
_BROKEN: Final = 8.0  # seconds without a sign of life, where a connection has been closed
_HEAD_START: Final = 2.0  # seconds for one rank to print what happened, before the others end
_GRACE: Final = 10.0  # seconds for a process to end by itself
_PROCESS: Final = uuid.uuid4().hex  # tells this process from those before a restart


def rank_timeout() -> float:
    """Return after how many silent seconds a rank counts as gone; AGNN_RANK_TIMEOUT sets it."""
    text = os.environ.get("AGNN_RANK_TIMEOUT", str(_TIMEOUT))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1.0 <= seconds <= 86_400.0:
        raise InputError(f"AGNN_RANK_TIMEOUT takes from 1 to 86400 seconds; got '{text}'.")
    return seconds


class RanksError(UnavailableError):
    """An error that several ranks have; `is_reporter` is true on those that print it."""

    def __init__(self, message: str, *, is_reporter: bool = True) -> None:
        super().__init__(message)
        self.is_reporter = is_reporter


class LostRankError(RanksError):
    """Another rank failed, died, or cannot be reached."""


class Meeting:
    """One rank's connection to the store at which all of them meet.

    A thread counts up in the store while its process reads, compiles or computes, however long that
    takes, but not when the process or its machine is frozen or cut off. Another one watches the
    clock, since an answer of the store may never come. Once a rank is gone, `check` raises; a
    process that does not end by itself then, because it waits for a message or reads, is ended.
    """

    _latest: ClassVar[Meeting | None] = None  # of this process, to which torchrun gives one place

    def __init__(self, launched: LaunchedRank) -> None:
        self.launched = launched
        self.rank = launched.rank
        self.size = launched.size
        self.timeout = rank_timeout()
        self.is_restart = False  # whether these ranks follow others that failed
        self.begun = 0  # messages
        self.name = ""  # of these ranks among all that the store has seen
        self._interval = min(_BEAT, self.timeout / 10)
        self._failure = ""  # what this rank says of the end, until all have it
        self._is_told = threading.Event()
        self._error: LostRankError | None = None
        self._has_raised = False
        self._is_over = threading.Event()
        self._is_left = threading.Event()
        self._waits_since: float | None = None
        self._all_began = 0.0  # when all others had begun the message that this rank waits for
        now = time.monotonic()
        self._answered = now  # when the store did last
        self._signs = {rank: "" for rank in range(self.size) if rank != self.rank}
        self._seen = dict.fromkeys(self._signs, now)  # when a sign changed last
        self._patience = self.timeout
        self._store: Any = None
        self._threads: list[threading.Thread] = []

    @classmethod
    def attend(cls, launched: LaunchedRank) -> Self:
        """Meet the other ranks; raise within the timeout where one does not come."""
        meeting = cls(launched)
        store = meeting._connect()
        meeting._store = meeting._meet(store)
        meeting._threads = [
            threading.Thread(target=loop, name=loop.__name__, daemon=True)
            for loop in (meeting._beat, meeting._watch)
        ]
        for thread in meeting._threads:
            thread.start()
        atexit.register(meeting._end_threads)
        return meeting

    @classmethod
    @contextmanager
    def of_process(cls) -> Iterator[Meeting | None]:
        """Meet the other processes of torchrun, and tell them why this one fails in the block.

        None where torchrun did not start this process. Blocks inside this one have the same
        meeting, until it is left at the end of a training.
        """
        launched = LaunchedRank.current()
        if launched is None:
            yield None
            return
        meeting = cls._latest
        if meeting is None or meeting.is_left:
            meeting = cls._latest = cls.attend(launched)
        with meeting.telling():
            yield meeting

    @property
    def _place(self) -> str:
        return f"{self.launched.host}:{self.launched.port}"

    @property
    def _hosts_store(self) -> bool:
        return self.rank == 0 and not self.launched.has_lasting_store

    def let_others_end(self, *, is_reporter: bool) -> None:
        """Wait for those that print why all end: torchrun ends all ranks when one has ended."""
        self._let_others_read()
        if not is_reporter:
            time.sleep(_HEAD_START)

    def _let_others_read(self) -> None:
        """Wait for the others to read why all end, where the store ends with this process.

        That of torchrun ends with the first machine's.
        """
        launched = self.launched
        is_first_of_several = self.rank == launched.local_rank and launched.local_size < self.size
        if self._hosts_store or is_first_of_several:
            time.sleep(3 * self._interval)

    def _connect(self) -> Any:
        try:
            return open_store(self.launched, self.timeout, is_master=self._hosts_store)
        except (RuntimeError, OSError, dist.DistError) as error:
            raise RanksError(
                f"rank {self.rank} of {self.size} cannot reach {self._place}, where the ranks "
                f"meet; is that the address of the first machine, and does no firewall close it? "
                f"({_first_line(error)})"
            ) from error

    def _meet(self, store: Any) -> Any:
        """Return the part of the store for those that are here now; wait until all are.

        A store that outlives its ranks still has what those before a failure wrote, so every
        process has a token of its own: rank 0 names those it sees, and a process waits for its own.
        """
        token = uuid.uuid4().hex
        end = time.monotonic() + self.timeout
        store.set(f"token-{self.rank}", token)
        names = [f"token-{rank}" for rank in range(self.size)]
        invited: dict[str, Any] = {}
        while True:
            if self.rank == 0:
                present = [rank for rank in range(self.size) if store.check([names[rank]])]
                tokens = {str(rank): store.get(names[rank]).decode() for rank in present}
                if tokens != invited.get("tokens"):
                    first_process = store.compare_set("first process", "", _PROCESS).decode()
                    is_restart = first_process != _PROCESS
                    invited = {"tokens": tokens, "is_restart": is_restart, "failure": ""}
                    dist.PrefixStore(tokens["0"], store).set("failure", "")  # type: ignore[attr-defined]
                    store.set("meeting", json.dumps(invited))
            elif store.check(["meeting"]):
                invited = json.loads(store.get("meeting"))
            tokens = invited.get("tokens", {})
            if tokens.get(str(self.rank)) == token:
                if invited["failure"]:
                    raise self._lost_error(invited["failure"])
                own_store = dist.PrefixStore(tokens["0"], store)  # type: ignore[attr-defined]
                own_store.set(f"sign-{self.rank}", "0 0")
                absent = [r for r in range(self.size) if not own_store.check([f"sign-{r}"])]
                if not absent:
                    self.is_restart = invited["is_restart"]
                    self.name = tokens["0"]
                    return own_store
            else:
                absent = [0]
            if time.monotonic() > end:
                failure = json.dumps({"ranks": absent, "text": self._silence(absent)})
                if self.rank == 0:
                    store.set("meeting", json.dumps({**invited, "failure": failure}))
                raise self._lost_error(failure)
            time.sleep(0.05)

    def share(self, name: str, text: str) -> list[str]:
        """Return what every rank says under a name, in their order."""
        self._store.set(f"{name}-{self.rank}", text)
        keys = [f"{name}-{rank}" for rank in range(self.size)]
        with self.waiting():
            while not self._store.check(keys):
                self.check()
                time.sleep(0.05)
        return [value.decode() for value in self._store.multi_get(keys)]

    def check(self) -> None:
        """Raise if another rank has failed or is gone."""
        if self._error is not None:
            self._has_raised = True
            self.let_others_end(is_reporter=self._error.is_reporter)
            raise self._error

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Say that this rank waits for the others meanwhile."""
        self._waits_since = time.monotonic()
        try:
            yield
        finally:
            self._waits_since = None

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Tell the other ranks why this one fails in the block, so that they end, too."""
        try:
            yield
        except (RanksError, StoppedError):  # which all have
            raise
        except BaseException as error:
            if self._failure:
                raise
            reason = _first_line(error) or type(error).__name__
            text = f"rank {self.rank} of {self.size} failed: {reason}"
            self._tell([self.rank], text)
            if self._is_told.wait(3 * self._interval):
                self._let_others_read()
            raise

    def raise_broken(self, error: Exception) -> NoReturn:
        """Raise after a message has failed, naming the rank that is gone."""
        end = time.monotonic() + 3 * self._interval
        if self.launched.local_size < self.size:  # on one machine who started the ranks names it
            self._patience = min(self.timeout, _BROKEN)
            end += self._patience
        while time.monotonic() < end:
            self.check()
            time.sleep(0.05)
        reason = _first_line(error)
        if "closed by peer" in reason or "reset by peer" in reason:
            reason = "another rank ended and closed the connection."
        raise LostRankError(
            f"rank {self.rank} of {self.size} lost the others: {reason}",
            is_reporter=self.launched.local_rank == 0,
        ) from error

    @property
    def is_left(self) -> bool:
        """Whether this rank has left it."""
        return self._is_left.is_set()

    def leave(self) -> None:
        """End the signs of life, saying so: the others are not to miss them."""
        end = time.monotonic() + self.timeout
        while self._hosts_store and self._present_signs() and time.monotonic() < end:
            time.sleep(self._interval / 4)  # the store ends with this process
        self._is_left.set()
        self._is_over.wait(3 * self._interval)
        self._end_threads()
        atexit.unregister(self._end_threads)

    def _end_threads(self) -> None:
        # An interpreter that ends while a thread is in the store's code would crash.
        self._is_over.set()
        for thread in self._threads:
            thread.join(3 * self._interval)

    def _present_signs(self) -> dict[int, str]:
        """Return the last signs of the others, less those that have left."""
        return {rank: sign for rank, sign in self._signs.items() if not sign.endswith("left")}

    def _tell(self, ranks: Sequence[int], text: str) -> None:
        if not self._failure:
            self._failure = json.dumps({"ranks": list(ranks), "text": text})

    def _silence(self, ranks: Sequence[int]) -> str:
        names = ", ".join(map(str, ranks))
        return f"rank {names} of {self.size} did not answer for {self.timeout:.0f} seconds."

    def _lost_error(self, failure: str) -> LostRankError:
        """Return the error that follows from what a rank said of the end."""
        about = json.loads(failure)
        first_rank = self.rank - self.launched.local_rank
        local = range(first_rank, first_rank + self.launched.local_size)
        others_here = [rank for rank in local if rank not in about["ranks"]]
        # On its own machine a rank that failed has printed why.
        is_printed = " failed: " in about["text"] and len(others_here) < len(local)
        is_reporter = self.rank == min(others_here, default=self.rank) and not is_printed
        return LostRankError(about["text"], is_reporter=is_reporter)

    def _beat(self) -> None:
        """Show signs of life, and look for those of the others."""
        count = 0
        keys = ["failure", *(f"sign-{rank}" for rank in self._signs)]
        while not self._is_over.is_set():
            count += 1
            is_leaving = self._is_left.wait(self._interval)
            if self._is_over.is_set():
                return
            suffix = " left" if is_leaving else ""
            try:
                self._store.set(f"sign-{self.rank}", f"{count} {self.begun}{suffix}")
                if self._failure:
                    self._store.compare_set("failure", "", self._failure)
                failure, *signs = (value.decode() for value in self._store.multi_get(keys))
            except (RuntimeError, dist.DistError):
                if not is_leaving:
                    self._end_without_store("closed the connection")
                self._is_over.set()
                return
            now = time.monotonic()
            for rank, sign in zip(self._signs, signs, strict=True):
                if sign != self._signs[rank]:
                    self._signs[rank] = sign
                    self._seen[rank] = now
            self._answered = now
            if self._failure:
                self._is_told.set()
            if is_leaving:
                self._is_over.set()
            elif failure and self._error is None and self.rank not in json.loads(failure)["ranks"]:
                self._end(self._lost_error(failure))

    def _watch(self) -> None:
        """Find ranks that are gone, by the clock."""
        while not self._is_over.wait(self._interval) and self._error is None:
            now = time.monotonic()
            if now - self._answered > self.timeout:
                self._end_without_store(f"did not answer for {self.timeout:.0f} seconds")
                return
            limit = self._patience
            silent = [r for r in self._present_signs() if self._answered - self._seen[r] > limit]
            if silent and limit < self.timeout:
                names = ", ".join(map(str, silent))
                self._tell(silent, f"rank {names} of {self.size} ended without a word.")
            elif silent:
                self._tell(silent, self._silence(silent))
            elif self._is_stuck(now):
                text = (
                    f"messages between the ranks do not arrive: all are alive, and one took more "
                    f"than {self.timeout:.0f} seconds. Does a firewall lie between the machines?"
                )
                self._tell([], text)

    def _is_stuck(self, now: float) -> bool:
        """Return whether a message that all have begun has not come for too long."""
        since = self._waits_since
        begun = [int(sign.split()[1]) if sign else 0 for sign in self._present_signs().values()]
        if since is None or min(begun, default=0) < self.begun:
            self._all_began = now
        return now - max(since or now, self._all_began) > self.timeout

    def _end_without_store(self, reason: str) -> None:
        text = f"{self._place}, where the ranks meet, {reason}."
        self._end(self._lost_error(json.dumps({"ranks": [], "text": text})))

    def _end(self, error: LostRankError) -> None:
        """Let this process end: by itself if it can, and else by force."""
        self._error = error
        threading.Thread(target=self._end_by_force, name="end", args=(error,)).start()

    def _end_by_force(self, error: LostRankError) -> None:
        # A message that never comes would keep the interpreter from ending, as well.
        threading.main_thread().join(_GRACE)
        if not self._has_raised and error.is_reporter:
            sys.stderr.write(f"error: {error}\n")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(LOST)


def open_store(launched: LaunchedRank, timeout: float, *, is_master: bool = False) -> Any:
    """Connect to the store at which the ranks meet, or open it."""
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
        timeout=timedelta(seconds=timeout),
        wait_for_workers=False,
        master_listen_fd=listener,
    )
    return dist.PrefixStore("agnn", store)  # type: ignore[attr-defined]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
