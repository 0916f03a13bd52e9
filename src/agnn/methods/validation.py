"""Right answers on validation nodes, by which candidates are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.errors import InputError


def validation_accuracies(
    scores: Tensor, data: NodeData, splits: Sequence[Split], purpose: str
) -> list[float]:
    """The share of right answers of scores [R, n, c] among each replica's validation nodes; [R].

    `purpose` ends the error for a split that has none: "to tune on".
    """
    answers = scores.argmax(-1).cpu().numpy()
    shares = []
    for answer, split in zip(answers, splits, strict=True):
        require_validation(split, purpose)
        shares.append(float(np.mean(answer[split.validation] == data.labels[split.validation])))
    return shares


def require_validation(split: Split, purpose: str) -> None:
    """Raise unless `split` has validation nodes."""
    if not split.validation.size:
        raise InputError(f"the split '{split.name}' has no validation nodes {purpose}.")
