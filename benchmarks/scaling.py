"""What a graph in rows costs on P ranks: measured where it can be, predicted where it cannot.

    python -m benchmarks.scaling --nodes 1000000 --edges 10000000 --out scaling.json

1. The halo of every rank is counted exactly for P = 2 to 1024.
2. The ranks' own work is measured one rank after the other, on one core, without messages.
3. An epoch is predicted for stated bandwidths: the slowest rank, and its messages after it.
4. The same training runs in 1 to 4 real gloo processes of one thread each, and as one ordinary
   process; the prediction for this machine stands beside what was measured.
5. The bytes that all ranks receive are counted and compared with the halo bound: all rows of the
   halo in every layer, three times an epoch. `--evaluate-every` and `--wire` reduce them.

The graph has communities: of the other ends of a node's edges a share lies within 200 positions,
the rest anywhere. Times are the smallest of some epochs; on a busy machine the processor time says
more than the clock, so both are given.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.multiprocessing
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import Split
from agnn.distributed import Meeting
from agnn.distributed._local_graph import LocalGraph
from agnn.distributed._ranks import Exchange, Ranks
from agnn.distributed._rows import WIRES, RowsTask, train_rows
from agnn.executors import LaunchedRank
from agnn.graph import DenseFeatures, Graph, Part
from agnn.networks import AGNN
from agnn.training import Problem, train

Floats = NDArray[np.float32]
Classes = NDArray[np.int64]
WIDTH, CLASSES, LAYERS, HIDDEN = 32, 16, 4, 16
# Bytes per second and seconds per message of one rank, as stated by vendors.
NETWORKS: Final = {
    "10 Gb/s Ethernet": (1.1e9, 50e-6),
    "100 Gb/s Ethernet": (11e9, 20e-6),
    "200 Gb/s InfiniBand": (22e9, 5e-6),
}
LOOPBACK: Final = (2e9, 1e-4)  # assumed of gloo on one machine
EXCHANGES: Final = 3 * LAYERS  # there and back in a step, there in the evaluation
CLOCKS: Final = ("clock", "processor", "own thread", "packing", "waiting")
COLUMNS: Final = (*CLOCKS, "bytes")
GATHERS: Final = 4  # loss, gradients, watched loss, watched accuracy


@dataclass(frozen=True)
class Case:
    """A graph with features and labels, and how it is trained."""

    nodes: int
    edges: int
    near: float
    epochs: int
    evaluate_every: int = 1
    wire: str = "float32"

    @property
    def method(self) -> AGNN:
        """AGNN as the paper has it for larger graphs."""
        return AGNN(
            layers=LAYERS,
            hidden=HIDDEN,
            epochs=self.epochs,
            scaling="none",
            evaluate_every=self.evaluate_every,
        )

    def split(self) -> Split:
        """A tenth of the nodes each for training, validation and test."""
        every = np.arange(self.nodes)
        return Split("tenths", every[::10], every[1::10], every[2::10])

    def graph(self) -> Graph:
        """Most neighbours within 200 positions, the rest anywhere."""
        source = np.random.default_rng(0)
        a = source.integers(0, self.nodes, self.edges)
        near = (a + source.integers(1, 200, self.edges)) % self.nodes
        far = source.integers(0, self.nodes, self.edges)
        b = np.where(source.random(self.edges) < self.near, near, far)
        return Graph.from_edges(np.stack([a, b]), self.nodes)

    def features(self) -> tuple[Floats, Classes]:
        """Features around a centre per class, and the classes."""
        source = np.random.default_rng(1)
        labels = source.integers(0, CLASSES, self.nodes)
        centre = source.standard_normal((CLASSES, WIDTH)).astype(np.float32)
        noise = source.standard_normal((self.nodes, WIDTH), dtype=np.float32)
        return centre[labels] + noise, labels


class Alone(Ranks):
    """One of many ranks without the others: every message is answered at once.

    Flags, which say what another rank needs, are answered with yes, all else with zeros.
    """

    def exchange(
        self, packed: Tensor, send_counts: Sequence[int], receive_counts: Sequence[int]
    ) -> Exchange:
        """Zeros for the halo, or ones for flags."""
        value = 1.0 if packed.dtype == torch.uint8 else 0.0
        found = packed.new_full((sum(receive_counts), *packed.shape[1:]), value)
        return Exchange(found, None, self)

    def gather(self, own: Tensor) -> list[Tensor]:
        """The own tensor in place of all."""
        return [own] * self.size

    def from_first(self, value: Tensor) -> Tensor:
        """The own tensor."""
        return value


def halo_sizes(graph: Graph, ranks: int) -> Classes:
    """The halo of every rank, exactly; beyond one rank per block with equal numbers of rows."""
    n, offsets = graph.nodes, graph.offsets.numpy()
    if ranks < Part.block_bounds(n).size:
        bounds = Part.rank_bounds(n, ranks, offsets)
    else:
        bounds = np.arange(ranks + 1) * n // ranks
    found = []
    for first, last in pairwise(bounds.tolist()):
        columns = graph.columns[offsets[first] : offsets[last]].numpy()
        found.append(np.unique(columns[(columns < first) | (columns >= last)]).size)
    return np.array(found)


def message_bytes(halo: float) -> float:
    """Bytes that a rank receives per epoch: d numbers a row there, d + 2 back."""
    return 4.0 * LAYERS * halo * (2 * HIDDEN + HIDDEN + 2)


def predicted(compute: float, halo: float, ranks: int, bandwidth: float, latency: float) -> float:
    """Seconds per epoch: the work, then the messages, one to each other rank per exchange."""
    if ranks == 1:
        return compute
    waits = latency * (EXCHANGES * (ranks - 1) + GATHERS * np.log2(ranks))
    return float(compute + message_bytes(halo) / bandwidth + waits)


class Epochs:
    """Clocks at the end of every epoch: the time, the process, its own thread, and parts of that.

    `bytes` are those of the states and gradients received.
    Other threads of a rank carry its messages. `packing` is the thread's time for gathering rows
    to be sent, `waiting` the time that it waits for others, whose processor time is nearly none.
    """

    def __init__(self, evaluate_every: int = 1) -> None:
        self.evaluate_every = evaluate_every
        self.marks: list[tuple[float, ...]] = []
        self.packing = 0.0
        self.waiting = 0.0
        self.bytes = 0

    def __call__(self, done: int, total: int) -> None:
        """Note the end of an epoch."""
        own = time.perf_counter(), time.process_time(), time.thread_time()
        self.marks.append((*own, self.packing, self.waiting, self.bytes))

    def typical(self) -> dict[str, float]:
        """Seconds of an epoch after the first two: the least by the clock, else the median.

        The bytes are the mean over as many epochs as there are from one evaluation to the next.
        """
        steps = np.diff(np.array(self.marks), axis=0)
        typical = dict(zip(COLUMNS, np.median(steps[1:], axis=0).tolist(), strict=True))
        received = steps[-self.evaluate_every :, COLUMNS.index("bytes")]
        return typical | {"clock": float(steps[1:, 0].min()), "bytes": float(received.mean())}


class TimedRanks(Ranks):
    """Ranks that note how long they wait for each other."""

    epochs: Epochs

    def exchange(
        self, packed: Tensor, send_counts: Sequence[int], receive_counts: Sequence[int]
    ) -> Exchange:
        """Begin an exchange whose end is timed."""
        found = super().exchange(packed, send_counts, receive_counts)
        self.epochs.bytes += found.received.nbytes
        return TimedExchange(found.received, found.work, self, found.source)

    def gather(self, own: Tensor) -> list[Tensor]:
        """Wait for all ranks."""
        start = time.perf_counter()
        found = super().gather(own)
        self.epochs.waiting += time.perf_counter() - start
        return found


class TimedExchange(Exchange):
    """Rows on their way, and how long they were waited for."""

    def wait(self) -> Tensor:
        """Wait for the rows."""
        start = time.perf_counter()
        found = super().wait()
        assert isinstance(self.ranks, TimedRanks)  # noqa: S101 (for the type)
        self.ranks.epochs.waiting += time.perf_counter() - start
        return found


def _time_packing(epochs: Epochs) -> None:
    send = LocalGraph.send

    def timed(*given: Any) -> Exchange:
        start = time.thread_time()
        found = send(*given)
        epochs.packing += time.thread_time() - start
        return found

    LocalGraph.send = timed  # type: ignore[method-assign]


def own_work(parts: Sequence[Part], case: Case) -> list[float]:
    """Processor seconds of an epoch for each of some parts, one after the other."""
    task = _task(case)
    found = []
    for part in parts:
        epochs = Epochs()
        train_rows(task, part, Alone(part.rank, part.ranks), epochs)
        found.append(epochs.typical()["processor"])
    return found


def _task(case: Case) -> RowsTask:
    return RowsTask(case.method, CLASSES, (case.split(),), (0,), wire=case.wire)


def _save(folder: Path, name: str, part: Part) -> None:
    arrays = {field.name: getattr(part, field.name) for field in fields(part)}
    np.savez(folder / name, **{key: array for key, array in arrays.items() if array is not None})


def _load(path: Path) -> Part:
    with np.load(path) as stored:
        return Part(**{**stored, "rank": int(stored["rank"])})


def _rank(rank: int, size: int, port: int, folder: str, case: Case) -> None:
    torch.set_num_threads(1)
    ranks = TimedRanks()
    if size > 1:
        ranks = TimedRanks.join(Meeting.attend(LaunchedRank(rank, size, rank, size, port=port)))
    ranks.epochs = epochs = Epochs(case.evaluate_every)
    _time_packing(epochs)
    part = _load(Path(folder) / f"part-{size}-{rank}.npz")
    outcome = train_rows(_task(case), part, ranks, epochs)
    _report(folder, f"rank-{size}-{rank}", epochs, outcome.history.training_loss)
    ranks.leave()


def _one_process(_: int, folder: str, case: Case) -> None:
    torch.set_num_threads(1)
    with np.load(Path(folder) / "whole.npz") as stored:
        graph = Graph(torch.from_numpy(stored["offsets"]), torch.from_numpy(stored["columns"]))
        values, labels = torch.from_numpy(stored["features"]), stored["labels"]
    features = DenseFeatures(values, torch.arange(graph.nodes))
    epochs, model = Epochs(), case.method.build(WIDTH, CLASSES, (0,), "auto")
    problem = Problem(features, graph, labels, (case.split(),), (0,))
    history = train(model, problem, case.method.recipe(), epochs)
    _report(folder, "whole", epochs, history.training_loss)


def _report(folder: str, name: str, epochs: Epochs, losses: Tensor) -> None:
    # Not getrusage, whose peak includes that of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    memory = int(status.split("VmHWM:")[1].split()[0]) * 1024
    values: dict[str, Any] = {**epochs.typical(), "memory": memory}
    values["losses"] = losses.flatten().tolist()
    (Path(folder) / f"{name}.json").write_text(json.dumps(values), encoding="utf-8")


def real_runs(
    case: Case, graph: Graph, features: Floats, labels: Classes, counts: Sequence[int]
) -> dict[str, Any]:
    """The ordinary process and gloo processes of one thread each: seconds and bytes per rank."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(
            Path(folder) / "whole.npz", offsets=graph.offsets.numpy(),
            columns=graph.columns.numpy(), features=features, labels=labels,
        )  # fmt: skip
        torch.multiprocessing.spawn(_one_process, (folder, case), 1)
        found["one process"] = json.loads((Path(folder) / "whole.json").read_text())
        offsets = graph.offsets.numpy()
        for size in counts:
            bounds = Part.rank_bounds(graph.nodes, size, offsets)
            for rank in range(size):
                part = Part.cut(graph, bounds, rank, features, labels)
                _save(Path(folder), f"part-{size}-{rank}.npz", part)
            torch.multiprocessing.spawn(_rank, (size, 29500 + size, folder, case), size)
            reports = [
                json.loads((Path(folder) / f"rank-{size}-{rank}.json").read_text())
                for rank in range(size)
            ]
            most = {key: max(each[key] for each in reports) for key in (*CLOCKS, "memory")}
            most["bytes"] = sum(report["bytes"] for report in reports)
            bound = message_bytes(halo_sizes(graph, size).sum()) if size > 1 else 0.0
            found[f"{size} ranks"] = most | {"losses": reports[0]["losses"], "bound": bound}
    return found


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _largest_halo(graph: Graph, ranks: int) -> int:
    return int(halo_sizes(graph, ranks).max()) if ranks > 1 else 0


