"""One training divided among processes: by the rows of the graph, or by replicas."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from agnn.data import Scaling
from agnn.distributed._parts import Manifest, open_part, part_groups, read_manifest
from agnn.distributed._processes import run_together, stop_at_sigterm
from agnn.distributed._ranks import Ranks
from agnn.distributed._rows import RankCheckpoints, RowsOutcome, RowsTask, train_rows
from agnn.errors import InputError
from agnn.files import write_tensors
from agnn.graph import DenseFeatures, Graph, Part, features_of, rank_bounds
from agnn.methods import Method, NetworkMethod, Outcome, Task
from agnn.networks import check_usable, require_features
from agnn.training import Checkpoints, History, Progress

Axis = Literal["rows", "replicas"]


@dataclass(frozen=True)
class Division:
    """How a training is divided among processes of this machine, or of many.

    By rows all processes train all replicas on one graph: each has some rows, and they exchange
    the states of nodes whose neighbours are elsewhere. The result does not depend on their number.
    By replicas each process trains some replicas on the whole graph, with the same result as one.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> division = Division(1)  # one process, with the sums of a graph in parts
    >>> run = agnn.evaluate("gcn", cora, changes={"epochs": 2}, division=division)
    >>> run.scores.shape
    torch.Size([1, 2708, 7])
    """

    ranks: int
    axis: Axis = "rows"
    wire: str = "float32"  # type of the states on their way; "bfloat16" halves the volume
    # The processes exist already, started by torchrun, and this is one of them.
    is_joined: bool = False
    parts: str | None = None  # a folder of parts, in place of a graph in memory

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise InputError(f"`ranks` must be at least 1; got {self.ranks}.")
        if self.axis not in ("rows", "replicas"):
            raise InputError(f"a training is divided by rows or replicas; got '{self.axis}'.")

    @property
    def identity(self) -> dict[str, Any]:
        """What the bits of a training depend on; not the number of ranks."""
        if self.axis == "replicas":
            return {}
        own = {"divided by": "rows", "wire": self.wire}
        return own if self.parts is None else own | {"parts": read_manifest(self.parts).partition}

    def run(self, method: Method, task: Task) -> Outcome | None:
        """Train and score; None on ranks other than 0 of several that exist already."""
        if not isinstance(method, NetworkMethod):
            raise InputError(f"{method.name} does not train a network, so it has no ranks.")
        if task.callbacks:
            raise InputError("callbacks and --track are for trainings in one process.")
        require_features(task.data, method.name)
        if self.axis == "replicas":
            if self.parts is not None:
                raise InputError("a folder of parts is divided by rows, not by replicas.")
            return _by_replicas(method, task, self.ranks)
        if self.parts is not None and not method.features_by_row:
            raise InputError(
                f"{method.name} cannot be trained on a folder of parts: its features are computed "
                f"from the whole graph before the training. Train it on the graph itself."
            )
        rows = RowsTask(
            method, task.data.classes, task.splits, task.seeds, task.backend, task.class_weights,
            task.metric, self.wire,
        )  # fmt: skip
        if self.is_joined or self.ranks == 1:
            return _on_this_rank(rows, task, self)
        return _by_rows(rows, task, self)

    def sources(self, method: NetworkMethod, task: Task) -> list[PartSource]:
        """Where each rank's part comes from."""
        if self.parts is None:
            return list(parts_of(method, task, self.ranks))
        # Refuses more ranks than parts before any process is started.
        part_groups(self.parts, len(read_manifest(self.parts).parts), self.ranks)
        return [PartOnDisk(self.parts, k, self.ranks, method.scaling) for k in range(self.ranks)]


@dataclass(frozen=True)
class PartOnDisk:
    """A part in a folder, with its features scaled as a method reads them."""

    folder: str
    rank: int
    ranks: int
    scaling: Scaling

    def open(self) -> Part:
        """The part."""
        manifest, part = read_manifest(self.folder), open_part(self.folder, self.rank, self.ranks)
        return replace(part, features=_scaled(part.features, self.scaling, manifest))


PartSource = Part | PartOnDisk


def _opened(source: PartSource) -> Part:
    return source.open() if isinstance(source, PartOnDisk) else source


def _scaled(x: Any, scaling: Scaling, manifest: Manifest) -> Any:
    """Some rows of the features under a scaling, by the statistics of all."""
    if scaling == "none" or (scaling == "sum" and manifest.is_signed):
        return x
    if scaling == "standard":
        means, scales = np.array(manifest.column_means), np.array(manifest.column_scales)
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        return ((dense - means) * scales).astype(np.float32)
    wide = x.astype(np.float64)
    if isinstance(x, np.ndarray):
        size = wide.sum(1) if scaling == "sum" else np.sqrt((wide * wide).sum(1))
        return (wide / np.where(size == 0, 1.0, size)[:, None]).astype(np.float32)
    size = wide.sum(axis=1) if scaling == "sum" else np.sqrt(wide.multiply(wide).sum(axis=1))
    scale = 1.0 / np.where(size == 0, 1.0, size)
    found = x.copy()
    found.data = (x.data * np.repeat(scale, np.diff(x.indptr))).astype(np.float32)
    return found


