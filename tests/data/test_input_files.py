"""Special files, enormous headers and damaged content are refused in one line, and quickly."""

from __future__ import annotations

import io
import os
import resource
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from agnn import from_pandas, read_graph, read_tables
from agnn.data import Split
from agnn.data._input_files import check_file
from agnn.errors import AgnnError, DataError, InputError
from own_tables import write_tables


def refused(read: Any, *paths: Path) -> str:
    """The one line that a reader refuses its files with."""
    with pytest.raises(AgnnError, match=r".") as caught:
        read(*paths)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 600
    return line


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("end", [".csv", ".parquet", ".edgelist"])
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path, pipe: Path, end: str) -> None:
    nodes, edges = write_tables(tmp_path)
    path = pipe.rename(tmp_path / f"p{end}")
    assert "is a named pipe; give a plain file." in refused(read_tables, path, edges)
    assert "is a named pipe; give a plain file." in refused(read_tables, nodes, path)


@pytest.mark.parametrize("end", [".npz", ".graphml", ".gexf"])
def test_a_pipe_is_no_graph(tmp_path: Path, pipe: Path, end: str) -> None:
    assert "is a named pipe" in refused(read_graph, pipe.rename(tmp_path / f"p{end}"))


def test_a_pipe_is_no_split(pipe: Path) -> None:
    assert "is a named pipe" in refused(Split.load, pipe)


def test_devices_sockets_and_odd_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'/dev/zero' is a device; give a plain file"):
        check_file(Path("/dev/zero"))
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(tmp_path)  # a socket's path must be short
        listener.bind("s.csv")
        with pytest.raises(InputError, match="is a socket; give a plain file"):
            check_file(Path("s.csv"))
    with pytest.raises(InputError, match=r"cannot read .*null byte"):
        check_file(Path("a\0b"))


@pytest.mark.parametrize(("end", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".csv", ";")])
def test_a_million_columns_are_refused_before_they_fill_memory(
    tmp_path: Path, end: str, delimiter: str
) -> None:
    write_tables(tmp_path)
    path = tmp_path / f"wide{end}"
    names = delimiter.join(f"c{k}" for k in range(1_000_000))
    path.write_text(f"{names}\n{delimiter.join('1' * 1_000_000)}\n")
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    line = refused(read_tables, path, tmp_path / "edges.csv")
    assert "1,000,000 columns; a table may have at most 50,000" in line
    assert time.monotonic() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_the_limit_holds_for_parquet_and_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.data._input_files.COLUMN_LIMIT", 100)
    nodes, edges = write_tables(tmp_path)
    wide = pd.DataFrame(np.zeros((2, 101)), columns=[f"c{k}" for k in range(101)])
    wide.to_parquet(tmp_path / "wide.parquet")
    links = pd.DataFrame({"a": [0], "b": [1]})
    said = "has 101 columns; a table may have at most 100"
    assert said in refused(read_tables, tmp_path / "wide.parquet", edges)
    assert said in refused(read_tables, nodes, tmp_path / "wide.parquet")
    assert said in refused(lambda: from_pandas(wide, links))


def parquet_nodes(folder: Path, **columns: Any) -> tuple[Path, Path]:
    arrays = {"id": pa.array(["a", "b", "c"]), "x": pa.array([0.5, 1.5, 4.0])} | columns
    parquet.write_table(pa.table(arrays), folder / "n.parquet")
    (folder / "e.csv").write_text("s,t\na,b\nb,c\n")
    return folder / "n.parquet", folder / "e.csv"


LISTS = pa.array([[1], [2, 3], []])
BYTES = pa.array([b"\xff\xfe", b"b", b"\x80"])
STRUCTS = pa.array([{"k": 1}, {"k": 2}, {"k": 3}])


@pytest.mark.parametrize(("values", "kind"), [(LISTS, "ndarray"), (STRUCTS, "dict")])
def test_lists_and_structs_are_not_ids(tmp_path: Path, values: Any, kind: str) -> None:
    line = refused(read_tables, *parquet_nodes(tmp_path, id=values))
    assert f"n.parquet', column 'id', row 1: an id must be text or a number; got {kind}." in line


