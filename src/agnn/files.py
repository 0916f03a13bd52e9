r"""Files: written completely or not at all, checked by checksum, with plain JSON values.

>>> import tempfile
>>> from pathlib import Path
>>> from agnn import files
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "result.json"
...     files.write_file(path, files.json_text({"accuracy": float("nan")}))
...     path.read_text()
'{"accuracy": null}\n'
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import math
import os
import secrets
import shutil
import sys
from collections.abc import Hashable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agnn.errors import DataError, InputError, UnavailableError

if TYPE_CHECKING:
    from torch import Tensor


_FULL: Final = {errno.ENOSPC: "No space left on device", errno.EFBIG: "File too large"}


def check_new_file(path: Path | str) -> None:
    """Raise unless a new file can be created at `path`; call it before the work, not after."""
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise InputError(f"the output file '{path}' exists already; choose another path (--out).")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(
            f"the output file '{path}' cannot be created: there is no folder '{path.parent}'."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"the output file '{path}' cannot be created: '{folder}' is not writable.")


def check_new_folder(path: Path | str) -> None:
    """Raise unless a new folder can be created at `path`; call it before the work, not after."""
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise InputError(f"the output folder '{path}' exists already; choose another path (--out).")
    parent = existing_parent(path)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(
            f"the output folder '{path}' cannot be created in '{parent}': not writable."
        )


def check_space(path: Path | str, needed: int) -> None:
    """Raise if the disk that `path` will be on has fewer than `needed` bytes left."""
    free = shutil.disk_usage(existing_parent(Path(path))).free
    if free < needed:
        raise UnavailableError(
            f"'{path}' needs about {_megabytes(needed)} MB, but its disk has {_megabytes(free)} MB "
            f"left; free some space or choose another path (--out)."
        )


@contextmanager
def writing_file(path: Path | str, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` on success and removed after an error.

    An existing file is refused, or with `replace` stays as it is until the new one is complete.
    """
    if not replace:
        check_new_file(path)
    target = Path(path).absolute()
    with draft_folder(target) as folder:
        draft = folder / target.name
        yield draft
        if replace:
            draft.replace(target)
        else:
            _link(draft, target)


def write_file(path: Path | str, content: str | bytes, *, replace: bool = False) -> None:
    """Write a file completely or not at all; an existing one only with `replace`."""
    with writing_file(path, replace=replace) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def writing_folder(path: Path | str) -> Iterator[Path]:
    """Give a folder to write to, which becomes the new folder `path` at the end.

    After an error nothing is left, not even the parent folders that were created for it.
    """
    check_new_folder(path)
    target = Path(path).absolute()
    missing = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with draft_folder(target) as draft:
            yield draft
            draft.rename(target)
    except BaseException:
        for parent in missing:
            with contextlib.suppress(OSError):  # another process may have put something there
                parent.rmdir()
        raise


@contextmanager
def claim(path: Path | str) -> Iterator[None]:
    """Reserve `path` for this process; raise if another one holds or writes it."""
    with draft_folder(Path(path).absolute()) as own_draft:
        if set(_clear_drafts(Path(path).absolute())) - {own_draft}:
            raise InputError(
                f"another process is writing '{path}'; wait until it has ended, or choose another "
                f"path (--out)."
            )
        yield


def is_claimed(path: Path | str) -> bool:
    """Return whether some process holds or writes `path`."""
    return bool(_clear_drafts(Path(path).absolute()))


def write_tensors(
    tensors: Mapping[str, Tensor], path: Path, facts: Mapping[str, str] | None = None
) -> None:
    """Write tensors as safetensors, with `facts` in the header.

    A failed write is an OSError, as for any other file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path.touch()  # with the mode of any new file, which safetensors would make 0600
    mode = path.stat().st_mode
    try:
        plain_tensors = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
        save_file(plain_tensors, path, metadata=None if facts is None else dict(facts))
    except SafetensorError as error:
        number = next((code for code in _FULL if f"os error {code}" in str(error)), None)
        number = number or next(
            (c for c, message in _FULL.items() if message in str(error)), errno.EIO
        )
        raise OSError(number, os.strerror(number), str(path)) from error
    path.chmod(mode)


def checksum(path: Path) -> str:
    """Return SHA-256 of a plain file's content."""
    check_plain(path)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_plain(path: Path) -> None:
    """Raise for a device or a pipe, which may have no end."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path.name} is not a plain file")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return the value as JSON and a line end, through `plain`."""
    return json.dumps(plain(value), indent=indent, allow_nan=False) + "\n"


def read_json(path: Path) -> Any:
    """Return the JSON value in a file; DataError if its content is not JSON."""
    check_plain(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # bad UTF-8 is a ValueError too
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(f"{path.name} does not hold valid JSON: {reason}") from error


def plain(value: Any) -> Any:
    """Return a value in terms of JSON: NumPy values as numbers and lists, NaN and infinity as null.

    Tuples and sets become lists, objects what their `to_dict` gives and dataclasses their fields;
    keys become text, and so does anything else JSON has no form for.
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays, and tensors
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Set):
        return [plain(entry) for entry in sorted(value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def plain_id(value: Hashable) -> str | int | float:
    """Return a node's id in terms of JSON: text and numbers as they are, anything else as text."""
    native: Any = value.tolist() if hasattr(value, "tolist") else value
    is_number = (
        isinstance(native, int | float) and not isinstance(native, bool) and math.isfinite(native)
    )
    return native if isinstance(native, str) or is_number else str(native)


def existing_parent(path: Path) -> Path:
    """Return the nearest folder above a path that exists."""
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Yield a new hidden folder beside the target, locked until it is removed at the end.

    The lock ends with the process, even one that is killed: a folder without a lock is nobody's,
    and whoever writes the same target next removes it.
    """
    _clear_drafts(target)
    while True:
        draft = target.parent / f".{target.name}-{secrets.token_hex(4)}.draft"
        draft.mkdir()
        try:
            lock = _lock(draft)
        except (FileNotFoundError, BlockingIOError):
            continue  # another process clears drafts and has met it before it was locked
        if draft.exists():
            break
        _unlock(lock)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        _unlock(lock)


def _clear_drafts(target: Path) -> list[Path]:
    """Remove the drafts of processes that were killed, and return those that are in use."""
    in_use = []
    for draft in target.parent.glob(f".{glob.escape(target.name)}-????????.draft"):
        try:
            lock = _lock(draft)
        except BlockingIOError:
            in_use.append(draft)
        except OSError:  # it has been removed meanwhile
            continue
        else:
            if lock is not None:
                shutil.rmtree(draft, ignore_errors=True)
            _unlock(lock)
    return in_use


def _lock(folder: Path) -> int | None:
    """Lock a folder and return what holds the lock; None on file systems that have no locks.

    Raises BlockingIOError while another process has it.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _link(draft: Path, target: Path) -> None:
    # Unlike a rename, a link refuses to replace a file that was created in the meantime.
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        draft.rename(target)  # a file system without hard links


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f}"
