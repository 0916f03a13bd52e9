"""`python -m benchmarks.whole_table`: what PyG would need for the fixed-split table.

A few epochs of both are timed in turns and multiplied by the epochs and initialisations of the
table. Nothing here is a measured whole run, and every line says so. PyG has no GLN; neither its
GCN nor ours is stopped early.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table

from agnn.data import load_dataset
from agnn.methods import NetworkMethod
from agnn.networks import AGNN, GCN
from benchmarks import pairs, peer, peer_gcn
from benchmarks.graphs import edge_index, graph_of
from benchmarks.machine import machine, software
from benchmarks.ours import endless_epoch, training_run
from benchmarks.peer_sparse import FORMATS
from benchmarks.timing import Action, compare, fastest

_DATASETS = ("citeseer", "cora", "pubmed")
_AT_ONCE = 10  # replicas of ours in the timed epochs


@dataclass(frozen=True)
class Estimate:
    """Seconds of an epoch of one replica, and how many epochs the whole takes."""

    what: str
    dataset: str
    epochs: int  # of all replicas together
    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """How many times longer PyG would take."""
        return self.peer / self.ours


def estimates(replicas: int, rounds: int, datasets: Sequence[str] = _DATASETS) -> list[Estimate]:
    """An estimate a method, dataset and form in which PyG is fed."""
    found = []
    for dataset in datasets:
        method = AGNN.preset("fixed", dataset)
        for what, form in _FORMS.items():
            found.append(_estimate(what, dataset, method, form(dataset), replicas, rounds))
        gcn = GCN.preset("fixed", dataset)
        found.append(_estimate("GCN, PyG's example", dataset, gcn, _gcn(dataset), replicas, rounds))
    return found


def _estimate(
    what: str, dataset: str, method: NetworkMethod, other: Action, replicas: int, rounds: int
) -> Estimate:
    timing = compare(_our_epoch(method, dataset), other, rounds=rounds, units=_AT_ONCE)
    epochs = method.recipe().epochs * replicas
    return Estimate(what, dataset, epochs, median(timing.ours), median(timing.peer))


def _our_epoch(method: NetworkMethod, dataset: str) -> Action:
    return endless_epoch(training_run(method, load_dataset(dataset), _AT_ONCE))


def _example(dataset: str) -> Action:
    return pairs.example(dataset).epoch


def _sparse(dataset: str) -> Action:
    epochs: dict[str, Callable[[], object]] = {
        form: pairs.sparse_example(dataset, form).epoch for form in FORMATS
    }
    return epochs[fastest(epochs, rounds=2)]


def _gcn(dataset: str) -> Action:
    data = load_dataset(dataset)
    return peer.Training(peer_gcn.GCN(data), edge_index(graph_of(dataset)), data).epoch


_FORMS: dict[str, Callable[[str], Action]] = {
    "AGNN, PyG's example": _example,
    "AGNN, PyG fed a sparse X": _sparse,
}


def table(found: Sequence[Estimate], replicas: int) -> Table:
    """The estimates in minutes, and what all datasets take together."""
    grid = Table(
        "what", "dataset", "epochs", "agnn", "PyG", "ratio",
        title=f"Extrapolated from a few epochs, {replicas} initialisations; not measured whole",
    )  # fmt: skip
    sums: dict[str, list[float]] = {}
    for each in found:
        ours, other = each.ours * each.epochs / 60, each.peer * each.epochs / 60
        together = sums.setdefault(each.what, [0.0, 0.0])
        together[0], together[1] = together[0] + ours, together[1] + other
        _add_row(grid, each.what, each.dataset, f"{each.epochs:,}", ours, other)
    grid.add_section()
    for what, (ours, other) in sums.items():
        _add_row(grid, what, "together", "", ours, other)
    return grid


def _add_row(grid: Table, what: str, where: str, epochs: str, ours: float, other: float) -> None:
    minutes = f"about {ours:.1f} min", f"about {other:.0f} min"
    grid.add_row(what, where, epochs, *minutes, f"{other / ours:.0f}x")


def main(arguments: Sequence[str] | None = None) -> int:
    """Time, extrapolate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_table", description=__doc__)
    parser.add_argument("--replicas", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    options = parser.parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console.width = 120
    console.print(", ".join(f"{name} {value}" for name, value in machine().items()))
    console.print(", ".join(f"{name} {version}" for name, version in software().items()))
    console.print(table(estimates(options.replicas, options.rounds), options.replicas))
    return 0


if __name__ == "__main__":
    sys.exit(main())
