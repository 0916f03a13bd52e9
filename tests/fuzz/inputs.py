"""Damaged and hostile tables, graphs, splits and arguments for `agnn inspect` and `agnn train`.

Every case ends with exit code 0 or 2, an error is one line, and nothing is left half-written.
Changes without a meaning (line ends, quotes, order of edges) must give the same predictions.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from forked import Case, Result
from mutants import HOSTILE_CELLS, changed_bytes, changed_json

from own_tables import PEOPLE, edge_lines, node_lines, text

TRAIN = ["train", "--method", "gcn", "--epochs", "3", "--replicas", "2", "--quiet"]
TABLE = ["--label", "topic", "--text", "motto"]
PREDICT = ["predict", "run", "--out", "predictions.csv"]
_ARGUMENTS = (
    "--replicas", "--seed", "--epochs", "--layers", "--hidden", "--learning-rate", "--weight-decay",
    "--dropout", "--class-weight", "--split", "--method", "--threads", "--device", "--backend",
)  # fmt: skip
_NUMBERS = (
    "0", "-1", "1e30", "nan", "inf", "-inf", "1e-320", "1" + "0" * 30, "", "x", "0.5", "1.0", "2",
    "art=1", "art=-1", "balanced", "7-fold", "stratified-0-fold", "no.json", "../x",
)  # fmt: skip


def write_base(folder: Path) -> int:
    """Write the inputs that are changed later, and the predictions of the unchanged tables."""
    import networkx as nx
    import pandas as pd
    from scipy import sparse

    from agnn.cli import main
    from agnn.data import Split

    (folder / "nodes.csv").write_text(text(node_lines()), encoding="utf-8")
    (folder / "edges.csv").write_text(text(edge_lines()), encoding="utf-8")
    nodes, edges = pd.read_csv(folder / "nodes.csv"), pd.read_csv(folder / "edges.csv")
    nodes.to_parquet(folder / "nodes.parquet")
    edges.to_parquet(folder / "edges.parquet")
    graph = nx.from_pandas_edgelist(edges)
    for node, row in nodes.set_index("id").iterrows():
        graph.add_node(node, topic=str(row["topic"]), age=float(row["age"] == row["age"]))
    nx.write_graphml(graph, folder / "graph.graphml")
    ring = sparse.csr_matrix(nx.to_scipy_sparse_array(nx.cycle_graph(40), dtype=np.float32))
    x = sparse.random(40, 6, 0.5, "csr", rng=np.random.default_rng(0))
    parts = {
        f"{name}_{part}": np.asarray(getattr(matrix, part))
        for name, matrix in (("adj", ring), ("attr", x))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(folder / "graph.npz", labels=np.arange(40) % 3, **parts)
    labelled = np.flatnonzero(np.arange(PEOPLE) % 6 != 5)
    Split("mine", *np.split(labelled, [15, 30])).save(folder / "split.json")
    tables = ["--nodes", "nodes.csv", "--edges", "edges.csv", *TABLE]
    return main([*TRAIN, *tables, "--out", "run"]) or main(PREDICT)


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    kinds: list[Callable[[random.Random, Path, Path], tuple[list[str], bool]]] = [
        _csv_bytes, _csv_cells, _csv_same, _parquet, _npz, _graphml, _split, _arguments
    ]  # fmt: skip
    expected = (base / "predictions.csv").read_bytes()
    for number in range(count):
        kind = kinds[number % len(kinds)]
        folder = work / f"input-{number}"
        folder.mkdir()
        options, is_same = kind(source, base, folder)
        is_inspected = not is_same and source.random() < 0.3 and kind is not _arguments
        if is_inspected:
            own = [each for each in options if each not in ("--split", "split.json")]
            commands = [["inspect", *own]]
        else:
            commands = [[*TRAIN, *options, "--out", "run"], PREDICT]
        check = _check(folder, expected if is_same else None)
        yield Case(f"{kind.__name__[1:]} {number}", folder, commands, check)


def _check(folder: Path, expected: bytes | None) -> Callable[[Result], str | None]:
    def check(result: Result) -> str | None:
        found = result.complaint()
        if found is None and result.code == 2 and (folder / "run" / "config.json").exists():
            # Training succeeded and predicting did not.
            return f"a run that cannot predict: {result.err.strip()[-200:]}"
        if found is None and result.code == 2 and (folder / "run").exists():
            return "half-written: a run folder after an error"
        made = folder / "predictions.csv"
        if found is None and result.code == 0 and made.exists():
            found = wrong_probabilities(made)
            if found is None and expected is not None and made.read_bytes() != expected:
                found = "wrong load: the same data gave other predictions"
        if found is None and expected is not None and result.code != 0:
            found = f"refused though nothing is wrong: {result.err.strip()[-200:]}"
        return found

    return check


def wrong_probabilities(path: Path) -> str | None:
    """What is wrong with a file of predictions; None if every row has probabilities."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if not rows:
        return "wrong load: no predictions"
    for row in rows:
        found = [float(row[name]) for name in row if name.startswith("probability_of_")]
        if not all(0 <= value <= 1 for value in found) or abs(sum(found) - 1) > 1e-6:
            return f"wrong load: probabilities {found}"
    return None


