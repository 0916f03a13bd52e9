"""The top of the page: what was reproduced, every published figure counted once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, get_args

from agnn.experiments import REPRODUCED, KindOfCell, Verdict, count_figures
from agnn.report._comparisons import verdict_list
from agnn.report._judgements import CLAIM_RULE, claim_summary, nested_fate, relation_summary
from agnn.report._text import NOTHING, listed, markdown_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agnn.experiments import (
        ComparedCell,
        Counts,
        JudgedPanel,
        PublishedFigure,
        Result,
    )

_COMPARED: Final = tuple(
    verdict for verdict in get_args(Verdict) if verdict not in ("not in the paper", "missing")
)
# The cells that no model was trained for, or not for a figure of the paper, and why they are apart.
_APART: Final[Mapping[KindOfCell, str]] = {
    "data": "cells are facts of the data, which nothing is trained for",
    "presets": "cells are hyper-parameters: presets that were copied from the paper, not measured",
    "copies": "cells show the same runs again in a later table",
    "others": "cells have figures of other papers, about methods of their own",
}


def scoreboard_markdown(
    results: Sequence[Result], judged: Mapping[str, Sequence[JudgedPanel]]
) -> str:
    """Return the summary of a page; `judged` are the panels of figures by experiment."""
    comparisons = [each.comparison for each in results if each.comparison is not None]
    counts = count_figures(comparisons)
    lines = ["## Scoreboard", ""]
    if counts.headline:
        lines += [_headline(counts.headline), ""]
    if counts.figures:
        lines += [*_figure_lines(counts), ""]
    apart = [
        f"- {len(counts.cells[kind])} {why}: {verdict_list(counts.cells[kind])}."
        for kind, why in _APART.items()
        if counts.cells[kind]
    ]
    if apart:
        lines += ["Compared as well, and counted apart:", "", *apart, ""]
    lines += _claim_section(results, judged)
    headings = [each.experiment.heading for each in results]
    lines += ["Contents:", "", *(f"- [{each}](#{anchor(each)})" for each in headings)]
    return "\n".join(lines) + "\n"


def _headline(figures: Sequence[PublishedFigure]) -> str:
    cells = [each.as_published.cell for each in figures]
    methods = dict.fromkeys(each.as_published.row.title for each in reversed(figures))
    count = Counter(cell.verdict for cell in cells)
    return (
        f"**{listed(list(methods))} on fixed splits: {_reproduced_count(cells)} of {len(cells)} "
        f"figures are reproduced**, {count['within 2 se']} within two standard errors and "
        f"{count['within tolerance']} by the tolerance alone."
    )


def _figure_lines(counts: Counts) -> list[str]:
    """Return the table of published figures, one line per table of the paper, and its reading."""
    header = ["", "figures", *_COMPARED, "reproduced", "by the nearest variant"]
    tables = dict.fromkeys(figure.table.heading for figure in counts.figures)
    lines = [
        "Every figure of the paper that models were trained for, once, with its settings as "
        "published:",
        "",
        markdown_line(header),
        markdown_line(["---"] * len(header)),
    ]
    for heading in tables:
        own = [figure for figure in counts.figures if figure.table.heading == heading]
        lines.append(_count_line(f"[{heading}](#{anchor(heading)})", own))
    if len(tables) > 1:
        lines.append(_count_line("**all**", counts.figures))
    nearest = [figure for figure in counts.figures if figure.nearest != figure.as_published]
    cells = counts.cells["trained"]
    return [
        *lines,
        "",
        f"{len(nearest)} figures have a variant that comes nearer to them than the published "
        f"settings: settings tuned on validation nodes, more splits, or splits of another kind. "
        f"The last column takes the nearest one. That is a choice made by looking at the published "
        f"figure, so it is an upper limit. With every variant as a cell of its own, "
        f"{_reproduced_count(cells)} of {len(cells)} trained cells are reproduced "
        f"({verdict_list(cells)}). Rows that are nearer than the published ones are marked below.",
    ]


def _count_line(title: str, figures: Sequence[PublishedFigure]) -> str:
    cells = [each.as_published.cell for each in figures]
    count = Counter(cell.verdict for cell in cells)
    return markdown_line(
        [
            title,
            str(len(cells)),
            *(str(count[verdict] or NOTHING) for verdict in _COMPARED),
            str(_reproduced_count(cells)),
            str(_reproduced_count([each.nearest.cell for each in figures])),
        ]
    )


def _claim_section(
    results: Sequence[Result], judged: Mapping[str, Sequence[JudgedPanel]]
) -> list[str]:
    lines, fates = list[str](), list[str]()
    for each in results:
        place = each.experiment.place or each.experiment.title
        link = f"([{place}](#{anchor(each.experiment.heading)}))"
        for claim in each.comparison.claims if each.comparison is not None else ():
            assert each.comparison is not None  # noqa: S101 (as in the line above)
            lines.append(f"- {claim_summary(claim)} {link}")
            if fate := nested_fate(claim, each.comparison):
                fates += [f"**{claim.claim.text}?** {fate}", ""]
        lines += [
            f"- {relation_summary(panel)} {link}" for panel in judged.get(each.experiment.name, ())
        ]
    if not lines:
        return []
    return ["## The paper's claims", "", CLAIM_RULE, "", *lines, "", *fates]


def _reproduced_count(cells: Iterable[ComparedCell]) -> int:
    return sum(cell.verdict in REPRODUCED for cell in cells)


def anchor(heading: str) -> str:
    """Return the name that Markdown gives a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
