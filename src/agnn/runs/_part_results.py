"""What is kept of a training on parts: scores at labelled nodes, and predictions in files.

No process has the scores of all nodes. Every rank writes the predictions of its own nodes to a
Parquet file, and rank 0 has the scores of the nodes whose labels measure the result.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn._allocator import return_freed_memory
from agnn.data import Split
from agnn.distributed import PartsFolder, Ranks, RowsTask
from agnn.errors import DataError, import_extra
from agnn.files import draft_folder, existing_parent
from agnn.graph import Part
from agnn.methods import Outcome
from agnn.metrics import Ensemble, held_out_predictions, helpful_temperature
from agnn.runs._predictions import Predictions, save_frames

if TYPE_CHECKING:
    from agnn.data.tables import DataFrame

_FILE: Final = re.compile(r"predictions-\d{5}\.parquet")
_ROWS_AT_ONCE: Final = 65_536
_ROWS_WRITTEN: Final = 16_384
_BYTES_AT_ONCE: Final = 2**25  # that rank 0 receives from all ranks together


class PredictionFiles:
    """The predictions of a run on parts: a Parquet file per rank, nodes in the order of the parts.

    The columns are those of `Predictions.to_dict`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def scratch(cls, out: Path | str | None) -> PredictionFiles:
        """Return files in a new folder beside `out` that goes with this object or the process."""
        purpose = "predictions of a graph in parts are written with it"
        import_extra("pyarrow", purpose, "agnn[tables]")
        where = Path(tempfile.gettempdir()) / "agnn"
        if out is not None:
            where = existing_parent(Path(out)) / f"{Path(out).name}.predictions"
        stack = ExitStack()
        files = cls(stack.enter_context(draft_folder(where)))
        weakref.finalize(files, stack.close)
        return files

    @property
    def paths(self) -> list[Path]:
        """The files, by rank."""
        return sorted(path for path in self.folder.iterdir() if _FILE.fullmatch(path.name))

    def copy_to(self, folder: Path) -> None:
        """Put the files into another folder."""
        for path in self.paths:
            try:
                os.link(path, folder / path.name)
            except OSError:  # another disk, or one without links
                shutil.copyfile(path, folder / path.name)

    def frames(self) -> Iterator[DataFrame]:
        """Yield the rows of all files as pandas frames, some thousand at a time."""
        from pyarrow import ArrowException, parquet

        for path in self.paths:
            try:
                with parquet.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                        yield batch.to_pandas()
            except ArrowException as error:
                raise DataError(f"'{path}' is damaged: {error}.") from error

    def save(self, path: Path | str, *, is_unlabelled: bool = False) -> int:
        """Write all rows, or those without a label, to a new CSV or Parquet file; return how many.

        The files are read piece by piece, and the graph is not read.
        """
        frames = self.frames()
        if is_unlabelled:
            frames = (frame[~frame["is_labelled"]] for frame in frames)
        return save_frames(frames, path)

    def read(self, class_names: Sequence[str]) -> Predictions:
        """Return all of them."""
        frames = list(self.frames())
        start = 4  # id, prediction, label and is_labelled come before the probabilities
        columns = [frame.iloc[:, start : start + len(class_names)].to_numpy() for frame in frames]
        return Predictions(
            np.concatenate(columns),
            np.concatenate([frame["disagreement"].to_numpy() for frame in frames]),
            tuple(node for frame in frames for node in frame.iloc[:, 0].tolist()),
            tuple(class_names),
            tuple(
                label if isinstance(label, str) else None  # pandas has NaN where there is none
                for frame in frames
                for label in frame["label"].tolist()
            ),
        )