def _tables(folder: Path, nodes: bytes, edges: bytes, suffix: str = "csv") -> list[str]:
    (folder / f"nodes.{suffix}").write_bytes(nodes)
    (folder / f"edges.{suffix}").write_bytes(edges)
    return ["--nodes", f"nodes.{suffix}", "--edges", f"edges.{suffix}", *TABLE]


def _csv_bytes(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    files = [(base / "nodes.csv").read_bytes(), (base / "edges.csv").read_bytes()]
    which = source.randrange(2)
    files[which] = changed_bytes(source, files[which])
    return _tables(folder, files[0], files[1]), False


def _csv_cells(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    """Cells, rows and columns changed."""
    tables = [_rows(base / "nodes.csv"), _rows(base / "edges.csv")]
    rows = source.choice(tables)
    for _ in range(source.choice([1, 1, 3, 20])):
        i, j = source.randrange(len(rows)), source.randrange(len(rows[0]))
        match source.randrange(8):
            case 0:
                rows.insert(i, list(rows[-1]))
            case 1 if len(rows) > 1:
                del rows[i]
            case 2:
                for row in rows:
                    row.append(source.choice(HOSTILE_CELLS))
            case 3:
                for row in rows[1:]:
                    if j < len(row):
                        row[j] = source.choice(HOSTILE_CELLS[:12])
            case _:
                if j < len(rows[i]):
                    rows[i][j] = source.choice(HOSTILE_CELLS)
    return _tables(folder, *(_written(each) for each in tables)), False


def _csv_same(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    """Tables that mean the same."""
    nodes, edges = _rows(base / "nodes.csv"), _rows(base / "edges.csv")
    suffix, options = "csv", {"lineterminator": "\n"}
    match source.randrange(6):
        case 0:
            options = {"lineterminator": "\r\n"}
        case 1:
            options = {"quoting": csv.QUOTE_ALL, "lineterminator": "\n"}
        case 2:
            suffix, options = "tsv", {"delimiter": "\t", "lineterminator": "\n"}
        case 3:
            head, *rest = edges
            source.shuffle(rest)
            edges = [head, *rest, *([b, a] for a, b in rest[:5])]
        case 4:
            order = list(range(1, len(nodes[0])))
            order.remove(nodes[0].index("topic"))
            order = [0, nodes[0].index("topic"), *sorted(order)]
            nodes = [[row[k] for k in order] for row in nodes]
        case _:
            return _tables(
                folder, b"\xef\xbb\xbf" + _written(nodes), b"\xef\xbb\xbf" + _written(edges)
            ), True
    written = [_written(each, **options) for each in (nodes, edges)]
    return _tables(folder, *written, suffix=suffix), True


def _parquet(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ["nodes", "edges"]
    which = source.choice(names)
    for name in names:
        data = (base / f"{name}.parquet").read_bytes()
        if name == which and source.random() < 0.4:
            data = changed_bytes(source, data)
        (folder / f"{name}.parquet").write_bytes(data)
    path = folder / f"{which}.parquet"
    if path.read_bytes() == (base / path.name).read_bytes():
        table = pq.read_table(path)
        column = source.choice(table.column_names)
        n = table.num_rows
        odd = source.choice(
            [
                pa.array([[1, 2]] * n), pa.array([{"a": 1}] * n), pa.array([b"\xff\xfe"] * n),
                pa.array([None] * n), pa.array([float("nan")] * n), pa.array([1e400] * n),
                pa.array([2**63 - 1] * n), pa.array([True] * n), pa.array(range(n)),
                pa.array([0] * n, pa.timestamp("ns")), pa.array([1] * n, pa.decimal128(30, 2)),
                pa.array(["x"] * n).dictionary_encode(), pa.array([0] * n, pa.date32()),
                pa.array([0] * n, pa.duration("s")), pa.array(["p1\x00"] * n), pa.nulls(n),
                pa.array([[("k", 1)]] * n, pa.map_(pa.string(), pa.int64())),
                pa.array(np.array([np.inf, *[1.0] * (n - 1)], np.float16)),
            ]
        )  # fmt: skip
        if source.random() < 0.2:
            table = table.append_column(source.choice([column, "", "extra"]), odd)
        else:
            table = table.set_column(table.column_names.index(column), column, odd)
        pq.write_table(table, path)
    return ["--nodes", "nodes.parquet", "--edges", "edges.parquet", *TABLE], False


def _npz(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    path = folder / "graph.npz"
    if source.random() < 0.4:
        path.write_bytes(changed_bytes(source, (base / "graph.npz").read_bytes()))
        return ["graph.npz"], False
    with np.load(base / "graph.npz") as stored:
        arrays: dict[str, Any] = dict(stored)
    name = source.choice([*arrays, "labels", "class_names", "train_mask"])
    old = arrays.get(name, np.arange(40))
    arrays[name] = source.choice(
        [
            old.astype(object), old[:-1], np.append(old, old[-1:]), -old.astype(np.int64),
            old.astype(np.float64) * np.nan, np.full(old.shape, 1e308), old[None], old[:0],
            np.array("text"), old.astype(str), np.array(3), old.astype(bool), old.astype(np.uint8),
            np.full_like(old, 10**9 if old.dtype.itemsize > 1 else 1), old + 1j,
            np.array([], dtype=np.float32), old.astype(np.float16), np.array([2**62, 2**62]),
        ]
    )  # fmt: skip
    if source.random() < 0.2:
        del arrays[name]
    np.savez(path, **arrays)
    return ["graph.npz"], False


def _graphml(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    data = (base / "graph.graphml").read_bytes()
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;">]>'
    outside = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    match source.randrange(5):
        case 0:
            data = data.replace(b"<graphml", source.choice([bomb, outside]) + b"<graphml", 1)
            data = data.replace(b">art<", source.choice([b">&c;<", b">&e;<"]))
        case 1:
            data = data.replace(b'"double"', source.choice([b'"int"', b'"boolean"', b'"x"']))
        case 2:
            data = data.replace(b">art<", f">{source.choice(HOSTILE_CELLS)}<".encode(), 3)
        case _:
            data = changed_bytes(source, data)
    (folder / "graph.graphml").write_bytes(data)
    return ["graph.graphml", "--label", "topic"], False


def _split(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    data = (base / "split.json").read_bytes()
    if source.random() < 0.3:
        data = changed_bytes(source, data)
    else:
        data = json.dumps(changed_json(source, json.loads(data))).encode()
    (folder / "split.json").write_bytes(data)
    tables = ((base / f"{name}.csv").read_bytes() for name in ("nodes", "edges"))
    return [*_tables(folder, *tables), "--split", "split.json"], False


def _arguments(source: random.Random, base: Path, folder: Path) -> tuple[list[str], bool]:
    tables = ((base / f"{name}.csv").read_bytes() for name in ("nodes", "edges"))
    chosen = [
        word
        for name in source.sample(_ARGUMENTS, source.choice([1, 1, 2]))
        for word in (name, source.choice(_NUMBERS))
    ]
    return [*_tables(folder, *tables), *chosen], False


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def _written(rows: list[list[str]], **options: Any) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, **({"lineterminator": "\n"} | options)).writerows(rows)
    return stream.getvalue().encode("utf-8", "surrogatepass")
