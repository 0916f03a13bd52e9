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
import hashlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Hashable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agnn.errors import DataError, InputError, UnavailableError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "check_new_file",
    "check_new_folder",
    "check_space",
    "checksum",
    "json_text",
    "plain",
    "plain_id",
    "read_json",
    "write_file",
    "write_tensors",
    "writing_file",
    "writing_folder",
]

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
    parent = _existing_parent(path)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(
            f"the output folder '{path}' cannot be created in '{parent}': not writable."
        )


def check_space(path: Path | str, needed: int) -> None:
    """Raise if the disk that `path` will be on has fewer than `needed` bytes left."""
    free = shutil.disk_usage(_existing_parent(Path(path))).free
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
    folder = _draft(target)
    folder.mkdir()
    try:
        draft = folder / target.name
        yield draft
        if replace:
            draft.replace(target)
        else:
            _link(draft, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    draft = _draft(target)
    try:
        draft.mkdir(parents=True)
        yield draft
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        for parent in missing:
            with contextlib.suppress(OSError):  # another process may have put something there
                parent.rmdir()
        raise


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
        own = {name: each.contiguous().cpu() for name, each in tensors.items()}
        save_file(own, path, metadata=None if facts is None else dict(facts))
    except SafetensorError as error:
        number = next((code for code in _FULL if f"os error {code}" in str(error)), None)
        number = number or next((c for c, words in _FULL.items() if words in str(error)), errno.EIO)
        raise OSError(number, os.strerror(number), str(path)) from error
    path.chmod(mode)


def checksum(path: Path) -> str:
    """SHA-256 of a plain file's content."""
    _check_plain(path)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_plain(path: Path) -> None:
    """Raise for a device or a pipe, which may have no end."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path.name} is not a plain file")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The value as JSON and a line end, through `plain`."""
    return json.dumps(plain(value), indent=indent, allow_nan=False) + "\n"


def read_json(path: Path) -> Any:
    """The JSON value in a file; DataError if its content is not JSON."""
    _check_plain(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # bad UTF-8 is a ValueError too
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(f"{path.name} does not hold valid JSON: {reason}") from error


def plain(value: Any) -> Any:
    """The same value in terms of JSON: NumPy values as numbers and lists, NaN and infinity as null.

    Tuples and sets become lists; keys become text, and so does anything else JSON has no form for.
    """
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays, and tensors
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Set):
        return [plain(each) for each in sorted(value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def plain_id(value: Hashable) -> str | int | float:
    """A node's id in terms of JSON: text and numbers as they are, anything else as text."""
    own: Any = value.tolist() if hasattr(value, "tolist") else value
    is_number = isinstance(own, int | float) and not isinstance(own, bool) and math.isfinite(own)
    return own if isinstance(own, str) or is_number else str(own)


def _existing_parent(path: Path) -> Path:
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent


def _draft(target: Path) -> Path:
    """A hidden path next to the target that nobody else uses."""
    return target.parent / f".{target.name}-{secrets.token_hex(4)}"


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
