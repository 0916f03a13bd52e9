"""The experiments that a user names and narrows, and the command that makes one again."""

from __future__ import annotations

import shlex

from agnn.errors import InputError
from agnn.experiments import (
    Choice,
    Experiment,
    Table,
    check_choice,
    find_experiments,
    narrowed,
    narrowed_drawing,
)


def chosen_experiments(names: list[str], choice: Choice) -> list[Experiment]:
    """The experiments of these names with what is chosen of them; those left empty are gone."""
    found = find_experiments(names)
    check_choice(choice, [each for each in found if isinstance(each, Table)])
    kept: list[Experiment] = []
    for each in found:
        if isinstance(each, Table):
            table = narrowed(each, choice)
            kept += [table] if table.rows and table.columns else []
        else:
            drawing = narrowed_drawing(each, choice)
            kept += [drawing] if drawing.panels else []
    if names and not kept:
        raise InputError("nothing is left of what was named after --methods and --datasets.")
    return kept


def command_of(name: str, choice: Choice) -> str:
    """The command that makes an experiment again."""
    words = ["agnn", "reproduce", shlex.quote(name)]
    for option, chosen in (("--methods", choice.methods), ("--datasets", choice.datasets)):
        words += [] if chosen is None else [option, shlex.quote(",".join(sorted(chosen)))]
    words += [] if choice.seeds is None else ["--seeds", str(choice.seeds)]
    return " ".join(words)
