"""Figures on pages are those of the committed results that they come from.

benchmarks/results/cpu.json and gpu.json are behind docs/performance.md and its notes, and with
results/fixed.jsonl behind the three figures of README.md. docs/reproduction.md has a test of its
own in tests/studies.
"""

from __future__ import annotations

import json
import re
from typing import Any

from code_blocks import DOCS, ROOT

CPU = json.loads((ROOT / "benchmarks" / "results" / "cpu.json").read_text(encoding="utf-8"))
GPU = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text(encoding="utf-8"))
DUELS = {duel["id"]: duel for duel in CPU["duels"]}
DATASETS = ("citeseer", "cora", "pubmed")
GIB = 2**30
# The first cell of a row on docs/performance.md, and the group of duels that it names.
GROUPS = {
    "attention layer": "layer",
    "training step": "step",
    "training step, sparse X": "step-sparse",
    "GAT step": "gat-step",
    "GCN step": "gcn-step",
    "epoch, one of 100 replicas": "replicas",
    "attention layer, PyG compiled": "layer-compiled",
    "training step, PyG compiled": "step-compiled",
}


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the tables in one section of a page, without their headers."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.split(r"^## ", text.split(f"## {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    lines = [line.strip().strip("|").split("|") for line in section.split("\n") if line[:1] == "|"]
    return [[cell.strip() for cell in line] for line in lines]


def digits(value: float) -> str:
    """Return a time as the tables write it: three digits, or the whole number if it is longer."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def ratio(value: float) -> str:
    return f"{value:.1f}x" if value < 10 else f"{value:.0f}x"


def check_duel(duel: dict[str, Any], cells: list[str]) -> None:
    low, high = duel["ratio_10_90"]
    assert cells == [
        f"{digits(duel['ours_ms'])} ms",
        f"{digits(duel['peer_ms'])} ms",
        f"{ratio(duel['ratio'])} ({ratio(low)} to {ratio(high)})",
    ]


def test_the_table_of_cpu_cores_is_that_of_the_committed_benchmark() -> None:
    table = rows("docs/performance.md", "Two CPU cores")[2:]
    assert len(table) == 23
    for what, graph, threads, *cells in table:
        check_duel(DUELS[f"{GROUPS[what]}/{graph}/{threads}"], cells)


def test_all_rows_of_the_benchmark_are_in_the_notes() -> None:
    table = rows("docs/notes/benchmarks.md", "Two CPU cores")[2:]
    by_row = {(duel["what"], duel["graph"], str(duel["threads"])): duel for duel in CPU["duels"]}
    assert len(table) == len(by_row)
    for *key, ours, theirs, times in table:
        check_duel(by_row[tuple(key)], [ours, theirs, times])


def test_the_table_of_layers_on_a_gpu_is_that_of_the_committed_benchmark() -> None:
    table = rows("docs/performance.md", "One GPU")[2:]
    assert len(table) == len(GPU["layers"])
    for layer, cells in zip(GPU["layers"], table, strict=True):
        eager = layer["peers"]["eager"]
        compiled = layer["peers"]["compiled"]
        assert cells == [
            f"{layer['nodes']:,}",
            f"{layer['edges']:,}",
            f"{layer['ours_ms']:.3f} ms",
            f"{eager['ms']:.2f} ms",
            f"{compiled['ms']:.2f} ms",
            f"{layer['floor_ms']:.3f} ms",
            f"{100 * layer['share_of_floor']:.0f} %",
            f"{layer['ours_bytes'] / GIB:.3f} GiB",
            f"{eager['bytes'] / GIB:.2f} GiB",
            f"{compiled['bytes'] / GIB:.2f} GiB",
        ]


def test_the_cells_of_the_fixed_splits_on_a_gpu_are_the_committed_ones() -> None:
    cells = {
        (cell["dataset"], cell["method"]): [
            f"{cell['mean']:.2f} ± {cell['standard_error']:.2f}",
            f"{cell['seconds']:.2f} s",
        ]
        for cell in GPU["table"]["cells"]
    }
    table = [row for row in rows("docs/notes/benchmarks.md", "One GPU") if row[0] in DATASETS]
    assert {(dataset, method): shown for dataset, method, *shown in table} == cells


def fixed_accuracies(method: str) -> list[float]:
    """Return the mean accuracy of a hundred runs of each dataset, from the committed runs."""
    text = (ROOT / "results" / "fixed.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.strip().split("\n")]
    means = []
    for dataset in DATASETS:
        (line,) = (
            line
            for line in lines
            if (line["experiment"], line["method"], line["dataset"]) == ("table2", method, dataset)
        )
        assert len(line["accuracy"]) == 100
        means.append(sum(line["accuracy"]) / 100)
    return means


def test_the_three_figures_are_those_of_committed_results() -> None:
    accuracy, speed, scale = rows("README.md", "Three figures")[2:]
    shown = " / ".join(f"{mean:.1f}" for mean in fixed_accuracies("agnn"))
    assert accuracy[1] == f"{shown} %"

    steps = [DUELS[f"step/{dataset}/1"] for dataset in DATASETS]
    assert [float(word) for word in re.findall(r"[\d.]+", speed[1])] == [
        float(f"{step['ours_ms']:.2g}") for step in steps
    ]
    theirs = re.match(r"(\d+) / (\d+) / (\d+) ms in PyG", speed[2])
    assert theirs is not None
    assert [int(word) for word in theirs.groups()] == [round(step["peer_ms"]) for step in steps]

    large = GPU["large"]
    assert scale[0].startswith(
        f"scale, epoch of {large['nodes'] / 1e6:.0f} M nodes and {large['edges'] / 1e9:.1f} B edges"
    )
    assert scale[1] == f"{large['seconds']:.2f} s, {large['peak_gib']:.0f} GiB"
    layer = GPU["layers"][-1]
    memory = layer["peers"]["eager"]["bytes"] / GIB
    assert scale[2] == f"{memory:.0f} GiB in PyG for a layer of {layer['edges'] / 1e9:.2f} B edges"


def test_the_very_large_graph_is_described_with_its_figures() -> None:
    text = (DOCS / "performance.md").read_text(encoding="utf-8")
    large = GPU["large"]
    assert f"takes {large['seconds']:.2f} s and {large['peak_gib']:.0f} GiB" in text