def tell_halos(graph: Graph, counts: Sequence[int]) -> dict[int, int]:
    """The largest halo for every number of ranks."""
    _tell("\nlargest halo, exactly: rows, share of the own rows, MB received per epoch")
    found = {ranks: _largest_halo(graph, ranks) for ranks in counts}
    for ranks, halo in found.items():
        share, size = halo * ranks / graph.nodes, message_bytes(halo) / 1e6
        _tell(f"  P = {ranks:5d}: {halo:9,} rows, {share:6.2f}, {size:8.1f} MB")
    return found


def tell_work(
    case: Case, graph: Graph, features: Floats, labels: Classes, counts: Sequence[int]
) -> dict[int, float]:
    """The work of the slowest of up to four ranks, for every number of ranks."""
    _tell("\nprocessor time of the slowest rank per epoch, rank by rank, without messages")
    found: dict[int, float] = {}
    for ranks in counts:
        bounds = Part.rank_bounds(graph.nodes, ranks, graph.offsets.numpy())
        chosen = sorted({int(k) for k in np.linspace(0, ranks - 1, min(ranks, 4))})
        parts = [Part.cut(graph, bounds, k, features, labels) for k in chosen]
        found[ranks] = max(own_work(parts, case))
        share = found[counts[0]] / found[ranks] / ranks * counts[0]
        _tell(f"  P = {ranks:5d}: {found[ranks] * 1e3:8.1f} ms, {share:5.2f} of perfect")
    return found


