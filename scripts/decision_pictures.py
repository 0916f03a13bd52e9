"""Draw the pictures of docs/decisions.md and docs/labels.md: `python scripts/decision_pictures.py`.

The figures are those of the tables in docs/notes/prediction_sets.md and docs/labels.md.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from agnn.report._rendering import figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parents[1] / "docs"
_SET_SIZES = re.compile(r"^\| (0\.\d+) \| lac \|(.+)\|$", re.MULTILINE)
_SUGGESTIONS = re.compile(
    r"^\| (Cora|CiteSeer) \| (\d+) \| \d+ \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) ± ([\d.]+) \|",
    re.MULTILINE,
)
_MARKS = {"Cora": "o", "CiteSeer": "s", "PubMed": "^"}


def draw_set_sizes(axes: Axes, text: str) -> None:
    """Draw the mean size of a set against the coverage asked for, a line per graph."""
    rows = _SET_SIZES.findall(text)
    coverages = [f"{float(coverage):.0%}" for coverage, _ in rows]
    cells = [cells.replace("*", "").split("|") for _, cells in rows]
    for column, (graph, mark) in enumerate(_MARKS.items()):
        sizes = [float(row[column].split(",")[1]) for row in cells]
        axes.plot(coverages, sizes, marker=mark, label=graph)
    axes.set_xlabel("sets that shall hold the true class")
    axes.set_ylabel("classes in a set, mean")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def draw_suggestions(axes: Axes, text: str, graph: str) -> None:
    """Draw the accuracy with suggested and with random labels, with standard errors."""
    rows = [tuple(map(float, row[1:])) for row in _SUGGESTIONS.findall(text) if row[0] == graph]
    labels, random, random_error, suggested, suggested_error = zip(*rows, strict=True)
    axes.errorbar(labels, suggested, suggested_error, marker="o", capsize=3, label="suggested")
    axes.errorbar(
        labels, random, random_error, marker="s", capsize=3, linestyle="--", label="at random"
    )
    axes.set_title(graph)
    axes.set_xlabel("labels")
    axes.set_xticks(labels)
    axes.legend(frameon=False, loc="lower right")


def main() -> None:
    """Write two SVG files."""
    pages = (DOCS / "notes" / "prediction_sets.md", DOCS / "labels.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    with figure_style():
        sets = Figure(figsize=(5.0, 3.2), layout="constrained")
        draw_set_sizes(sets.subplots(), text)
        suggestions = Figure(figsize=(7.0, 3.2), layout="constrained")
        for axes, graph in zip(suggestions.subplots(1, 2), ("Cora", "CiteSeer"), strict=True):
            draw_suggestions(axes, text, graph)
            axes.set_ylabel("accuracy (%)")
        for name, figure in {"sets": sets, "suggestions": suggestions}.items():
            path = DOCS / "pictures" / f"decision-{name}.svg"
            figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
