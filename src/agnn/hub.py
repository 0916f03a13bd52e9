"""Sharing runs: push a run folder to a Hugging Face repository, and pull one from there.

A run folder already follows the conventions of Hugging Face: a model card with metadata
(`README.md`), `config.json` and `model.safetensors`. In place of a repository both functions take
a local folder, written as a path (`./shared/cora`):

>>> import tempfile
>>> import agnn
>>> from agnn.hub import pull, push
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("gcn", cora, replicas=2, changes={"epochs": 3})
>>> with tempfile.TemporaryDirectory() as folder:
...     run.save(f"{folder}/run")
...     pushed = push(f"{folder}/run", f"{folder}/shared/gcn-cora")
...     again = pull(f"{folder}/shared/gcn-cora", f"{folder}/copy")
>>> again.accuracy == run.accuracy
True

The token is that of `huggingface_hub` (`hf auth login` or the variable HF_TOKEN); it is never an
argument, and is left out of every message.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Final

from agnn.errors import AgnnError, InputError, UnavailableError, import_extra
from agnn.files import check_new_folder, read_json, writing_folder
from agnn.runs import Run, load_run, run_files

_CONFIG: Final = "config.json"
_PACKAGE: Final = ("huggingface_hub", "runs are pushed and pulled with it", "agnn[hub]")


def push(folder: Path | str, repository: str, *, public: bool = False) -> str:
    """Upload a run folder and return the address of the repository.

    Only the files of the run are uploaded. They hold the graph that it was trained on unless that
    comes with the package. A repository that does not exist is made, private unless `public`.
    """
    files = run_files(folder)
    parts = read_json(Path(folder) / _CONFIG).get("parts")
    if parts is not None:
        raise InputError(
            f"'{folder}' does not hold its graph, which is in the folder of parts '{parts}'; "
            f"nobody could load what is pushed. Copy both folders instead."
        )
    if _is_path(repository):
        if Path(repository).exists():
            raise InputError(f"'{repository}' exists already; push to a new folder.")
        check_new_folder(repository)
        with writing_folder(repository) as draft:
            for name in files:
                shutil.copyfile(Path(folder) / name, draft / name)
        return str(repository)
    hub = import_extra(*_PACKAGE)
    _check_name(repository)
    try:
        api = hub.HfApi()
        address = api.create_repo(repository, private=not public, exist_ok=True)
        api.upload_folder(
            repo_id=repository,
            folder_path=str(folder),
            allow_patterns=files,
            commit_message="A run of agnn",
        )
    except Exception as error:
        raise _failure(hub, error, f"'{folder}' was not pushed to '{repository}'") from error
    return str(address)


def pull(repository: str, folder: Path | str, *, revision: str | None = None) -> Run:
    """Download a run into a new folder and load it; a damaged or foreign one is refused.

    The folder is written completely or not at all.
    """
    check_new_folder(folder)
    with writing_folder(folder) as draft:
        if _is_path(repository):
            for name in run_files(repository):
                shutil.copyfile(Path(repository) / name, draft / name)
        else:
            _download(repository, draft, revision)
        load_run(draft)
    return load_run(folder)


def _download(repository: str, draft: Path, revision: str | None) -> None:
    hub = import_extra(*_PACKAGE)
    _check_name(repository)
    try:
        # Its configuration names the files of the run; others are not downloaded.
        hub.hf_hub_download(repository, _CONFIG, revision=revision, local_dir=draft)
        names = [name for name in run_files(draft, is_checked=False) if name != _CONFIG]
        for name in names:
            hub.hf_hub_download(repository, name, revision=revision, local_dir=draft)
    except AgnnError:
        raise
    except Exception as error:
        raise _failure(hub, error, f"'{repository}' was not pulled") from error
    shutil.rmtree(draft / ".cache", ignore_errors=True)  # where the hub keeps its book


def _is_path(repository: str) -> bool:
    """Return whether a name is that of a folder: it starts like a path."""
    return str(repository).startswith((".", "~", os.sep)) or Path(repository).is_absolute()


def _check_name(repository: str) -> None:
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise InputError(
            f"a repository is written OWNER/NAME, a local folder as a path (./NAME); got "
            f"'{repository}'."
        )


def _failure(hub: Any, error: Exception, attempt: str) -> AgnnError:
    """Return what the hub said in one line, without the token."""
    reason = " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
    token = hub.get_token()
    if token:
        reason = reason.replace(token, "***")
    return UnavailableError(f"{attempt}: {reason}.")
