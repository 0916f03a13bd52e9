"""Write made-up accounts of a payment service and payments between them, as CSV.

    python scripts/example_accounts.py [FOLDER]

accounts.csv has 600 accounts. Some belong to fraud rings, whose members pay each other and mostly
share a shop; two in three have been checked, and the others have an empty cell under `fraud`.
payments.csv says who paid whom. Ten accounts of the next week come with new_accounts.csv and
new_payments.csv. The same files come out every time: the random numbers have a seed.
"""

from __future__ import annotations

import csv
import datetime
import json
import random
import sys
from pathlib import Path

ACCOUNTS, NEW, RINGS, PAYMENTS = 600, 10, 12, 1500
COUNTRIES = ("AT", "BR", "DE", "IN", "KE", "US")
SHOPS = 90
HEADER = ("account", "country", "opened", "shop", "spend", "details", "fraud")


def write_tables(folder: Path, seed: int = 0) -> list[Path]:
    """Write the four files into a folder, which is created where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    source = random.Random(seed)  # noqa: S311 (no secret)
    total = ACCOUNTS + NEW
    rings = [source.randrange(RINGS) if source.random() < 0.12 else None for _ in range(total)]
    rows = [_account(number, ring, source) for number, ring in enumerate(rings)]
    payments: set[tuple[int, int]] = set()
    for payer, ring in enumerate(rings):
        others = [other for other in range(total) if rings[other] == ring and other != payer]
        count = 1 if ring is None else min(2, len(others))
        payments |= {(payer, payee) for payee in source.sample(others, count)}
    while len(payments) < PAYMENTS:
        payer, payee = source.sample(range(total), 2)
        is_mixed = (rings[payer] is None) != (rings[payee] is None)
        if not is_mixed or source.random() < 0.8:
            payments.add((payer, payee))
    names = [row[0] for row in rows]
    old = sorted(pair for pair in payments if max(pair) < ACCOUNTS)
    late = sorted(pair for pair in payments if max(pair) >= ACCOUNTS)
    tables: dict[str, list[list[object]]] = {
        "accounts.csv": [list(HEADER), *rows[:ACCOUNTS]],
        "payments.csv": [["payer", "payee"], *([names[i], names[j]] for i, j in old)],
        "new_accounts.csv": [list(HEADER[:-1]), *(row[:-1] for row in rows[ACCOUNTS:])],
        "new_payments.csv": [["payer", "payee"], *([names[i], names[j]] for i, j in late)],
    }
    return [_write(folder / name, table) for name, table in tables.items()]


def _account(number: int, ring: int | None, source: random.Random) -> list[object]:
    is_fraud = ring is not None
    opened = datetime.date(2026, 1, 1) - datetime.timedelta(
        days=source.randrange(90 if is_fraud and source.random() < 0.5 else 1500)
    )
    shop = ring if ring is not None and source.random() < 0.5 else source.randrange(SHOPS)
    details = {
        "logins": source.randrange(1, 4000),
        "device": source.choice(("phone", "phone", "laptop")),
        "verified": source.random() < (0.4 if is_fraud else 0.8),
    }
    return [
        f"A{number:03}",
        source.choice(COUNTRIES),
        opened.isoformat(),
        f"shop-{shop}",
        round(source.lognormvariate(5.0 if is_fraud else 4.0, 0.6), 2),
        json.dumps(details),
        ("yes" if is_fraud else "no") if source.random() < 0.65 else "",
    ]


def _write(path: Path, rows: list[list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return path


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit("usage: python scripts/example_accounts.py [FOLDER]")
    for path in write_tables(Path(sys.argv[1] if sys.argv[1:] else ".")):
        sys.stdout.write(f"{path}\n")
