"""State the defaults of new hyper-parameters in results/, so that its runs are found again.

    python scripts/restate_results.py

For a hyper-parameter whose default is what was done before it existed. Figures stay as they are;
specifications and their hashes change. A hyper-parameter that was removed is an error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from agnn.methods import get_method  # noqa: E402
from agnn.studies import Store  # noqa: E402 from this checkout
from agnn.studies._works import RunSpec  # noqa: E402


def complete_method(values: dict[str, Any]) -> dict[str, Any]:
    """Return a method as a specification has it, with every hyper-parameter."""
    if "tuned" in values:
        return {**values, "tuned": complete_method(values["tuned"])}
    settings = {key: value for key, value in values.items() if key != "name"}
    method = get_method(values["name"]).from_settings(settings)
    return {"name": values["name"], **method.settings}


def restate(folder: Path) -> None:
    """Rewrite the lines of a folder of exported runs."""
    for file in sorted(folder.glob("*.jsonl")):
        lines = []
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            method = complete_method(row["specification"]["method"])
            spec = RunSpec.from_values(row["specification"] | {"method": method})
            lines.append(json.dumps(row | {"spec": spec.hash, "specification": spec.values}))
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # Lines are ordered by their hashes.
    store = Store.in_memory()
    store.import_rows(folder)
    store.export_rows(folder)


if __name__ == "__main__":
    restate(ROOT / "results")
