"""`python -m benchmarks.decisions`: whether decisions keep what they promise, as tables.

python -m benchmarks.decisions sets
python -m benchmarks.decisions cross-fitted --datasets cora --draws 10
python -m benchmarks.decisions novelty
python -m benchmarks.decisions audit --seeds 5
python -m benchmarks.decisions suggest --methods linear --datasets cora acm.npz --seeds 20
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec

import torch

import agnn
from agnn.data import NodeData
from agnn.tables import ResultTable
from benchmarks.decisions import audit, suggest
from benchmarks.decisions.sets import cross_fitted_table, novelty_table, sets_table

_REPLICAS = {"cora": 5, "citeseer": 5, "pubmed": 3}


def main() -> None:
    """Make the tables that are named on the command line; all by default."""
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="benchmarks.decisions", description=summary)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument(
        "--datasets", nargs="+", default=[*_REPLICAS], help="names or .npz files, not of audits"
    )
    parser.add_argument(
        "--methods", nargs="+", default=["agnn"], help='or "default", of suggestions'
    )
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--labels", type=int, default=500, help="of cross-fitted runs")
    parser.add_argument("--epochs", type=int, help="of cross-fitted runs, at most")
    parser.add_argument("--seeds", type=int, default=5, help="of audits and suggestions")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=suggest.SIZES, help="labels given")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    for name in chosen.tables or TABLES:
        if name not in TABLES:
            parser.error(f"unknown table '{name}'; known: {', '.join(TABLES)}")
        for table in TABLES[name](chosen):
            sys.stdout.write(f"{table.caption}\n\n{table.markdown()}\n\n")
            sys.stdout.flush()


def _sets(chosen: argparse.Namespace) -> list[ResultTable]:
    runs = [
        agnn.evaluate(method, agnn.load_dataset(name), "fixed", replicas=_REPLICAS.get(name, 5))
        for name in chosen.datasets
        for method in chosen.methods
    ]
    return [sets_table(runs, chosen.draws, has_mapie=find_spec("mapie") is not None)]


def _cross_fitted(chosen: argparse.Namespace) -> list[ResultTable]:
    return [
        cross_fitted_table(data, method, chosen.labels, chosen.draws, chosen.epochs)
        for data in map(_load, chosen.datasets)
        for method in chosen.methods
    ]


def _load(name: str) -> NodeData:
    return agnn.read_graph(name) if name.endswith(".npz") else agnn.load_dataset(name)


def _novelty(chosen: argparse.Namespace) -> list[ResultTable]:
    replicas = {name: 2 if name == "pubmed" else 3 for name in chosen.datasets}
    return [novelty_table(replicas, rate=0.05, draws=chosen.draws)]


def _audit(chosen: argparse.Namespace) -> list[ResultTable]:
    return [audit.result_table(list(audit.measure(_seeds(chosen))))]


def _suggest(chosen: argparse.Namespace) -> list[ResultTable]:
    graphs = [*map(_load, chosen.datasets)]
    changes = {} if chosen.epochs is None else {"epochs": chosen.epochs}
    return [
        suggest.result_table(
            [*suggest.measure(_seeds(chosen), graphs, chosen.sizes, method, changes)]
        )
        for method in chosen.methods
    ]


def _seeds(chosen: argparse.Namespace) -> range:
    return range(chosen.first_seed, chosen.first_seed + chosen.seeds)


# Every table by its name; a function from the options to tables.
TABLES: dict[str, Callable[[argparse.Namespace], list[ResultTable]]] = {
    "sets": _sets,
    "cross-fitted": _cross_fitted,
    "novelty": _novelty,
    "audit": _audit,
    "suggest": _suggest,
}


if __name__ == "__main__":
    main()