@dataclass(frozen=True)
class PredictionWriter:
    """What every rank does after a training on parts: write what it predicts for its nodes."""

    parts: str  # the folder of parts
    folder: str  # for the files: one for all ranks, or that of each machine

    def __call__(self, task: RowsTask, part: Part, ranks: Ranks, trained: Outcome) -> Tensor | None:
        """Write the file of this rank; return all scores at labelled nodes [R, k, c] on rank 0."""
        history = trained.history
        assert history is not None  # noqa: S101 (ranks train networks)
        history.check_usable()
        return_freed_memory()  # of the training: what follows would come on top of it
        labelled = _labelled_scores(trained.scores.cpu(), part, ranks)
        members = history.members.tolist()
        temperature = 1.0
        if labelled is not None:
            temperature = self._temperature(labelled, task, members)
        sent = ranks.from_first(torch.tensor([temperature], dtype=torch.float64))
        file = Path(self.folder) / f"predictions-{ranks.rank:05d}.parquet"
        self._write(file, part, trained.scores[members], float(sent))
        self._collect(file, ranks)
        return labelled

    def _temperature(self, scores: Tensor, task: RowsTask, members: list[int]) -> float:
        """Return the temperature of the ensemble, as `Run.calibration` fits it."""
        labels = np.asarray(PartsFolder(self.parts).labels())
        labelled = np.flatnonzero(labels >= 0)
        splits = renumber(task.splits, labelled)
        member_splits = [splits[replica] for replica in members]
        fit_on = "test" if task.passes else "validation"
        nodes, probabilities = held_out_predictions(scores[members], member_splits, fit_on)
        return helpful_temperature(probabilities, labels[labelled[nodes]])

    def _write(self, file: Path, part: Part, scores: Tensor, temperature: float) -> None:
        import pyarrow
        from pyarrow import parquet

        folder = PartsFolder(self.parts)
        names = folder.manifest.class_names
        label_names = (*names, None)  # the last is what -1 stands for
        writer = None
        try:
            for start in range(0, max(1, part.own), _ROWS_WRITTEN):
                rows = slice(start, min(start + _ROWS_WRITTEN, part.own))
                ids = folder.ids[part.first + rows.start : part.first + rows.stop]
                ensemble = Ensemble.of_scores(scores[:, rows].cpu(), temperature)
                labels = tuple(label_names[label] for label in part.labels[rows])
                predictions = Predictions(
                    ensemble.probabilities, ensemble.disagreement, ids, names, labels
                )
                columns = predictions.to_dict()
                columns["label"] = pyarrow.array(columns["label"], pyarrow.string())
                table = pyarrow.table(columns)
                if writer is None:
                    writer = parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    def _collect(self, file: Path, ranks: Ranks) -> None:
        """Send the file to rank 0, unless all ranks write to the same folder."""
        digest = hashlib.sha256(self.folder.encode()).digest()[:7]
        folders = ranks.gather(torch.tensor([int.from_bytes(digest)]))
        if len({int(folder) for folder in folders}) == 1:
            return
        content = np.memmap(file, np.uint8, "r")
        sizes = [int(size) for size in ranks.gather(torch.tensor([content.size]))]
        step = max(1, min(max(sizes), _BYTES_AT_ONCE // ranks.size))
        for start in range(0, max(sizes), step):
            piece = torch.zeros(step, dtype=torch.uint8)
            chunk = content[start : start + step]
            piece[: chunk.size] = torch.from_numpy(np.array(chunk))
            received = ranks.to_first(piece, [step] * ranks.size)
            if received is None:
                continue
            for rank in range(1, ranks.size):
                length = min(step, max(0, sizes[rank] - start))
                arrived = received[rank * step : rank * step + length]
                with file.with_name(f"predictions-{rank:05d}.parquet").open("ab") as target:
                    target.write(arrived.numpy().tobytes())


def _labelled_scores(scores: Tensor, part: Part, ranks: Ranks) -> Tensor | None:
    """Return the scores [R, own, c] of all ranks at labelled nodes, in order, on rank 0."""
    own_scores = scores[:, np.flatnonzero(np.asarray(part.labels) >= 0)].transpose(0, 1)
    sizes = [int(size) for size in ranks.gather(torch.tensor([len(own_scores)]))]
    # Of one length: some rank may have no labels, and nothing cannot be sent.
    padded = own_scores.new_zeros(max(sizes), *own_scores.shape[1:])
    padded[: len(own_scores)] = own_scores
    gathered = ranks.to_first(padded, [len(padded)] * ranks.size)
    if gathered is None:
        return None
    length = len(padded)
    rows = [gathered[k * length : k * length + size] for k, size in enumerate(sizes)]
    return torch.cat(rows).transpose(0, 1).contiguous()


def renumber(splits: Sequence[Split], nodes: NDArray[np.int64]) -> tuple[Split, ...]:
    """Return the splits for a graph of these nodes alone, which are ascending [k].

    Replicas that share a split share the new one.
    """
    renumbered = {}
    for split in splits:
        if id(split) not in renumbered:
            train, validation, test = (np.searchsorted(nodes, p) for p in split.parts.values())
            renumbered[id(split)] = Split(split.name, train, validation, test, split.seed)
    return tuple(renumbered[id(split)] for split in splits)
