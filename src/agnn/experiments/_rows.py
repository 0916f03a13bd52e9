"""Stored runs as text files that can be committed: one line per cell, the same bytes each time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from agnn.errors import DataError
from agnn.experiments._run_spec import RunSpec
from agnn.experiments._store import Store, StoredRun

_PER_RUN: Final = ("seed", "accuracy", "selected_epochs", "betas", "extra", "seconds")
_SUFFIX: Final = ".jsonl"


def export_rows(store: Store, folder: Path) -> list[Path]:
    """Write the runs to `folder`, one file per kind of split; runs that are there already stay."""
    together = Store.in_memory()
    if folder.is_dir():
        import_rows(together, folder)
    for run in store.runs():
        together.add(store.spec(run.spec), [run])
    lines: dict[str, list[str]] = {}
    for group in _groups(together.runs()):
        file = re.sub(r"[^a-z0-9-]+", "_", group[0].split.lower()) + _SUFFIX
        lines.setdefault(file, []).append(_line(group, together.spec(group[0].spec)))
    folder.mkdir(parents=True, exist_ok=True)
    for file, texts in lines.items():
        (folder / file).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return [folder / file for file in lines]


def import_rows(store: Store, folder: Path) -> int:
    """Add the runs in the files of `folder` to the store; how many were new."""
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files and not folder.is_dir():
        raise DataError(f"'{folder}' is not a folder of exported runs.")
    new = 0
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            try:
                spec, runs = _parsed(line)
            except (ValueError, TypeError, KeyError, DataError) as error:
                raise DataError(
                    f"'{file}', line {number}: not an exported run ({error})."
                ) from error
            new += store.add(spec, runs)
    return new


def _groups(runs: Iterable[StoredRun]) -> list[list[StoredRun]]:
    """Runs that differ in nothing but their seed and what came out, in order."""
    groups: dict[str, list[StoredRun]] = {}
    for run in runs:
        groups.setdefault(json.dumps(_shared(run), sort_keys=True), []).append(run)
    return list(groups.values())


def _shared(run: StoredRun) -> dict[str, Any]:
    shared = {name: value for name, value in asdict(run).items() if name not in _PER_RUN}
    if not run.machine:  # a line from before it was recorded keeps its bytes
        del shared["machine"]
    return shared


def _line(group: list[StoredRun], spec: RunSpec) -> str:
    lists = {name: [getattr(run, name) for run in group] for name in _PER_RUN}
    lists["seconds"] = [round(value, 3) for value in lists["seconds"]]
    return json.dumps({**_shared(group[0]), "specification": spec.values, **lists})


def _parsed(line: str) -> tuple[RunSpec, list[StoredRun]]:
    values = json.loads(line)
    spec = RunSpec.from_values(values.pop("specification"))
    if spec.hash != values["spec"]:
        raise DataError(f"its specification has the hash {spec.hash}, not {values['spec']}")
    lists = [values.pop(name) for name in _PER_RUN]
    runs = [
        StoredRun(**values, **dict(zip(_PER_RUN, each, strict=True)))
        for each in zip(*lists, strict=True)
    ]
    return spec, runs
