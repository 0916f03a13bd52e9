"""The page of a demonstration run: one HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import jinja2

from agnn.evaluation import Run, Summary
from agnn.report.numbers import signed, spread
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


def environment() -> jinja2.Environment:
    """The templates of this package; what they print is escaped, and nothing may be missing."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("agnn.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(signed=signed, spread=spread, data_address=_data_address)
    return environment


def _data_address(svg: str) -> str:
    """The image as an address that holds all of it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
