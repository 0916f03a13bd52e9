"""Measure what cross-fitting and the default's choice of a method are worth where labels are few.

    python scripts/measure_cross_fitting.py folds FOLDER --out folds.json [--draws 10]
    python scripts/measure_cross_fitting.py choice FOLDER --out choice.json [--draws 10]

FOLDER holds graphs as .npz files; Cora, CiteSeer and PubMed are taken as well, under other names,
so that they have no presets. "uniform-10" says that 10 labels per class in the mean are drawn
uniformly, "balanced-10" that 10 of every class are. All others are hidden. A draw that has fewer
than two labels of a class is drawn again.

`folds` trains AGNN+ with ten replicas on splits of 60, 20 and 20 %, and cross-fitted. It prints the
accuracy at the hidden labels of the ensemble and of one replica, and compares the accuracy that
cross-fitting reports, and its 95 % interval, with the true one of its replicas.

`choice` trains the default and the methods that it chooses from, on the splits that a graph comes
with, else on drawn labels. It prints the score of the ensembles at test nodes, or at hidden labels:
AUC with two classes, accuracy with more; and their balanced accuracy. On a GPU the choice is made
once more with the folds and epochs that a CPU has for it: "default-cpu".

Results are kept after every draw: the same command goes on where it was stopped. `--minutes` ends
it, and `--print` prints the tables of the results that are there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import agnn
from agnn.choosing import _default
from agnn.data import NodeData
from agnn.metrics import MEASURES, Summary
from agnn.runs import Training

BUNDLED = ("cora", "citeseer", "pubmed")
ALIKE = (*BUNDLED, "acm", "facebook_pages")  # graphs with like neighbours
UNLIKE = ("blogcatalog", "twitch_en")
WITH_SPLITS = ("minesweeper", "wisconsin", "cornell")
OWN = "own"  # the splits that a graph comes with
TO_FOLD = ("uniform-10", "uniform-50")
TO_CHOOSE = ("uniform-10", "balanced-10", "uniform-50")
LEAST = 2  # labels of each class
REPLICAS = 10
CANDIDATES = ("agnn_plus", "agnn", "separated", "appnp", "ridge")
DEFAULT = "default"
DEFAULT_CPU = "default-cpu"  # with the limits of the choice on a CPU

Results = dict[str, dict[str, Any]]  # what was measured, by "graph/labels per class/draw"


def main() -> None:
    """Measure until the time is over, and print the tables."""
    options = parse_options()
    measure, graphs, tables = {
        "folds": (measure_folds, (*ALIKE, *UNLIKE), folds_tables),
        "choice": (measure_choice, (*WITH_SPLITS, *ALIKE, *UNLIKE), choice_tables),
    }[options.what]
    graphs = options.graphs or graphs
    results: Results = json.loads(options.out.read_text()) if options.out.exists() else {}
    if not options.print:
        collect(results, partial(measure, options), graphs, options)
    print(tables(results, graphs))


def parse_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("folds", "choice"))
    parser.add_argument("folder", type=Path, help="with graphs, .npz")
    parser.add_argument("--out", type=Path, required=True, help="JSON file of the results")
    parser.add_argument("--graphs", nargs="*", help="names; all by default")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, help="fewer, to try this program")
    parser.add_argument("--print", action="store_true", help="print the tables, train nothing")
    return parser.parse_args()


def collect(
    results: Results,
    measure: Callable[[NodeData, str, int], dict[str, Any]],
    graphs: tuple[str, ...],
    options: argparse.Namespace,
) -> None:
    """Add what is missing: one draw of every graph after the other, so that a part is balanced."""
    start = time.monotonic()
    longest = 0.0
    for draw in range(options.draws):
        for name in graphs:
            data = read(name, options.folder)
            drawn = TO_FOLD if options.what == "folds" else TO_CHOOSE
            for kind in (OWN,) if name in WITH_SPLITS else drawn:
                key = f"{name}/{kind}/{draw}"
                begun = time.monotonic()
                if key in results or begun - start + longest > 60 * options.minutes:
                    continue
                results[key] = measure(data, kind, draw)
                longest = max(longest, time.monotonic() - begun)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                print(key, f"{time.monotonic() - begun:.1f} s", flush=True)


@cache
def read(name: str, folder: Path) -> NodeData:
    """Return a graph; one that comes with the package under another name, without its presets."""
    if name in BUNDLED:
        return replace(agnn.load_dataset(name), name=f"{name} without presets")
    return agnn.read_graph(folder / f"{name}.npz")


def draw_labels(data: NodeData, kind: str, draw: int) -> tuple[NodeData, np.ndarray]:
    """Return the data with labels drawn as `kind` says, and the nodes whose labels are hidden."""
    way, text = kind.split("-")
    per_class = int(text)
    source = np.random.default_rng(1000 * draw + per_class)
    while True:
        order = source.permutation(data.labelled)
        known = order[: per_class * data.classes]
        if way == "balanced":
            labels = data.labels[order]
            known = np.concatenate([order[labels == k][:per_class] for k in range(data.classes)])
        if np.bincount(data.labels[known], minlength=data.classes).min() >= LEAST:
            return keep_labels(data, known), np.setdiff1d(data.labelled, known)


def keep_labels(data: NodeData, known: np.ndarray) -> NodeData:
    """Return the data with the labels of these nodes alone, without splits and presets."""
    labels = np.full(data.nodes, -1)
    labels[known] = data.labels[known]
    labels.setflags(write=False)
    return replace(data, labels=labels, splits={}, dataset=None)


def measure_folds(
    options: argparse.Namespace, data: NodeData, kind: str, draw: int
) -> dict[str, Any]:
    """Return the accuracies at hidden labels on both kinds of splits, and the reported one."""
    few, hidden = draw_labels(data, kind, draw)
    truth = data.labels[hidden]
    result: dict[str, Any] = {"labels": few.labelled.size}
    for split in ("stratified", "cross-fit"):
        run = agnn.evaluate(
            "agnn_plus",
            few,
            split,
            replicas=REPLICAS,
            device=options.device,
            changes={"epochs": options.epochs},
        )
        ensemble = 100 * float((run.probabilities[hidden].argmax(1) == truth).mean())
        replica = 100 * float((run.scores.argmax(-1).numpy()[:, hidden] == truth).mean())
        result[split] = {
            "ensemble": ensemble,
            "replica": replica,
            "reported": run.accuracy.mean,
            "interval": list(run.interval),
        }
    return result


def measure_choice(
    options: argparse.Namespace, data: NodeData, kind: str, draw: int
) -> dict[str, Any]:
    """Return each method's measures at test nodes or hidden labels, and what the default took."""
    if kind == OWN:
        trained, split = data, f"own-{draw + 1}"
        tested = data.splits[split].test
    else:
        trained, tested = draw_labels(data, kind, draw)
        split = "cross-fit"
    result: dict[str, Any] = {}
    with patch.object(_default, "_GPU_LINES", 1):
        training = Training(data=trained, split=split, replicas=REPLICAS, device=options.device)
        on_cpu = training.plan().choose().method.name
    for name in (DEFAULT, *CANDIDATES):
        if result and name == result[DEFAULT]["method"]:
            result[name] = result[DEFAULT]  # trained by the same settings and seeds
            continue
        # A changed setting would keep the default from choosing.
        changes = {} if name in (DEFAULT, "ridge") else {"epochs": options.epochs}
        run = agnn.evaluate(
            None if name == DEFAULT else name,
            trained,
            split,
            replicas=REPLICAS,
            device=options.device,
            changes=changes,
        )
        probabilities = run.probabilities[tested]
        result[name] = {
            measure: MEASURES[measure](data.labels[tested], probabilities)
            for measure in ("accuracy", "balanced_accuracy", "auc")
        } | {"method": run.method.name, "reported": run.accuracy.mean}
        if kind != OWN:
            answers = run.scores.argmax(-1).numpy()[:, tested]
            result[name]["replica"] = 100 * float((answers == data.labels[tested]).mean())
            result[name]["interval"] = list(run.interval)
    result[DEFAULT_CPU] = result[on_cpu]
    return result


