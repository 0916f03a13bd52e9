"""Cases in, results out: one dictionary a row, as the JSON file holds it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from statistics import median
from typing import Any

import torch

from benchmarks.cases import CEILINGS, DUELS, WORDS, Ceiling, Duel, Goal
from benchmarks.others import QUIET, Others
from benchmarks.timing import compare

Row = dict[str, Any]
Announce = Callable[[str], None]


def run(groups: Collection[str], rounds: int, announce: Announce) -> tuple[list[Row], list[Row]]:
    """The rows of the duels and of the ceilings in `groups`; `announce` hears what comes next."""
    duels, ceilings = [], []
    for duel in DUELS:
        if duel.group in groups:
            announce(duel.id)
            duels.append(duel_row(duel, rounds))
    for ceiling in CEILINGS:
        if ceiling.group in groups:
            announce(ceiling.group)
            ceilings += ceiling_rows(ceiling)
    return duels, ceilings


def duel_row(duel: Duel, rounds: int) -> Row:
    """One comparison, timed; or why the peer could not be run."""
    row: Row = {
        "id": duel.id,
        "group": duel.group,
        "what": WORDS[duel.group],
        "graph": duel.graph,
        "threads": duel.threads,
    }
    before = torch.get_num_threads()
    torch.set_num_threads(duel.threads)  # agnn's kernels follow torch's number
    try:
        pair = duel.pair(duel.graph)
        with Others() as others:
            timing = compare(pair.ours, pair.peer, rounds=rounds, units=pair.units)
    except Exception as error:
        # torch.compile needs a C++ compiler; a case without a goal may be left out.
        if duel.goal is not None:
            raise
        return row | {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    finally:
        torch.set_num_threads(before)
    goal = duel.goal
    return row | {
        "rounds": rounds,
        "ours_ms": 1e3 * median(timing.ours),
        "peer_ms": 1e3 * median(timing.peer),
        "ratio": timing.ratio,
        "ratio_10_90": list(timing.ratio_range),
        "ratio_of_medians": timing.ratio_of_medians,
        "must": None if goal is None else goal.must,
        "aim": None if goal is None else goal.aim,
        "reached": None if goal is None else verdict(duel, goal, timing.ratio, others.cores),
        "others_cores": others.cores,
        "notes": dict(pair.notes),
        "round_ratios": list(timing.round_ratios),
    }


def verdict(duel: Duel, goal: Goal, ratio: float, others_cores: float) -> str:
    """What the ratio reaches; nothing is claimed for threads that had to share their cores."""
    if duel.threads > 1 and others_cores >= QUIET:
        return "disturbed"
    return goal.verdict(ratio)


def ceiling_rows(ceiling: Ceiling) -> list[Row]:
    """One row a figure."""
    return [
        {
            "id": f"{ceiling.group}/{name}",
            "group": ceiling.group,
            "what": ceiling.words[name],
            "value": value,
            "unit": ceiling.unit,
            "below": ceiling.below.get(name),
            "reached": value < ceiling.below[name] if name in ceiling.below else None,
        }
        for name, value in ceiling.figures().items()
    ]
