"""The data that a user names: a dataset of the package, or a folder of raw files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from agnn.data import NodeData


def find_data(dataset: str, name: str | None) -> NodeData:
    """The data under a bundled name, or in a folder of files ind.NAME.*; bundled names win."""
    from agnn.data import dataset_names, load_dataset, load_planetoid

    folder = Path(dataset)
    is_bundled = dataset.lower() in dataset_names()
    if not is_bundled and folder.is_dir():
        return load_planetoid(folder, name or _only_name(folder))
    if not is_bundled and (folder.exists() or os.sep in dataset):
        raise InputError(
            f"'{dataset}' is not a folder; give a folder of files ind.NAME.* or one of "
            f"{', '.join(dataset_names())}."
        )
    if name is not None:
        raise InputError(f"--name goes with a folder of raw files; '{dataset}' is not one.")
    return load_dataset(dataset)


def _only_name(folder: Path) -> str:
    matches = (re.fullmatch(r"ind\.(.+)\.graph", path.name) for path in folder.iterdir())
    names = sorted(match[1] for match in matches if match)
    if not names:
        raise DataError(
            f"'{folder}' holds no raw Planetoid files: ind.NAME.graph and its seven siblings are "
            f"expected."
        )
    if len(names) > 1:
        raise InputError(f"'{folder}' holds {', '.join(names)}; choose one with --name.")
    return names[0]
