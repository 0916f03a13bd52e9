"""Labels that a person gives to the nodes of a run: a file that only grows, and tables."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from filelock import FileLock, Timeout

from agnn.data import NodeData
from agnn.errors import DataError, InputError
from agnn.files import plain_id

_FORMAT: Final = "agnn-labels-1"
_LARGEST: Final = 1 << 30  # bytes of a file of labels


class LabelEntry(NamedTuple):
    """A class that was given to some nodes at once."""

    nodes: tuple[int, ...]  # indices in the data
    label: int


class LabelFile:
    r"""Labels in a file of JSON lines to which lines are only ever appended.

    The first line says which data the labels are for. Each other line gives a class to some nodes,
    or undoes the last one that is not undone. A method that changes something returns when its
    line is on the disk, so whatever happens to the process afterwards, the label is kept. A last
    line that was not written completely, because the process was killed, was never kept and is
    removed when the file is opened again; one that lacks only its line end is kept. If another
    program replaces or deletes the file, further labels are refused. A second program is refused
    as long as the file with `.lock` at the end of its name is locked.

    >>> import tempfile, agnn
    >>> cora = agnn.load_dataset("cora")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LabelFile(f"{folder}/cora.labels.jsonl", cora) as file:
    ...         file.give([5, 8], 2)
    ...         file.give([5], 3)
    ...         _ = file.undo()
    ...     with LabelFile(f"{folder}/cora.labels.jsonl", cora) as file:
    ...         file.labels
    {5: 2, 8: 2}
    """

    def __init__(self, path: Path | str, data: NodeData) -> None:
        self.path = Path(path)
        self._data = data
        self.entries: list[LabelEntry] = []
        """What was given and not undone, in order."""

        self._lock = FileLock(self.path.with_name(f"{self.path.name}.lock"), timeout=0)
        self._stream = self._open()
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    @property
    def labels(self) -> dict[int, int]:
        """The class that each labelled node was given last, by index."""
        return last_labels(self.entries)

    def give(self, nodes: Iterable[int], label: int) -> None:
        """Give a class to some nodes, both by index, and keep that."""
        indices = tuple(dict.fromkeys(int(node) for node in nodes))
        if not indices:
            raise InputError("there is no node to give a class to.")
        outside = [node for node in indices if not 0 <= node < self._data.nodes]
        if outside:
            raise InputError(
                f"there is no node {outside[0]}; there are 0 to {self._data.nodes - 1}."
            )
        if not 0 <= label < self._data.classes:
            raise InputError(f"there is no class {label}; there are 0 to {self._data.classes - 1}.")
        ids = [plain_id(self._data.node_ids[node]) for node in indices]
        self._append({"label": self._data.class_names[label], "nodes": ids})
        self.entries.append(LabelEntry(indices, label))

    def undo(self) -> LabelEntry:
        """Take back what was given last, and keep that; raises if there is nothing."""
        if not self.entries:
            raise InputError("there is no label to undo.")
        self._append({"undo": True})
        return self.entries.pop()

    def close(self) -> None:
        """Let others open the file."""
        self._stream.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> FileIO:
        """Open and lock the file; make it where there is none."""
        try:
            is_new = not self.path.exists()
            if not is_new and not self.path.is_file():  # a device may have no end
                raise InputError(f"labels cannot be kept in '{self.path}': it is not a plain file.")
            stream = self.path.open("ab+", buffering=0)  # no buffer to lose
            try:
                self._lock.acquire()
                if is_new:  # the file's name is on the disk, too
                    _sync_folder(self.path.absolute().parent)
            except BaseException:
                stream.close()
                raise
        except Timeout as error:
            raise InputError(
                f"'{self.path}' is in use by another program that gives labels."
            ) from error
        except OSError as error:
            raise InputError(
                f"labels cannot be kept in '{self.path}': {error.strerror or error}."
            ) from error
        return stream

    def _read(self) -> None:
        self._stream.seek(0)
        content = _read_all(self._stream, self.path)
        self.entries, size = _parse(content, self._data, self.path)
        header = {
            "format": _FORMAT,
            "data": self._data.name,
            "names": self._data.names_fingerprint,
        }
        if not size and not json.dumps(header).encode().startswith(content):
            raise DataError(f"'{self.path}' is not a file of labels.")  # but somebody's
        if size < len(content):
            self._stream.truncate(size)
        if not size:
            self._append(header)
        elif not content[:size].endswith(b"\n"):
            self._write(b"\n")

    def _append(self, line: Mapping[str, Any]) -> None:
        self._write(json.dumps(line).encode() + b"\n")

    def _write(self, content: bytes) -> None:
        """Write at the end; it is on the disk when this returns, or not in the file at all."""
        end = self._stream.seek(0, os.SEEK_END)
        try:
            while content:
                content = content[self._stream.write(content) or 0 :]
            os.fsync(self._stream.fileno())
            # After writing: the name may come to lead elsewhere at any moment before.
            if not _leads_to(self.path, self._stream):
                self._stream.truncate(end)
                raise DataError(
                    f"the label was not kept: another program replaced or deleted '{self.path}'; "
                    f"start `agnn explore --label-mode` again."
                )
        except OSError as error:
            with contextlib.suppress(OSError):
                self._stream.truncate(end)
            raise DataError(
                f"the label could not be written to '{self.path}': {error.strerror or error}."
            ) from error


def _leads_to(path: Path, stream: FileIO) -> bool:
    """Return whether the path is still that of the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


