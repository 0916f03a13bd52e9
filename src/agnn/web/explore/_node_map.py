"""The map: all nodes as points, so that nodes which the replicas predict alike lie together.

The layout is computed once and kept in the run's folder, in a file of its own that no other part
of the package reads.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.files import writing_file
from agnn.runs import Run

FILE: Final = "map.npz"
_MOST_POINTS: Final = 30_000  # beyond, a sample is drawn
_FEW: Final = 300  # nodes for which neighbourhoods of 15 mean little: principal components
_WIDTH: Final = 20  # principal components that UMAP reads
_LETTERS: Final = 120  # of a title at a point
_OVERHEAD: Final = 10_000  # bytes of a kept layout besides its numbers
_LEAST: Final = 1e-4  # probabilities below count as this, or logarithms of rounding would rule


@dataclass(frozen=True, eq=False)
class NodeMap:
    """Where the nodes lie."""

    nodes: NDArray[np.int64]  # [k] ascending
    places: NDArray[np.float32]  # [k, 2] in the unit square
    how: str  # the method of the layout

    def to_dict(self, run: Run) -> dict[str, Any]:
        """The points with what colours them; numbers as base64 of little-endian bytes."""
        nodes = self.nodes
        split = run.split
        data = run.data
        chances = run.probabilities[nodes]
        parts = np.zeros(data.nodes, dtype=np.uint8)
        for number, part in enumerate((split.train, split.validation, split.test), start=1):
            parts[part] = number
        return {
            "how": self.how,
            "of": data.nodes,
            "ids": [str(data.node_ids[node]) for node in nodes],
            "titles": _titles(run, nodes),
            "nodes": _base64(nodes, "<i4"),
            "places": _base64(np.round(65535 * self.places), "<u2"),
            "label": _base64(data.labels[nodes], "<i2"),
            "answer": _base64(chances.argmax(1), "<i2"),
            "confidence": _base64(np.round(255 * chances.max(1)), "u1"),
            "disagreement": _base64(np.round(255 * run.ensemble.disagreement[nodes]), "u1"),
            "split": _base64(parts[nodes], "u1"),
        }


def node_map(run: Run) -> NodeMap:
    """The kept layout of a run, or a new one, which is kept if the folder can be written."""
    path = None if run.folder is None else run.folder / FILE
    kept = None if path is None else _read_layout(path, run)
    if kept is not None:
        return kept
    nodes = chosen_nodes(run)
    places, how = _layout(_features(run, nodes))
    layout = NodeMap(nodes, _unit(places), how)
    if path is not None:
        _write_layout(path, run, layout)
    return layout


def quick_map(run: Run) -> NodeMap:
    """The kept layout of a run, or one of principal components, which takes no time."""
    kept = None if run.folder is None else _read_layout(run.folder / FILE, run)
    if kept is not None:
        return kept
    nodes = chosen_nodes(run)
    places, how = _principal_components(_features(run, nodes))
    return NodeMap(nodes, _unit(places), how)


def chosen_nodes(run: Run) -> NDArray[np.int64]:
    """All nodes; of a large graph the training nodes and a random sample, 30,000 in all."""
    count = run.data.nodes
    if count <= _MOST_POINTS:
        return np.arange(count)
    train = np.asarray(run.split.train)[:_MOST_POINTS]
    others = np.setdiff1d(np.arange(count), train, assume_unique=True)
    sample = np.random.default_rng(0).choice(others, _MOST_POINTS - train.size, replace=False)
    return np.sort(np.concatenate([train, sample]))


def training_distance(run: Run, most: int) -> NDArray[np.uint8]:
    """Hops to the nearest training node of the first replica; `most` + 1 if it is farther; [n]."""
    distance = np.full(run.data.nodes, most + 1, dtype=np.uint8)
    train = np.asarray(run.split.train)
    if train.size:
        for hops, ring in enumerate(run.graph.hop_rings(torch.tensor(train), most)):
            distance[ring.numpy()] = hops
    return distance


def _features(run: Run, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
    """The first principal components of all replicas' log-probabilities; [k, at most 20]."""
    scores = run.scores[:, torch.from_numpy(nodes)].clamp(min=_LEAST).log()
    rows = scores.permute(1, 0, 2).reshape(nodes.size, -1)
    rows = rows - rows.mean(0)
    spread = rows.T @ rows / max(nodes.size, 1)
    _, axes = torch.linalg.eigh(spread)
    components: NDArray[np.float32] = (rows @ axes.flip(1)[:, :_WIDTH]).float().numpy()
    return components


def _layout(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], str]:
    if len(rows) < _FEW or find_spec("umap") is None:
        return _principal_components(rows)
    from umap import UMAP

    places = UMAP(
        n_neighbors=15, min_dist=0.15, n_epochs=200, init="pca", random_state=0, n_jobs=1
    ).fit_transform(rows)
    return np.asarray(places, dtype=np.float32), "UMAP"


def _principal_components(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], str]:
    flat = np.zeros((len(rows), 2), dtype=np.float32)
    flat[:, : min(2, rows.shape[1])] = rows[:, :2]
    return flat, "principal components"


def _unit(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """The places in the unit square, with their proportions."""
    low = places.min(0)
    high = places.max(0)
    side = max(float((high - low).max()), 1e-9)
    scaled: NDArray[np.float32] = (places - (low + high) / 2) / side + 0.5
    return scaled.clip(0.0, 1.0)


def _read_layout(path: Path, run: Run) -> NodeMap | None:
    """The layout in the file; None where there is none for these predictions.

    No checksum covers the file, and the folder may be a stranger's: whatever is wrong with it, the
    layout is computed again.
    """
    expected = chosen_nodes(run)
    if not path.is_file():  # a pipe would be waited for
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            if sum(member.file_size for member in file.zip.filelist) > _OVERHEAD + 16 * len(
                expected
            ):
                return None
            nodes = file["nodes"]
            places = file["places"]
            of = file["of"]
            how = file["how"]
    except Exception:  # NumPy and zipfile have many
        return None
    is_fitting = (
        of.dtype.kind == how.dtype.kind == "U"
        and str(of) == _fingerprint(run)
        and nodes.dtype.kind == "i"
        and np.array_equal(nodes, expected)
        and places.dtype.kind == "f"
        and places.shape == (len(expected), 2)
        and bool(np.isfinite(places).all())
    )
    if not is_fitting:
        return None
    return NodeMap(expected, places.astype(np.float32).clip(0.0, 1.0), str(how)[:40])


def _write_layout(path: Path, run: Run, layout: NodeMap) -> None:
    try:
        with writing_file(path, replace=True) as draft:
            np.savez(draft, **vars(layout), of=_fingerprint(run))
    except OSError:
        pass  # a folder that is only for reading: it is laid out again next time


def _fingerprint(run: Run) -> str:
    """What the layout belongs to: the data and the replicas' predictions."""
    total = float(run.scores.double().square().sum())
    has_umap = find_spec("umap") is not None
    return f"{run.data.fingerprint} {tuple(run.scores.shape)} {total:.4f} {has_umap}"


def _titles(run: Run, nodes: NDArray[np.int64]) -> list[str] | None:
    """What is shown at a point; a long title without its end."""
    titles = run.data.texts.get("title")
    return None if titles is None else [titles[node][:_LETTERS] for node in nodes.tolist()]


def _base64(values: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode()
