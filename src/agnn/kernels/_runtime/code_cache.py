"""Compiled code kept on disk, one folder per user for all environments of a machine.

numba's own cache looks only at the file a function is written in, while most of these functions
inline others; and it lies beside the source, so every environment compiles again. Here the folder
is named by a hash over the source of all kernels and the versions of the compilers: what lies in it
was made from exactly this source. A file holds one function for one signature and processor, and
its name says which, so processes that compile at the same time cannot mix their results.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import llvmlite
import numba
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from agnn.files import write_file
from agnn.kernels._runtime import is_disabled

_KERNELS: Final = Path(__file__).resolve().parents[1]
_UNUSED: Final = 60 * 86_400.0  # seconds after which the code of another source is thrown away


class CodeCache:
    """What numba asks for the compiled code of one function: its `_Cache` interface."""

    def __init__(self, function: FunctionType, folder: Path) -> None:
        path = Path(function.__code__.co_filename).resolve().relative_to(_KERNELS)
        line = function.__code__.co_firstlineno
        self._name = f"{path.with_suffix('')}.{function.__name__}-{line}".replace(os.sep, ".")
        self._folder = folder

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for a signature; None if it is not kept, or damaged."""
        target.refresh()
        try:
            content = self._file(signature, target.codegen()).read_bytes()
        except OSError:
            return None
        checksum = content[:32]
        content = content[32:]
        if hashlib.sha256(content).digest() != checksum:
            return None
        # A file of the user's own folder, as numba's cache is: see `_is_ours`.
        return CompileResult._rebuild(target, *pickle.loads(content))  # noqa: S301

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature, whole or not at all."""
        if result.library.has_dynamic_globals or result.lifted:
            return  # it holds addresses of this process
        try:
            content = dumps(result._reduce())
        except RuntimeError as error:
            # LLVM hands the code over in a callback, in which Ctrl-C is swallowed: no code comes.
            raise KeyboardInterrupt from error
        file = self._file(signature, result.codegen)
        with suppress(OSError):  # a full disk: it is compiled again next time
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(file, hashlib.sha256(content).digest() + content, replace=True)

    def enable(self) -> None:
        """Nothing: always on."""

    def disable(self) -> None:
        """Nothing: always on."""

    def flush(self) -> None:
        """Forget the function's code for all signatures."""
        for file in self._folder.glob(f"{self._name}.*"):
            file.unlink(missing_ok=True)

    def _file(self, signature: Any, codegen: Any) -> Path:
        key = hashlib.sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()
        return self._folder / f"{self._name}.{key[:32]}"


def code_cache_of(function: FunctionType) -> Any:
    """The kept code of a function of the kernels; of any other, nothing is kept."""
    folder = compiled_folder()
    inside = Path(function.__code__.co_filename).resolve().is_relative_to(_KERNELS)
    return NullCache() if folder is None or not inside else CodeCache(function, folder)


@cache
def compiled_folder() -> Path | None:
    """Where compiled code is kept; None if no folder can be written, or none is wanted."""
    if is_disabled("code_cache"):
        return None
    sources = sorted(
        file
        for file in _KERNELS.rglob("*.py")
        if file.parent.name != "_gpu" and not file.name.startswith("triton_")
    )
    if not sources:  # a frozen program
        return None
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for file in sources:
        digest.update(f"{file.relative_to(_KERNELS)}\n".encode() + file.read_bytes() + b"\0")
    for base in _bases():
        folder = base / digest.hexdigest()[:24]
        if _is_ours(folder):
            _delete_unused(base)
            return folder
    return None


def _bases() -> list[Path]:
    """The folders to try: numba's if the user named one, the user's, and beside the source."""
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR).absolute() / "agnn-compiled"]
    users = Path(AppDirs("agnn", appauthor=False).user_cache_dir) / "compiled"
    beside = _KERNELS / "__pycache__" / "compiled"
    return [users, beside] if users.is_absolute() else [beside]  # "~" if there is no home


def _is_ours(folder: Path) -> bool:
    """Whether the folder can be written, and belongs to the user: its files become code."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(folder)  # in use
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False


def _delete_unused(base: Path) -> None:
    with suppress(OSError):
        for folder in base.iterdir():
            is_of_a_source = re.fullmatch("[0-9a-f]{24}", folder.name) is not None
            if is_of_a_source and time.time() - folder.stat().st_mtime > _UNUSED:
                shutil.rmtree(folder, ignore_errors=True)
