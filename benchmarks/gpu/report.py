"""The GPU's figures as a table and a plot: pure functions of the JSON file's content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.gpu.clock import GIB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Goal = tuple[str, str, str, str, str]


def _reached(value: float, must: float, aim: float, *, low_is_good: bool = False) -> str:
    better = (lambda goal: value <= goal) if low_is_good else (lambda goal: value >= goal)
    return "aim" if better(aim) else "must" if better(must) else "no"


def _ratio(what: str, value: float, must: float, aim: float) -> Goal:
    return what, f"{value:,.0f}x", f"{must:g}x", f"{aim:g}x", _reached(value, must, aim)


def goals(results: dict[str, Any]) -> list[Goal]:
    """What was measured, what must and what should be reached, and which of them was."""
    rows: list[Goal] = []
    for row, must, aim in zip(results["epochs"], (200, 150, 30), (700, 400, 60), strict=True):
        what = f"{row['dataset']}: epoch of a replica, {row['replicas']} at once, against PyG's"
        rows.append(_ratio(what, row["ratio"], must, aim))
    rows.append(_ratio("cora: recorded step of one replica", results["step"]["ratio"], 30, 100))
    layer = results["layers"][-1]
    size = f"layer, {layer['edges'] / 1e6:.0f} M edges"
    for kind, peer in layer["peers"].items():
        rows.append(
            _ratio(f"{size}: time against PyG {kind}", peer["ms"] / layer["ours_ms"], 30, 45)
        )
    share = 100 * layer["share_of_floor"]
    rows.append(
        (f"{size}: share of the gather floor", f"{share:.0f} %", "50 %", "70 %",
         _reached(share, 50, 70))
    )  # fmt: skip
    for kind, peer in layer["peers"].items():
        memory = peer["bytes"] / layer["ours_bytes"]
        rows.append(_ratio(f"{size}: memory against PyG {kind}", memory, 30, 50))
    large = results["large"]
    if large is not None:
        what = f"{large['nodes'] / 1e6:.0f} M nodes, {large['edges'] / 1e9:.1f} B edges: an epoch"
        value = (
            f"{large['seconds']:.2f} s ({large['step_seconds']:.2f} s the step alone), "
            f"{large['peak_gib']:.0f} GiB"
        )
        fits = large["peak_gib"] <= 125
        reached = _reached(large["seconds"], 1.8, 1.0, low_is_good=True) if fits else "no"
        rows.append((what, value, "1.8 s, 125 GiB", "1.0 s", reached))
    seconds = results["table"]["seconds"]
    rows.append(
        ("900 models of the fixed-split table", f"{seconds:.1f} s", "20 s", "8 s",
         _reached(seconds, 20, 8, low_is_good=True))
    )  # fmt: skip
    return rows


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def markdown(results: dict[str, Any]) -> str:
    """The tables with what one needs to read them."""
    versions, table = results["versions"], results["table"]
    about = (
        f"{results['device']}, {results['bandwidth'] / 1e12:.2f} TB/s measured by a copy; torch "
        f"{versions['torch']}, triton {versions['triton']}, torch_geometric "
        f"{versions['torch_geometric']}; {results['date'][:10]}. PyG runs as it is and under "
        f"torch.compile, and the faster counts. Made with `python -m benchmarks.gpu`; the kernels' "
        f"tests on the GPU {results['tests']}."
    )
    rows = [list(row) for row in goals(results)]
    parts = [about, _table(["what", "measured", "must", "aim", "reached"], rows)]
    parts.append(
        _table(
            [
                "nodes",
                "edges",
                "agnn",
                "PyG",
                "PyG compiled",
                "floor",
                "share of floor",
                "memory",
                "PyG's",
                "PyG's compiled",
            ],
            [_layer_cells(row) for row in results["layers"]],
        )
    )
    cells = [
        [
            cell["dataset"], cell["method"],
            f"{cell['mean']:.2f} ± {cell['standard_error']:.2f}", f"{cell['seconds']:.2f} s",
        ]
        for cell in table["cells"]
    ]  # fmt: skip
    parts.append(_table(["dataset", "method", "accuracy (100 replicas)", "time"], cells))
    parts.append(
        f"Compilation and the first epochs of each cell took "
        f"{table['compilation_and_first_epochs']:.0f} s, not counted above."
    )
    return "\n\n".join(parts) + "\n"


def _layer_cells(row: dict[str, Any]) -> list[str]:
    def peer(name: str) -> str:
        found = row["peers"].get(name)
        return f"{found['ms']:.2f} ms" if found else "did not run"

    def size(name: str) -> str:
        found = row["peers"].get(name)
        return f"{found['bytes'] / GIB:.2f} GiB" if found else "did not run"

    return [
        f"{row['nodes']:,}", f"{row['edges']:,}", f"{row['ours_ms']:.3f} ms", peer("eager"),
        peer("compiled"), f"{row['floor_ms']:.3f} ms", f"{100 * row['share_of_floor']:.0f} %",
        f"{row['ours_bytes'] / GIB:.3f} GiB", size("eager"), size("compiled"),
    ]  # fmt: skip


_STYLES = {
    "eager": {"ls": "--", "marker": "s", "color": "#777777", "label": "PyG"},
    "compiled": {"ls": "-.", "marker": "^", "color": "#777777", "label": "PyG, torch.compile"},
}
_OURS = {"marker": "o", "color": "#0b3d91", "label": "agnn"}


def plot(results: dict[str, Any]) -> Figure:
    """Time and memory of a layer against its edges, ours, PyG's and the floor, log-log."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    time, memory = figure.subplots(1, 2)
    rows = results["layers"]
    edges = [row["edges"] for row in rows]
    for kind, style in _STYLES.items():
        found = [(row["edges"], row["peers"][kind]) for row in rows if kind in row["peers"]]
        sizes = [size for size, _ in found]
        time.plot(sizes, [peer["ms"] for _, peer in found], **style)
        memory.plot(sizes, [peer["bytes"] / GIB for _, peer in found], **style)
    time.plot(edges, [row["ours_ms"] for row in rows], **_OURS)
    memory.plot(edges, [row["ours_bytes"] / GIB for row in rows], **_OURS)
    floor = [row["floor_ms"] for row in rows]
    time.plot(edges, floor, ":", color="#c04000", label="floor: each line read once")
    time.set(ylabel="milliseconds", title="A layer, forward and backward")
    memory.set(ylabel="GiB", title="Its peak memory")
    for axes in (time, memory):
        axes.set(xlabel="stored edges", xscale="log", yscale="log")
        axes.grid(visible=True, which="major", color="#dddddd")
        axes.legend(frameon=False)
    return figure
