"""Options of trainings that are divided among processes, or continued later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from agnn.cli._console import screen
from agnn.cli._data import flag_of
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.distributed import Axis, Division
    from agnn.methods import Method
    from agnn.training import Checkpoints

Every = Annotated[
    str | None,
    typer.Option(
        help="Time between checkpoints, such as 30s or 5m. They are in OUT.checkpoint until the "
        "training is done.",
        show_default="5m for trainings of over ten minutes",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the training of OUT.checkpoint.")]
RankCount = Annotated[
    int | None,
    typer.Option(
        help="Processes to divide the training among. torchrun starts them on several machines.",
        show_default="this one alone",
    ),
]
Divide = Annotated[
    str | None,
    typer.Option(
        help="What the ranks divide: rows of the graph, or replicas.",
        show_default="replicas, if there are as many as ranks",
    ),
]
Wire = Annotated[
    str, typer.Option(help="Type of states on their way between ranks: float32 or bfloat16.")
]


def division_of(
    ranks: int | None, divide: str | None, wire: str, replicas: int, parts: str | None = None
) -> Division | None:
    """How the training is divided; None where it is not. `parts` is a folder of parts."""
    if parts is not None:
        from agnn.distributed import Division

        found = division_of(ranks, divide or ("rows" if ranks else None), wire, replicas)
        return replace(found or Division(1), parts=parts)
    started = os.environ.get("TORCHELASTIC_RUN_ID") is not None
    if ranks is None and not started:
        if divide is not None or wire != "float32":
            raise InputError("--divide and --wire are for trainings with --ranks or torchrun.")
        return None
    from agnn.distributed import WIRES, Division

    if divide not in (None, "rows", "replicas"):
        raise InputError(f"--divide takes rows or replicas; got '{divide}'.")
    if wire not in WIRES:
        raise InputError(f"--wire takes {' or '.join(WIRES)}; got '{wire}'.")
    if started:
        if divide == "replicas" or ranks is not None:
            raise InputError("torchrun divides the rows; leave --ranks and --divide out.")
        return Division(int(os.environ["WORLD_SIZE"]), "rows", wire, is_joined=True)
    count = ranks or 0
    axis = divide or ("replicas" if replicas >= count > 0 else "rows")
    return Division(count, cast("Axis", axis), wire)


def check_division(
    parts: str | None, tables: Mapping[str, Any], *, is_searched: bool, is_auto: bool
) -> None:
    """Raise for options that a folder of parts, or processes of torchrun, cannot follow.

    `tables` are the values of options for tables and graph files.
    """
    given = [flag_of(field) for field, value in tables.items() if value is not None]
    if parts is not None and given:
        raise InputError(
            f"{given[0]} is for tables and graph files; '{parts}' is a folder of parts, which "
            f"`agnn partition` made with such options."
        )
    is_divided = parts is not None or "TORCHELASTIC_RUN_ID" in os.environ
    for option in ["--search"] * is_searched + ["--method auto"] * is_auto:
        if is_divided:
            raise InputError(
                f"{option} trains many models, each on a whole graph; for a folder of parts or "
                f"under torchrun, name the method and its settings."
            )


def divisible(method: Method, division: Division | None) -> Method:
    """The default method for a division: by rows without consistency, which reads all nodes."""
    if division is None or division.axis != "rows" or method.name != "agnn_plus":
        return method
    return method.with_fields(strength=0.0)


def is_first_rank() -> bool:
    """Whether this process reports and writes: the only one, or rank 0 of those of torchrun."""
    return "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK") == "0"


def with_rank(message: str, error: Any) -> str | None:
    """An error's line with the rank of torchrun's processes; None where another one has the cause.

    When a rank dies, all others lose it; one of them says so.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return message
    if type(error).__name__ == "LostRankError":  # by name: its package loads torch
        return message if error.is_reporter else None
    return f"rank {os.environ.get('RANK')}: {message}"


def tell_warning(message: str) -> None:
    """Print a warning as one line; also in the processes of --ranks, which find it by name."""
    screen(is_error=True).print(f"warning: {message}", soft_wrap=True, markup=False)


def checkpoints_of(
    method: Method,
    out: Path | None,
    every: str | None,
    division: Division | None,
    *,
    is_resumed: bool,
) -> Checkpoints | None:
    """The checkpoints of a training, beside the folder of its result."""
    from agnn.runs import seconds_of
    from agnn.training import Checkpoints

    if out is None or not method.has_checkpoints:
        for option in ["--checkpoint"] * (every is not None) + ["--resume"] * is_resumed:
            if out is None:
                raise InputError(f"{option} needs --out: checkpoints are kept beside that folder.")
            raise InputError(f"{option} is for methods that train a network, not {method.name}.")
        return None
    seconds = None if every is None else seconds_of(every, "--checkpoint")
    file = out.absolute().with_name(f"{out.name}.checkpoint")
    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        is_resumed = file.exists()  # torchrun starts the same command again after a failure
    found = Checkpoints(file, seconds, resume=is_resumed)
    found.on_warning = tell_warning
    if is_first_rank() and (division is None or division.axis == "rows"):
        found.check()
    return found