@pytest.mark.parametrize("values", [LISTS, STRUCTS, BYTES])
def test_lists_structs_and_bytes_are_not_labels(tmp_path: Path, values: Any) -> None:
    paths = parquet_nodes(tmp_path, y=values)
    line = refused(lambda *files: read_tables(*files, label="y"), *paths)
    assert "n.parquet', column 'y': a label must be text or a number" in line


def test_bytes_as_ids_split_or_ends_of_edges_are_one_line_or_work(tmp_path: Path) -> None:
    nodes, edges = parquet_nodes(tmp_path, id=BYTES)
    assert "name an id that is not in" in refused(read_tables, nodes, edges)
    nodes, edges = parquet_nodes(tmp_path, part=BYTES, y=pa.array(["a", "b", "a"]))
    line = refused(lambda *files: read_tables(*files, label="y", split_column="part"), nodes, edges)
    assert "unknown part" in line
    parquet.write_table(pa.table({"s": LISTS, "t": LISTS}), tmp_path / "e.parquet")
    nodes, _ = parquet_nodes(tmp_path)
    assert "name an id that is not in" in refused(read_tables, nodes, tmp_path / "e.parquet")


@pytest.mark.parametrize("end", [".csv", ".parquet", ".edgelist", ".npz", ".graphml", ".json"])
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path: Path, end: str) -> None:
    nodes, edges = write_tables(tmp_path)
    rng = np.random.default_rng(0)
    good = _good_file(tmp_path, end)
    path, lines = tmp_path / f"bad{end}", []
    for _ in range(30):
        content = bytearray(good)
        for place in rng.integers(0, len(content), rng.integers(1, 8)):
            content[place] = rng.integers(0, 256)
        path.write_bytes(bytes(content[: rng.integers(1, len(content) + 1)]))
        try:
            if end in (".csv", ".parquet"):
                read_tables(path, edges, label="topic")
            elif end == ".edgelist":
                read_tables(nodes, path)
            elif end == ".json":
                Split.load(path)
            else:
                read_graph(path)
        except AgnnError as error:
            lines.append(str(error))
    assert lines
    assert not any("\n" in line for line in lines)


def _good_file(folder: Path, end: str) -> bytes:
    if end == ".csv":
        return (folder / "nodes.csv").read_bytes()
    if end == ".edgelist":
        text = (folder / "edges.csv").read_text().split("\n", 1)[1]
        return text.replace(",", " ").encode()
    if end == ".json":
        Split("mine", [0, 1], [2], [3]).save(folder / "good.json")
        return (folder / "good.json").read_bytes()
    stream = io.BytesIO()
    if end == ".parquet":
        pd.read_csv(folder / "nodes.csv").to_parquet(stream)
    elif end == ".npz":
        np.savez(
            stream, adj_data=np.ones(2), adj_indices=np.array([1, 0]), adj_shape=np.array([2, 2]),
            adj_indptr=np.array([0, 1, 2]), labels=np.array([0, 1]), attr_matrix=np.eye(2),
            train_mask=np.array([True, True]),
        )  # fmt: skip
    else:
        import networkx as nx

        graph = nx.path_graph(5)
        nx.set_node_attributes(graph, {k: k / 3 for k in range(5)}, "x")
        nx.write_graphml(graph, stream)
    return stream.getvalue()


def test_two_columns_of_one_name_are_found_in_wide_tables_quickly() -> None:
    names = [*(f"c{k}" for k in range(30_000)), "c7"]
    frame = pd.DataFrame(np.zeros((1, len(names)), dtype=np.int8), columns=names)
    start = time.monotonic()
    with pytest.raises(DataError, match="has two columns called 'c7'"):
        from_pandas(frame, pd.DataFrame({"a": [0], "b": [0]}))
    assert time.monotonic() - start < 5
