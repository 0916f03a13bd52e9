"""Random changes to bytes and to JSON values, all from one seeded source."""

from __future__ import annotations

import copy
import random
from typing import Any

# What people and programs write into cells and settings by mistake or on purpose.
HOSTILE_CELLS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e400", "-1", "0", "1e308", "-1e-320", "9" * 400, "null",
    "None", "true", "=SUM(1)", "@SUM(1)", "+1", "<script>alert(1)</script>", "../../etc/passwd",
    "\x00", "\ufeff", "é\u0301", "\U0001f600", "\u202e", "a" * 100_000, "p1", "1;2", "1,5", '"',
    "'", "\\", "%s%n", "2026-01-01", "0x10", "1_000", "١٢",
)  # fmt: skip
HOSTILE_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 1e308, -1e308, 5e-324, float("nan"),
    float("inf"), "", "x", "gcn", "é", "a" * 100_000, [], {}, [None], [[]], {"a": 1}, [0] * 1000,
    10**7, 0.5, "1",
)  # fmt: skip


def changed_bytes(source: random.Random, data: bytes) -> bytes:
    """The bytes after one to three random changes."""
    found = bytearray(data)
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(found) + 1)
        length = source.choice([1, 1, 2, 8, 64])
        match source.randrange(7):
            case 0 if found:  # flipped bits
                found[place % len(found)] ^= 1 << source.randrange(8)
            case 1:
                del found[place : place + length]
            case 2:
                found[place:place] = source.randbytes(length)
            case 3:
                found[place : place + length] = bytes(length)
            case 4:
                del found[place:]
            case 5:
                found[place:place] = found[place : place + length] * source.choice([1, 50])
            case _:
                end = source.randrange(len(found) + 1)
                found[place : place + length], found[end : end + length] = (
                    found[end : end + length],
                    found[place : place + length],
                )
    return bytes(found)


def changed_json(source: random.Random, document: Any) -> Any:
    """The document with one value somewhere inside replaced, removed, repeated or added."""
    found = copy.deepcopy(document)
    holder: Any = found
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            break
        key = source.choice(keys)
        if isinstance(holder[key], dict | list) and holder[key] and source.random() < 0.7:
            holder = holder[key]
            continue
        match source.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[source.choice(["", "extra", "\x00", "__class__"])] = holder[key]
            case 1:
                holder += [holder[key]] * source.choice([1, 1000])
            case _:
                holder[key] = source.choice(HOSTILE_VALUES)
        break
    return found