def parts_of(method: NetworkMethod, task: Task, ranks: int) -> list[Part]:
    """The parts of a graph in memory, with the features as the method scales them."""
    data = task.data
    graph = Graph.of(data)
    if graph.weights is not None:
        raise InputError(
            "a graph with edge weights is not divided among ranks by rows; --ignore-weights "
            "leaves them out."
        )
    bounds = rank_bounds(graph.nodes, ranks, graph.offsets.numpy())
    matrix: Any = method.features(data)
    chosen = features_of(matrix)  # dense or sparse by the whole, so that no rank decides otherwise
    x = chosen.values.numpy() if isinstance(chosen, DenseFeatures) else matrix.tocsr()
    return [Part.cut(graph, bounds, rank, x, data.labels) for rank in range(ranks)]


def _on_this_rank(rows: RowsTask, task: Task, division: Division) -> Outcome | None:
    """Train one rank's share of the rows; the whole outcome is on rank 0."""
    ranks = Ranks.join(task.device) if division.is_joined else Ranks(device=task.device)
    part = _opened(division.sources(rows.method, task)[ranks.rank])
    shared = task.checkpoints
    checkpoints = None if shared is None else RankCheckpoints(ranks, shared)
    progress = task.progress if ranks.rank == 0 else None
    found = train_rows(rows, part, ranks, progress, checkpoints)
    if shared is not None and checkpoints is not None:
        shared.seconds_before = checkpoints.seconds_before
    check_usable(found.history)
    sizes = np.diff(part.bounds).tolist()
    scores = ranks.to_first(found.scores.transpose(0, 1), sizes)
    ranks.leave()
    if scores is None:
        return None
    return Outcome(scores.transpose(0, 1).contiguous(), found.model, found.history)


def _by_rows(rows: RowsTask, task: Task, division: Division) -> Outcome:
    """Train in new processes, each with its part; this one only waits."""
    count = division.ranks
    with tempfile.TemporaryDirectory(prefix="agnn-ranks-") as name:
        folder, own = Path(name), task.checkpoints
        if own is not None:
            own.check()
        payloads = [
            (rows, source, folder, task.device, own)
            for source in division.sources(rows.method, task)
        ]
        run_together(
            _train_part, payloads, folder, threads=_threads(count), progress=task.progress,
            checkpoints=own,
        )  # fmt: skip
        model, history = _read_outcome(rows.method, task, folder / "outcome.safetensors")
        check_usable(history)
        scores = [torch.from_numpy(np.load(folder / f"scores-{k}.npy")) for k in range(count)]
        return Outcome(torch.cat(scores, 1), model, history)


def _train_part(rank: int, payload: Any, progress: Progress) -> None:
    rows, source, folder, device, shared = payload
    part, ranks = _opened(source), Ranks.join(device)
    checkpoints = None
    if shared is not None:
        checkpoints = RankCheckpoints(ranks, shared)
        stop_at_sigterm(checkpoints)
    found = train_rows(rows, part, ranks, progress, checkpoints)
    np.save(folder / f"scores-{rank}.npy", found.scores.cpu().numpy())
    if rank == 0:
        _write_outcome(found, folder / "outcome.safetensors", checkpoints)
    ranks.leave()


def _by_replicas(method: NetworkMethod, task: Task, count: int) -> Outcome:
    """Train the replicas in pieces, in several new processes.

    There are as many pieces as processes; those of a training that is continued stay as they were,
    and a process may have several.
    """
    own = task.checkpoints
    stored = _stored_pieces(own)
    replicas = np.array_split(np.arange(len(task.seeds)), stored or count)
    groups = [each.tolist() for each in replicas if each.size]
    pieces, processes = len(groups), min(count, len(groups))
    with tempfile.TemporaryDirectory(prefix="agnn-ranks-") as name:
        folder = Path(name)
        checkpoints = [own and own.for_piece(k + 1, pieces) for k in range(pieces)]
        payloads = [
            [
                (k, method, _some(task, groups[k], process), folder, checkpoints[k])
                for k in range(process, pieces, processes)
            ]
            for process in range(processes)
        ]
        run_together(
            _train_replicas, payloads, folder, threads=_threads(processes),
            progress=task.progress, checkpoints=own,
        )  # fmt: skip
        histories, states = [], []
        for k in range(pieces):
            state, history, before = _tensors(folder / f"outcome-{k}.safetensors")
            if own is not None:
                own.seconds_before = max(own.seconds_before, before)
            states.append(state)
            histories.append(history)
        scores = [torch.from_numpy(np.load(folder / f"scores-{k}.npy")) for k in range(pieces)]
    model = method.build(
        method.input_width(task.data.feature_count), task.data.classes, task.seeds, task.backend
    )
    model.load_state_dict({key: torch.cat([each[key] for each in states]) for key in states[0]})
    return Outcome(torch.cat(scores), model.to(task.device), joined(histories))


