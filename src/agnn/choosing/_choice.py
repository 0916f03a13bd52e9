"""What an automatic choice has tried, what won, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agnn.methods import Method
from agnn.metrics import MEASURES, Summary


@dataclass
class Tried:
    """A candidate: a method with settings, and how it did on the inner splits."""

    method: Method
    changes: Mapping[str, Any]  # what differs from the method's defaults
    metric: str  # of the scores
    scores: list[float] = field(default_factory=list)  # one per inner split, higher is better
    seconds: float = 0.0
    remark: str = ""  # why it was not tried further
    is_beaten: bool = False  # in a round that it took part in
    all_epochs: int = 0  # of the method, where it was tried with fewer; otherwise 0

    @property
    def mean(self) -> float:
        """The mean score; minus infinity before there is one."""
        return Summary(self.scores).mean if self.scores else -math.inf

    @property
    def result(self) -> str:
        """The mean of the metric with its name and unit."""
        measure = MEASURES[self.metric]
        return f"{measure.title} {measure.shown(measure.as_score(self.mean))}{measure.unit}"

    @property
    def words(self) -> str:
        """The method and its changes."""
        changes = ", ".join(f"{name} {_short(value)}" for name, value in self.changes.items())
        return f"{self.method.title} ({changes})" if changes else self.method.title

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON values."""
        return {
            "method": self.method.name,
            "changes": dict(self.changes),
            "score": Summary(self.scores).to_dict() if self.scores else None,
            "seconds": self.seconds,
            "remark": self.remark,
        }


@dataclass(frozen=True, eq=False)
class Choice:
    """What was tried, what won, and by how much."""

    metric: str
    tried: tuple[Tried, ...]  # best first
    seconds: float
    nodes: int  # labelled nodes that were used: those for training and validation
    scoring: int  # of these, the nodes that score in an inner split
    method: Method  # the winner's, with as many epochs as there is time for
    wanted: int = 1  # replicas that were asked for
    replicas: int = 1  # those that there is time for
    # measures over several splits on each of which the whole choice was repeated, as JSON values
    nested: Mapping[str, Any] | None = None
    # the title of the method that stays unless another is clearly better; None: the best one wins
    default: str | None = None

    @property
    def winner(self) -> Tried:
        """The best candidate, on the inner splits that it has in common with the others."""
        return self.tried[0]

    @property
    def lead(self) -> Summary | None:
        """How far the winner is ahead of the second, inner split by inner split."""
        if len(self.tried) < 2 or self.tried[1].remark:
            return None
        return Summary(leads(self.winner, self.tried[1]))

    @property
    def lead_error(self) -> float | None:
        """The standard error of the lead; None for a single inner split.

        Inner splits share their nodes, so their scores vary together and more of them do not make
        the lead ever surer: the corrected resampled variance of Nadeau and Bengio 2003.
        """
        lead = self.lead
        if lead is None or lead.deviation is None:
            return None
        shared = self.scoring / (self.nodes - self.scoring)
        return lead.deviation * math.sqrt(1.0 / lead.n + shared)

    @property
    def words(self) -> str:
        """The choice in two or three sentences."""
        if self.default is not None:
            return self._default_words
        measure = MEASURES[self.metric]
        methods = len({candidate.method.name for candidate in self.tried})
        text = (
            f"{self.winner.words} was chosen from {len(self.tried)} settings of {methods} methods "
            f"in {self.seconds:.0f} s: {self.winner.result} on validation nodes "
            f"of {len(self.winner.scores)} inner splits."
        )
        if self.lead is not None:
            error = self.lead_error
            spread = "" if error is None else f" ± {measure.shown(error)}"
            gap = f"{measure.shown(self.lead.mean)}{spread}"
            text += f" The second, {self.tried[1].words}, is {gap} behind."
        limits = []
        if self.replicas < self.wanted:
            limits.append(f"to train {self.replicas} of {self.wanted} replicas")
        if self.epochs is not None and self.epochs < self.winner.all_epochs:
            limits.append(f"for {self.epochs} of {self.winner.all_epochs} epochs")
        return text + (f" There was time {', '.join(limits)}." if limits else "")

    @property
    def _default_words(self) -> str:
        """Which method was trained in place of the default, or why none was."""
        measure = MEASURES[self.metric]
        rival = self.tried[1]
        lead = self.lead
        if lead is None:
            return f"{self.winner.words}: no other method could be tried ({rival.remark})."
        ours, theirs = (measure.shown(measure.as_score(c.mean)) for c in (self.winner, rival))
        on = (
            f"{measure.title} (lower is better) on labels held out in {len(self.winner.scores)} "
            f"folds"
        )
        error = "" if self.lead_error is None else f" ± {measure.shown(self.lead_error)}"
        if self.winner.method.title != self.default:
            return (
                f"{self.winner.method.title} in place of the default, {self.default}: {ours} "
                f"against {theirs} {on} (a lead of {measure.shown(lead.mean)}{error}). "
                f"`--method agnn_plus` trains the default."
            )
        return (
            f"{self.default}, the default, was kept: it has {ours} {on}, and {rival.words}, the "
            f"best of {len(self.tried) - 1} others, {theirs}. Another method must be ahead by "
            f"half a standard error of its lead."
        )

    @property
    def epochs(self) -> int | None:
        """The most epochs of the training; None for a method without any."""
        return getattr(self.method, "epochs", None)

    def to_dict(self) -> dict[str, Any]:
        """The choice as JSON values; scores are such that higher is better."""
        lead = self.lead
        return {
            "metric": self.metric,
            "default": self.default,
            "winner": self.winner.to_dict(),
            "lead_over_second": lead and {**lead.to_dict(), "standard_error": self.lead_error},
            "tried": [candidate.to_dict() for candidate in self.tried],
            "seconds": self.seconds,
            "labelled_nodes_used": self.nodes,
            "replicas_wanted": self.wanted,
            "replicas": self.replicas,
            "epochs": self.epochs,
            "words": self.words,
            **({} if self.nested is None else {"nested": dict(self.nested)}),
        }


def leads(winner: Tried, other: Tried) -> list[float]:
    """How far the winner is ahead on each inner split that both have been tried on."""
    return [ours - theirs for ours, theirs in zip(winner.scores, other.scores, strict=False)]


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