def _read_all(stream: FileIO, path: Path) -> bytes:
    if os.fstat(stream.fileno()).st_size > _LARGEST:
        raise DataError(f"'{path}' is larger than a file of labels may be.")
    return stream.readall()


def _parse(content: bytes, data: NodeData, path: Path) -> tuple[list[LabelEntry], int]:
    """Return what the lines of a file say, and the size of those that were written completely."""
    lines = content.split(b"\n")
    torn = lines.pop()
    if _is_object(torn):  # complete: no part of a line is an object, too
        lines.append(torn)
        torn = b""
    entries: list[LabelEntry] = []
    for number, line in enumerate(lines, start=1):
        try:
            _follow(entries, json.loads(line.decode()), data, is_first=number == 1)
        except InputError as error:
            raise DataError(f"'{path}', line {number}: {str(error).rstrip('.')}.") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DataError(f"'{path}', line {number} is not a label.") from error
    return entries, len(content) - len(torn)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode()), dict)
    except (ValueError, RecursionError):
        return False


def _follow(entries: list[LabelEntry], line: Any, data: NodeData, *, is_first: bool) -> None:
    """Do what a line of the file says."""
    if is_first:
        if not isinstance(line, dict) or line.get("format") != _FORMAT:
            raise InputError(f"this is not a file of labels ('format': '{_FORMAT}')")
        if line["names"] != data.names_fingerprint:
            raise InputError(
                f"the labels are for other data: the nodes or classes of '{line['data']}' are not "
                f"those of '{data.name}'"
            )
    elif line.get("undo") is True:
        if not entries:
            raise InputError("there is nothing to undo")
        entries.pop()
    else:
        nodes = tuple(node_of(data, node_id) for node_id in line["nodes"])
        entries.append(LabelEntry(nodes, class_of(data, line["label"])))


def last_labels(entries: Iterable[LabelEntry]) -> dict[int, int]:
    """Return the class that each node was given last, by index."""
    return {node: entry.label for entry in entries for node in entry.nodes}


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def node_of(data: NodeData, name: Any) -> int:
    """Return the index of the node with this id; an error that names it if there is none."""
    index = data.index_of(name)
    if index is None:
        raise InputError(f"'{data.name}' has no node '{str(name)[:80]}'")
    return index


def class_of(data: NodeData, name: Any) -> int:
    """Return the index of the class of this name."""
    if name not in data.class_names:
        names = ", ".join(data.class_names[:20])
        raise InputError(f"'{data.name}' has no class '{str(name)[:80]}'; it has {names}")
    return data.class_names.index(name)


def labels_csv(data: NodeData, labels: Mapping[int, int]) -> str:
    """Return labels as a table with the columns id and class, in the order of the nodes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "class"])
    rows = ([plain_id(data.node_ids[k]), data.class_names[labels[k]]] for k in sorted(labels))
    writer.writerows(rows)
    return text.getvalue()


def read_labels(path: Path | str, data: NodeData) -> dict[int, int]:
    """Return labels by node index from a file: a table (.csv) of ids and classes, or a `LabelFile`.

    The first two columns of a table are read; its first line has their names.
    """
    path = Path(path)
    if not path.is_file():  # a pipe or a device may have no end
        reason = "is not a plain file" if path.exists() else "does not exist"
        raise InputError(f"'{path}' {reason}.")
    if path.suffix.lower() != ".csv":
        with path.open("rb", buffering=0) as stream:
            entries, _ = _parse(_read_all(stream, path), data, path)
        return last_labels(entries)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read_table(path, csv.reader(stream), data)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"'{path}' cannot be read as a table: {error}.") from error


def _check_header(path: Path, row: Sequence[str], data: NodeData) -> None:
    """Raise where the first line of a table is a label already."""
    has_class = len(row) > 1 and row[1] in data.class_names
    if has_class or (row and data.index_of(row[0]) is not None):
        raise DataError(
            f"'{path}', line 1 is a label; the first line must name the columns, such as id,class."
        )


def _read_table(path: Path, rows: Iterable[Sequence[str]], data: NodeData) -> dict[int, int]:
    labels: dict[int, int] = {}
    for number, row in enumerate(rows, start=1):
        if number == 1:
            _check_header(path, row, data)
        if number == 1 or not row:
            continue
        try:
            if len(row) < 2:
                raise InputError("there is no second column")
            node = node_of(data, row[0])
            label = class_of(data, row[1])
            if labels.get(node, label) != label:
                raise InputError(f"the node '{row[0][:80]}' is there twice, with two classes")
        except InputError as error:
            raise DataError(
                f"'{path}', line {number}: {str(error).rstrip('.')}. The first two columns are the "
                f"id and the class; correct the row or leave it out."
            ) from error
        labels[node] = label
    if not labels:
        raise DataError(f"'{path}' has no labels.")
    return labels
