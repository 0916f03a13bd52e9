"""The page of a demonstration run: one HTML file that needs no other file and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agnn.evaluation import Run, Summary
from agnn.report.page_environment import environment
from agnn.report.relations import relations

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class PageFigure(NamedTuple):
    """A figure on a page."""

    svg: str
    caption: str  # also what a screen reader says


def demo_page(
    run: Run, relevance: NDArray[np.float64], figures: Sequence[PageFigure], command: str
) -> str:
    """The page as HTML: accuracy, betas, `relevance` [c, c] of the last layer, its making."""
    ordered = relations(relevance, run.data.class_names)
    return environment().get_template("demo.html").render(
        run=run,
        betas=[Summary(column) for column in zip(*(run.betas or []), strict=True)],
        relevance=relevance.tolist(),
        strongest=ordered[:3],
        weakest=ordered[:-4:-1],
        figures=figures,
        command=command,
        hyper_parameters=run.method.settings,
    )  # fmt: skip
