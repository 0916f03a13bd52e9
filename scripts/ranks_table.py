"""Write the table of the methods that train on ranks into docs/ranks.md.

    python scripts/ranks_table.py

It follows from the links of every method: `check_divisible` asks them.
"""

from __future__ import annotations

import re
from pathlib import Path

from agnn.distributed._rows import check_divisible
from agnn.errors import InputError
from agnn.methods import NetworkMethod, get_method, method_names

PAGE = Path(__file__).parents[1] / "docs" / "ranks.md"
HEADER = "| method | rows of a graph in memory | a folder of parts |\n|---|---|---|\n"


def ranks_table() -> str:
    """Return the table as Markdown, and a line on the other networks."""
    rows = []
    refused = []
    for name in method_names():
        method = get_method(name)()
        if not isinstance(method, NetworkMethod):
            continue
        note = ""
        reason = refusal(method)
        if reason and method.reduction:
            method = method.simplified
            reason = refusal(method)
            note = f" with `--set {method.settings_text(method.reduction)}`"
        if reason:
            link = re.search(r"its link (\w+)", reason)
            cause = f"link {link[1]}" if link else "its objective or its batches"
            refused.append(f"`{name}` ({cause})")
        else:
            parts = refusal(method, is_in_parts=True)
            cause = re.search(r": (its features are .*?) before", parts)
            rows.append(
                f"| `{name}`{note} | yes | {f'refused: {cause[1]}' if cause else 'yes'} |\n"
            )
    return f"{HEADER}{''.join(rows)}\nRefused: {', '.join(refused)}.\n"


def refusal(method: NetworkMethod, *, is_in_parts: bool = False) -> str:
    """Return why a method is refused; nothing where it is not."""
    try:
        check_divisible(method, is_in_parts=is_in_parts)
    except InputError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(HEADER)
    after = rest[rest.index("\n\n", rest.index("Refused: ")) :].lstrip("\n")
    PAGE.write_text(f"{before}{ranks_table()}\n{after}", encoding="utf-8")