def _train_replicas(_: int, payload: Any, progress: Progress) -> None:
    """Train some pieces, one after the other."""
    for place, (k, method, task, folder, checkpoints) in enumerate(payload):
        if checkpoints is not None:
            checkpoints.resume = checkpoints.resume and checkpoints.file.exists()
            stop_at_sigterm(checkpoints)

        def tell(done: int, total: int, before: int = place) -> None:
            progress(before * total + done, len(payload) * total)

        outcome = method.run(replace(task, progress=tell, checkpoints=checkpoints))
        np.save(folder / f"scores-{k}.npy", outcome.scores.cpu().numpy())
        found = RowsOutcome(outcome.model, outcome.history, outcome.scores)
        _write_outcome(found, folder / f"outcome-{k}.safetensors", checkpoints)


def _some(task: Task, replicas: Sequence[int], piece: int) -> Task:
    """The task of some replicas, without what a process gets of its own."""
    weights = task.class_weights
    device = task.device
    if device.startswith("cuda"):
        device = f"cuda:{piece % max(torch.cuda.device_count(), 1)}"
    return replace(
        task, splits=tuple(task.splits[r] for r in replicas),
        seeds=tuple(task.seeds[r] for r in replicas), progress=None, checkpoints=None,
        class_weights=None if weights is None else weights[list(replicas)], device=device,
    )  # fmt: skip


def _stored_pieces(own: Checkpoints | None) -> int | None:
    """In how many pieces the replicas of a training are that is to be continued.

    Raises unless there are checkpoints to continue, or none that would be lost.
    """
    if own is None:
        return None
    there = own.stored_pieces()
    first = there[0] if there else own.file
    Checkpoints(first, resume=own.resume).check()
    counts = {int(each.name.rpartition("of")[2]) for each in there}
    if len(counts) > 1:
        raise InputError(
            f"'{first.parent}' has checkpoints of a training in {min(counts)} pieces and of one in "
            f"{max(counts)}; delete those that are not to be continued ('{own.file.name}-*')."
        )
    return min(counts, default=None)


def joined(histories: Sequence[History]) -> History:
    """The histories of groups of replicas as one; NaN after a group's last epoch."""
    longest = max(len(each.training_loss) for each in histories)

    def of(name: str) -> Tensor | None:
        found = [getattr(each, name) for each in histories]
        if any(each is None for each in found):
            return None
        if found[0].dim() == 1:
            return torch.cat(found)
        if not any(each.shape[0] for each in found):
            return torch.cat(found, 1)
        rows = [
            torch.cat([each, each.new_full((longest - len(each), *each.shape[1:]), torch.nan)])
            for each in found
        ]
        return torch.cat(rows, 1)

    known: dict[str, Any] = {each.name: of(each.name) for each in fields(History)}
    return History(**known)


def _write_outcome(found: RowsOutcome, path: Path, checkpoints: Checkpoints | None) -> None:
    before = 0.0 if checkpoints is None else checkpoints.seconds_before
    tensors = {"seconds_before": torch.tensor(before, dtype=torch.float64)}
    tensors |= {f"model.{name}": each for name, each in found.model.state_dict().items()}
    for each in fields(found.history):
        value = getattr(found.history, each.name)
        if value is not None:
            tensors[f"history.{each.name}"] = value
    write_tensors(tensors, path)


def _tensors(path: Path) -> tuple[dict[str, Tensor], History, float]:
    from safetensors.torch import load_file

    found = load_file(path)
    state = {name[6:]: each for name, each in found.items() if name.startswith("model.")}
    history = {name[8:]: each for name, each in found.items() if name.startswith("history.")}
    return state, History(**history), float(found["seconds_before"])


def _read_outcome(method: NetworkMethod, task: Task, path: Path) -> tuple[Any, History]:
    state, history, before = _tensors(path)
    if task.checkpoints is not None:
        task.checkpoints.seconds_before = before
    width = method.input_width(task.data.feature_count)
    model = method.build(width, task.data.classes, task.seeds, task.backend)
    model.load_state_dict(state)
    return model.to(task.device), history


def _threads(processes: int) -> int:
    """The threads that each of several processes computes with."""
    return max(1, torch.get_num_threads() // processes)
