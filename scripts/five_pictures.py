"""Draw the pictures of docs/five_pictures.md again: `python scripts/five_pictures.py`.

Ten replicas of AGNN on Cora's fixed split, and one paper seen through every lens. The live one is
made when the site is built.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import agnn
from agnn.report import surroundings_of
from agnn.report._charts import reliability_diagram
from agnn.report._neighbourhoods import Panel, neighbourhood_figure
from agnn.report._rendering import figure_style

PAPER = "1131150"
FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def main() -> None:
    """Write five SVG files and print what the page says in words."""
    cora = agnn.load_dataset("cora")
    run = agnn.evaluate("agnn", cora, split="fixed", replicas=10)
    node = run.node(PAPER)
    found, around = agnn.explain(run, node), surroundings_of(run, node)
    training = np.isin(around.nodes, run.split.train)
    hidden = replace(around, labels=np.where(training, around.labels, -1))
    titles = {
        "1-labels": (hidden, "What is known", "attention"),
        "2-attention": (around, "Where the model looks", "attention"),
        "3-contributions": (around, "What the prediction is made of", "contribution"),
        "4-removals": (around, "What would change it", "removal"),
    }
    FOLDER.mkdir(exist_ok=True)
    with figure_style():
        figures = {
            name: neighbourhood_figure([[Panel(shown, title, "", lens)]], cora.class_names)
            for name, (shown, title, lens) in titles.items()
        }
        figures["5-confidence"] = reliability_diagram(run.calibration)
        for name, figure in figures.items():
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    print(found.in_words())
    print(run.accuracy.mean, run.accuracy.standard_error, run.calibration)


if __name__ == "__main__":
    main()
