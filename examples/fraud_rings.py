"""Fraud among accounts that pay each other: a rare class, its threshold, and one suspect."""

import runpy
import tempfile
from pathlib import Path

from agnn import evaluate, read_tables

folder = Path(tempfile.mkdtemp())
generator = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "example_accounts.py"))
generator["write_tables"](folder)

data = read_tables(
    folder / "accounts.csv", folder / "payments.csv", label="fraud", ignore="details"
)
run = evaluate("agnn", data, replicas=3, changes={"epochs": 100})
low, high = run.interval
print(f"{run.accuracy.mean:.1f} % of the accounts right ({low:.1f} to {high:.1f})")
for name, accuracy in run.result.baselines.items():
    print(f"  {name}: {accuracy:.1f} %")

threshold = run.choose_threshold("yes", recall=0.9)
print(f"look at accounts from a probability of {threshold.probability:.2f} on:")
print(f"  that finds {threshold.recall.count} of {threshold.recall.of} frauds")
print(f"  and {threshold.precision.count} of {threshold.precision.of} alarms are right")

suspect = "A343"  # nobody has checked it
print(run.explain(suspect).in_words())
