"""The cases: what is compared, on which graph, with how many threads, and what is to be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks import families, pairs, processes, serving
from benchmarks.graphs import RANDOM


@dataclass(frozen=True)
class Goal:
    """How many times faster than the peer ours has to be, and would like to be."""

    must: float
    aim: float

    def verdict(self, ratio: float) -> str:
        """Which of the two a ratio reaches."""
        return "aim" if ratio >= self.aim else "must" if ratio >= self.must else "no"


@dataclass(frozen=True)
class Duel:
    """Ours against the peer; without a goal it is there to be known."""

    group: str
    graph: str
    threads: int
    pair: Callable[[str], pairs.Pair]
    goal: Goal | None = None

    @property
    def id(self) -> str:
        """The case's name in the results."""
        return f"{self.group}/{self.graph}/{self.threads}"


@dataclass(frozen=True)
class Ceiling:
    """Figures of our own, some with a bound that they must stay below."""

    group: str
    unit: str
    figures: Callable[[], dict[str, float]]
    words: Mapping[str, str]
    below: Mapping[str, float] = field(default_factory=dict)


WORDS = {
    "layer": "attention layer, forward and backward, against PyG's AGNNConv",
    "step": "training step, against PyG's own example",
    "step-sparse": "training step, against PyG's example fed a sparse X",
    "gat-step": "GAT training step, against PyG's own example",
    "gcn-step": "GCN training step, against PyG's own example",
    "replicas": "epoch of one replica out of 100, against an epoch of PyG's example",
    "layer-compiled": "attention layer, against PyG's AGNNConv under torch.compile",
    "step-compiled": "training step, against PyG's own example under torch.compile",
}

_STEP_GOALS = {"cora": Goal(50, 140), "citeseer": Goal(60, 200), "pubmed": Goal(15, 50)}
_DATASETS = tuple(_STEP_GOALS)
_THREADS = (1, 2)

DUELS: tuple[Duel, ...] = (
    *(
        Duel("layer", graph, threads, pairs.layer, Goal(10, 20))
        for graph in (*_DATASETS, RANDOM)
        for threads in _THREADS
    ),
    *(
        Duel("step", dataset, threads, pairs.step, goal)
        for dataset, goal in _STEP_GOALS.items()
        for threads in _THREADS
    ),
    *(
        Duel("step-sparse", dataset, threads, pairs.step_sparse, Goal(12, 25))
        for dataset in _DATASETS
        for threads in _THREADS
    ),
    *(
        Duel(group, dataset, threads, pair, Goal(5, 20))
        for group, pair in (("gat-step", pairs.gat_step), ("gcn-step", pairs.gcn_step))
        for dataset in _DATASETS
        for threads in _THREADS
    ),
    Duel("replicas", "cora", 2, pairs.replicas, Goal(60, 150)),
    # The goals above are for PyG as people run it. Compiled it is faster, after half a minute.
    *(Duel("layer-compiled", dataset, 1, pairs.layer_compiled) for dataset in _DATASETS),
    *(Duel("step-compiled", dataset, 1, pairs.step_compiled) for dataset in _DATASETS),
)

CEILINGS: tuple[Ceiling, ...] = (
    Ceiling(
        "memory",
        "GiB",
        processes.peak_memory,
        {"peak": "peak memory, 100 replicas of PubMed, 4 layers"},
        {"peak": 4.0},
    ),
    Ceiling(
        "start-up",
        "s",
        processes.import_seconds,
        {
            "torch": "`import torch`",
            "agnn": "`import agnn`, on top of torch",
            "training": "`import agnn.runs`, all that training needs, on top of torch",
        },
        {"agnn": 0.5, "training": 0.5},
    ),
    Ceiling(
        "compile",
        "s",
        processes.compile_seconds,
        {
            "empty": "compilation on first use, AGNN and GCN",
            "filled": "the same in the next process, from the cache",
        },
        {"empty": 30.0},
    ),
    Ceiling(
        "families",
        "ms",
        families.milliseconds,
        {
            name: f"{family}: {name} on Cora, one replica, "
            f"{'per epoch' if 'epochs' in changes else 'whole'}, one thread"
            for family, (name, changes) in families.FAMILIES.items()
        },
    ),
    Ceiling(
        "serve",
        "ms",
        serving.milliseconds,
        {
            f"{name}_{part}": f"`agnn serve`, {what}: {part}"
            for name, what in serving.WHAT.items()
            for part in ("p50", "p99")
        },
        {"predict_1_p50": 5.0, "health_50_p99": 50.0, "health_beside_50_p99": 50.0},
    ),
    Ceiling(
        "serve-rate",
        "requests/s",
        serving.rates,
        {name: f"`agnn serve`, {what}" for name, what in serving.WHAT.items()},
    ),
)

GROUPS: tuple[str, ...] = (*WORDS, *(ceiling.group for ceiling in CEILINGS))
