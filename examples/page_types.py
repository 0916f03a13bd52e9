"""Web pages by their words and links: what the words tell, what the links add."""

import runpy
import tempfile
from pathlib import Path

from agnn import evaluate, read_tables

folder = Path(tempfile.mkdtemp())
generator = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "example_pages.py"))
generator["write_tables"](folder)

data = read_tables(
    folder / "pages.csv", folder / "links.csv", label="page_type", text="words", ignore="owner"
)
for method in ("ridge", "label_propagation", "gcn", "agnn"):
    changes = {"epochs": 100} if method in ("gcn", "agnn") else {}
    run = evaluate(method, data, replicas=3, changes=changes)
    low, high = run.interval
    print(f"{method:18} {run.accuracy.mean:.1f} % right ({low:.1f} to {high:.1f})")

suspect = "17"  # the last run is AGNN's
print(run.explain(suspect).in_words())
