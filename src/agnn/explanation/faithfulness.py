"""Whether attention tells what an answer rests on: edges are taken away and the answer watched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation.contributions import contributions
from agnn.explanation.edge_flow import edge_flow
from agnn.explanation.explained_node import combinations, linear_form
from agnn.explanation.removed_edges import Removal
from agnn.metrics import Summary, ensemble_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation.opened_run import OpenedRun

COUNTS: Final = (1, 2, 3, 5)
_DRAWS: Final = 5  # random sets of edges, whose mean stands for chance


@dataclass(frozen=True, eq=False)
class Falls:
    """What happens to one node's answer when k edges go, for some k.

    A fall is the probability of the answer before, less that of the same class after; an entry
    of -0.1 says that the answer became more probable. NaN where there are not more than k edges.
    """

    fall: NDArray[np.float64]  # [k]
    is_changed: NDArray[np.float64]  # [k] 1 where another class is the answer then; else 0


def falls(
    removal: Removal, order: Sequence[tuple[int, int]], counts: Iterable[int] = COUNTS
) -> Falls:
    """The falls without the first k edges of an order, for each k of `counts`."""
    before = removal.probabilities(())
    answer = int(before.argmax())
    fall, is_changed = [], []
    for k in counts:
        if len(order) <= k:
            fall.append(np.nan)
            is_changed.append(np.nan)
            continue
        after = removal.probabilities(order[:k])
        fall.append(float(before[answer] - after[answer]))
        is_changed.append(float(after.argmax() != answer))
    return Falls(np.array(fall), np.array(is_changed))


def chance_falls(
    removal: Removal,
    pool: Sequence[tuple[int, int]],
    source: np.random.Generator,
    counts: Iterable[int] = COUNTS,
) -> Falls:
    """The mean falls without k edges drawn from the pool, over a few draws."""
    drawn = []
    for _ in range(_DRAWS):
        order = [pool[k] for k in source.permutation(len(pool))]
        drawn.append(falls(removal, order, counts))
    return Falls(
        np.mean([each.fall for each in drawn], axis=0),
        np.mean([each.is_changed for each in drawn], axis=0),
    )


def order_by_trial(removal: Removal, pool: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges by how far the answer falls without each of them alone, the farthest first."""
    before = removal.probabilities(())
    answer = int(before.argmax())
    left = [float(removal.probabilities([pair])[answer]) for pair in pool]
    return [pool[k] for k in np.argsort(left, kind="stable")]


def sampled_test_nodes(opened: OpenedRun, count: int, seed: int = 0) -> list[int]:
    """Up to `count` test nodes of the first split that have two neighbours or more, drawn."""
    test = np.asarray(opened.split.test)
    degrees = opened.trained.graph.degrees.numpy()[test]
    able = test[degrees >= 2]
    if not able.size:
        raise InputError("no test node has two neighbours or more: there is nothing to remove.")
    drawn: list[int] = np.random.default_rng(seed).permutation(able)[:count].tolist()
    return drawn


def attended_edges(opened: OpenedRun, node: int, *, is_own: bool) -> list[tuple[int, int]]:
    """The edges around a node, or its own alone, the most attended first."""
    found = edge_flow(opened.trained, node)
    pairs = (found.at(node) if is_own else found).pairs.tolist()
    return [(i, j) for i, j in pairs]


def contributing_edges(opened: OpenedRun, node: int) -> list[tuple[int, int]]:
    """A node's own edges, those first whose other end adds most to its answer's logit.

    "Adds" as in an explanation's `toward_answer`.
    """
    view, classes = opened.trained.view_of(node), opened.data.classes
    form = linear_form(opened, view)
    with torch.no_grad():
        answer = int(ensemble_of(opened.trained.model(view).softmax(-1)).answers[0])
    added = contributions(form, view, combinations(answer, answer, classes)).nodes[0]
    beside = view.field.graph.senders[: int(view.field.graph.offsets[1])].cpu().numpy()
    order = beside[np.argsort(-added[beside], kind="stable")]
    return [(node, int(j)) for j in view.field.nodes.cpu().numpy()[order]]


def summaries(values: Sequence[NDArray[np.float64]]) -> list[Summary | None]:
    """Each k's values over the nodes that have enough edges; None where no node has."""
    table = np.stack(values)
    columns = [column[~np.isnan(column)].tolist() for column in table.T]
    return [Summary(column) if column else None for column in columns]
