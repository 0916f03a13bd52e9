"""The experiments that come with the package, in the paper's order, and those in files."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from agnn.errors import unknown_name
from agnn.experiments.reading import read_experiment, read_experiment_file
from agnn.experiments.spec import Experiment

NAMES: Final = (
    "table1", "table2", "table3", "table4", "table5", "figure1", "table6", "figure2", "figure3",
    "figure4", "figure5", "figure6", "table7", "table8", "hyperparameters", "embeddings", "beyond",
)  # fmt: skip


@cache
def bundled(name: str) -> Experiment:
    """An experiment that comes with the package."""
    if name not in NAMES:
        raise unknown_name("experiment", name, (*NAMES, "all"))
    file = resources.files("agnn.experiments") / "tables" / f"{name}.toml"
    return read_experiment(name, file.read_text(encoding="utf-8"), f"{name}.toml")


def find_experiments(names: list[str]) -> list[Experiment]:
    """The experiments of these names and files, each once; "all" stands for all of the package."""
    wanted: list[str] = []
    for name in names:
        is_file = name.endswith(".toml")
        wanted += NAMES if name.lower() == "all" else (name if is_file else name.lower(),)
    return [
        read_experiment_file(Path(name)) if name.endswith(".toml") else bundled(name)
        for name in dict.fromkeys(wanted)
    ]
