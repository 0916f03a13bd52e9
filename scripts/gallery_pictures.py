"""Draw the pictures of docs/gallery.md again: `python scripts/gallery_pictures.py`.

Each example is run as it is; what carries its last prediction becomes the picture.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from agnn.report import surroundings_of
from agnn.report._neighbourhoods import Panel, neighbourhood_figure
from agnn.report._rendering import figure_style

ROOT = Path(__file__).parents[1]
TITLES = {
    "fraud_rings": "Why account A343 is suspected",
    "page_types": "Why page 17 has its type",
    "karate_club": "On which side is member 8?",
}


def main() -> None:
    """Write one SVG file for each example."""
    for name, title in TITLES.items():
        names = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
        run = names["run"]
        around = surroundings_of(run, run.node(names["suspect"]))
        panel = Panel(around, title, "", "contribution")
        with figure_style():
            figure = neighbourhood_figure([[panel]], run.data.class_names)
            path = ROOT / "docs" / "pictures" / f"gallery-{name}.svg"
            figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
