"""Draws docs/figures/faithfulness.png from the committed values of `benchmarks.faithfulness`.

python -m benchmarks.faithfulness_figure
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
VALUES = ROOT / "benchmarks" / "results" / "faithfulness.json"
FIGURE = ROOT / "docs" / "figures" / "faithfulness.png"
TITLES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
STYLES = {
    "trial": ("#595959", "o"),
    "contribution": ("#0072b2", "D"),
    "attention": ("#d55e00", "s"),
    "chance": ("#999999", "v"),
}


def main() -> None:
    """Draw the fall of the predicted class's probability without k edges of the node."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    found = json.loads(VALUES.read_text(encoding="utf-8"))
    figure, panels = plt.subplots(1, 3, figsize=(9.0, 3.2), sharey=True, layout="constrained")
    for panel, (name, title) in zip(panels, TITLES.items(), strict=True):
        for order, (colour, mark) in STYLES.items():
            falls = found[name]["own"][order]["fall"]
            counts = [int(k) for k in falls]
            means = [100 * falls[str(k)]["mean"] for k in counts]
            errors = [100 * falls[str(k)]["standard_error"] for k in counts]
            panel.errorbar(counts, means, errors, color=colour, marker=mark, capsize=2, label=order)
        panel.set(title=title, xlabel="edges removed", xticks=[1, 2, 3, 5])
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("fall of the probability, points")
    panels[2].legend(frameon=False)
    figure.savefig(FIGURE, dpi=150)


if __name__ == "__main__":
    main()