def rows_of(results: Results, graph: str, kind: str) -> list[dict[str, Any]]:
    """Return the results of all draws of a graph and a kind of labels."""
    return [r for k, r in results.items() if k.startswith(f"{graph}/{kind}/")]


def folds_tables(results: Results, graphs: tuple[str, ...]) -> str:
    """Return the gains of cross-fitting, and how far the reported accuracy is from the true one."""
    lines = [
        "| graph | labels | draws | ensemble | one replica | reported less true | covered |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in TO_FOLD:
        gains: dict[str, list[Summary]] = {"ensemble": [], "replica": []}
        for graph in graphs:
            rows = rows_of(results, graph, kind)
            if not rows:
                continue
            cells = []
            for what, summaries in gains.items():
                pairs = [(r["stratified"][what], r["cross-fit"][what]) for r in rows]
                first, second = np.mean(pairs, axis=0)
                gain = Summary([b - a for a, b in pairs])
                cells.append(f"{first:.1f} -> {second:.1f} ({signed(gain)})")
                if graph in ALIKE:
                    summaries.append(gain)
            cells += estimate_cells([r["cross-fit"] for r in rows])
            lines.append(
                f"| {graph} | {rows[0]['labels']} | {len(rows)} | {' | '.join(cells)} |",
            )
        if gains["ensemble"]:
            means = [signed_mean(summaries) for summaries in gains.values()]
            lines.append(f"| mean, like neighbours | | | {' | '.join(means)} | | |")
    everything = [r["cross-fit"] for r in results.values()]
    if everything:
        lines.append(
            f"| all | | {len(everything)} | | | {' | '.join(estimate_cells(everything))} |"
        )
    return "\n".join(lines)


def choice_tables(results: Results, graphs: tuple[str, ...]) -> str:
    """Return each method's mean score, the default's distance from the best mean and from AGNN+."""
    names = (DEFAULT, DEFAULT_CPU, *CANDIDATES)
    lines = [
        f"| graph | labels per class | draws | measure | {' | '.join(names)} | "
        "default less best | less AGNN+ | it took |",
        "|" + "---|" * (len(names) + 7),
    ]
    estimates = []
    for kind in (OWN, *TO_CHOOSE):
        gains = []
        means_alike = []
        for graph in graphs:
            rows = rows_of(results, graph, kind)
            if not rows:
                continue
            counts: dict[str, int] = {}
            for row in rows:
                counts[row[DEFAULT]["method"]] = counts.get(row[DEFAULT]["method"], 0) + 1
                if kind != OWN:
                    estimates.append(row[DEFAULT])
            took = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            score = "auc" if graph in ("minesweeper", "twitch_en") else "accuracy"
            for measure in (score, "balanced_accuracy"):
                means = {
                    name: float(np.mean([row[name][measure] for row in rows])) for name in names
                }
                best = max(CANDIDATES, key=means.__getitem__)
                gaps = [
                    Summary([row[DEFAULT][measure] - row[name][measure] for row in rows])
                    for name in (best, "agnn_plus")
                ]
                cells = " | ".join(f"{mean:.1f}" for mean in means.values())
                lines.append(
                    f"| {graph} | {kind} | {len(rows)} | {measure} | {cells} | "
                    f"{signed(gaps[0])} | {signed(gaps[1])} | {took} |"
                )
                if graph in ALIKE and measure == score:
                    gains.append(gaps[1])
                    means_alike.append(list(means.values()))
        if gains:
            cells = " | ".join(f"{mean:.1f}" for mean in np.mean(means_alike, axis=0))
            lines.append(
                f"| mean, like neighbours | {kind} | | | {cells} | | {signed_mean(gains)} | |"
            )
    if estimates:
        bias, covered = estimate_cells(estimates)
        lines.append(
            f"\nThe default's reported less its true accuracy on drawn labels: {bias}; "
            f"95 % intervals that cover it: {covered} (n = {len(estimates)})."
        )
    return "\n".join(lines)


def estimate_cells(estimates: list[Mapping[str, Any]]) -> list[str]:
    """Return the bias of the reported accuracy, and how often its interval covers the true one."""
    bias = Summary([e["reported"] - e["replica"] for e in estimates])
    covered = [e["interval"][0] <= e["replica"] <= e["interval"][1] for e in estimates]
    return [signed(bias), f"{100 * float(np.mean(covered)):.0f} %"]


def signed(summary: Summary) -> str:
    """Return a mean difference with its standard error."""
    error = summary.standard_error
    return f"{summary.mean:+.2f}" + ("" if error is None else f" ± {error:.2f}")


def signed_mean(summaries: list[Summary]) -> str:
    """Return the mean over graphs of mean differences, with its standard error over draws.

    Without one where a graph has a single draw.
    """
    text = f"{float(np.mean([summary.mean for summary in summaries])):+.2f}"
    errors = [summary.standard_error for summary in summaries]
    if None in errors:
        return text
    return f"{text} ± {float(np.sqrt(np.square(np.array(errors)).sum())) / len(errors):.2f}"


if __name__ == "__main__":
    main()