def tell_predictions(graph: Graph, work: dict[int, float]) -> dict[str, dict[int, float]]:
    """The seconds of an epoch for each network and number of ranks."""
    _tell("\npredicted seconds per epoch, one core per rank, messages after the work")
    halos = {ranks: _largest_halo(graph, ranks) for ranks in work}
    found = {}
    for name, network in NETWORKS.items():
        rows = {k: predicted(seconds, halos[k], k, *network) for k, seconds in work.items()}
        found[name] = rows
        _tell(f"  {name:20s} " + "  ".join(f"P={k}: {v:.3f}" for k, v in rows.items()))
    return found


def tell_real(real: dict[str, Any], graph: Graph, work: dict[int, float]) -> None:
    """What real processes took, beside the prediction for this machine."""
    cores, base = len(os.sched_getaffinity(0)), real["one process"]
    _tell(f"\nreal processes of one thread each on {cores} cores: {', '.join(CLOCKS)}, memory")
    for name, row in real.items():
        words = " ".join(f"{row[key]:.2f}" for key in CLOCKS)
        words += f" s, {row['memory'] / 2**20:,.0f} MiB"
        if name != "one process":
            size = int(name.split()[0])
            gap = np.abs(np.array(row["losses"]) / np.array(base["losses"]) - 1).max()
            times, by_processor = (base[key] / row[key] for key in ("clock", "processor"))
            words += f"; {times:.2f} times one process by the clock, {by_processor:.2f} by the "
            words += f"processor, losses within {gap:.1e}"
            if size > 1:
                share = row["bytes"] / row["bound"]
                words += f"; {row['bytes'] / 1e6:.1f} MB per epoch, {share:.3f} of the bound"
            if size in work:
                # Ranks beyond the cores share them.
                own = work[size] * max(1.0, size / cores)
                value = predicted(own, _largest_halo(graph, size), size, *LOOPBACK)
                words += f"; predicted {value:.2f} s"
        _tell(f"  {name:12s} {words}")


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure, predict and print; the figures as JSON values."""
    parser = argparse.ArgumentParser(description="Ranks: halos, work, predictions, real runs.")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--near", type=float, default=0.95)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--evaluate-every", type=int, default=1)
    parser.add_argument("--wire", choices=WIRES, default="float32")
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4, 8, 16, 64, 256, 1024])
    parser.add_argument("--measured", type=int, nargs="*", default=[1, 2, 3, 4, 8, 64])
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if given.epochs < given.evaluate_every + 2:
        parser.error("--epochs must be at least two more than --evaluate-every")
    case = Case(
        given.nodes, given.edges, given.near, given.epochs, given.evaluate_every, given.wire
    )
    graph = case.graph()
    features, labels = case.features()
    _tell(
        f"{graph.nodes:,} nodes, {graph.edges // 2:,} edges, {case.near:.0%} near; AGNN with "
        f"{LAYERS} layers of width {HIDDEN}, one replica"
    )
    found: dict[str, Any] = {"case": asdict(case), "halo": tell_halos(graph, given.ranks)}
    work: dict[int, float] = {}
    if given.measured:
        found["work"] = work = tell_work(case, graph, features, labels, given.measured)
        found["predicted"] = tell_predictions(graph, work)
    if given.processes:
        found["real"] = real_runs(case, graph, features, labels, given.processes)
        tell_real(found["real"], graph, work)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
