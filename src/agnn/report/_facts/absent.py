"""What a report cannot show, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Absent:
    """A part that a run does not have."""

    reason: str  # one sentence

    def to_dict(self) -> dict[str, str]:
        """As JSON holds it."""
        return {"absent": self.reason}
