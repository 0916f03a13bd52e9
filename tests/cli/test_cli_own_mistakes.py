"""Every mistake in somebody's tables gets one line with file, column and row, and code 2."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from own_tables import edge_lines, node_lines, text, without_pandas, write_tables

NODES, EDGES = text(node_lines()), text(edge_lines())
TABLES = "--nodes nodes.csv --edges edges.csv --label topic"


def refused(agnn: Any, here: Path, line: str) -> str:
    before = sorted(here.rglob("*"))
    answer = agnn(line)
    assert (answer.code, answer.out) == (2, ""), answer
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert sorted(here.rglob("*")) == before
    message: str = answer.err.removeprefix("error: ").rstrip()
    return message


BAD_NODES: dict[str, tuple[str | bytes, str]] = {
    "mixed types": (
        NODES.replace("p7,sport,27", "p7,sport,old"),
        "'nodes.csv', column 'age', row 8: 'old' is not a number, and the column has numbers in "
        "other rows. Fix it, treat the whole column as categories with `category` (--category age)",
    ),
    "infinite": (
        NODES.replace("p7,sport,27", "p7,sport,inf"),
        "'nodes.csv', column 'age', row 8: the value is infinite",
    ),
    "too large": (
        NODES.replace("p7,sport,27", "p7,sport,-1e308"),
        "'nodes.csv', column 'age', row 8: the value is -1e+308, too large to compute with.",
    ),
    "another id": (
        NODES.replace("id,topic", "who,topic").replace("p7,", "p6,"),
        "'nodes.csv', column 'who': the id 'p6' is in rows 7, 8. If another column holds the ids, "
        "name it as `node_id` (--id).",
    ),
    "id twice": (NODES.replace("p7,", "p6,"), "column 'id': the id 'p6' is in rows 7, 8."),
    "no id": (NODES.replace("p7,", ","), "column 'id': the id is missing in row 8."),
    "latin-1": (NODES.replace("p7", "ü").encode("latin-1"), "not UTF-8 text: row 8, byte 1 of"),
    "utf-16": (NODES.encode("utf-16"), "'nodes.csv' is not UTF-8 text"),
    "no bytes": ("", "'nodes.csv' is empty."),
    "no rows": ("id,topic,age\n", "'nodes.csv' has no rows."),
    "huge cell": (NODES + 'x,art,1,red,"' + "y" * 17 * 2**20 + '"\n', "row 61: a cell has more"),
    "huge row": (NODES + 'x,art,1,red,"' + "y\n" * 17 * 2**20 + '"\n', "a row of more than 16 MiB"),
    "gzip": (gzip.compress(NODES.encode()), "'nodes.csv' is compressed (gzip); unpack it first."),
    "no labels": (
        NODES.replace("art,", ",").replace("sport,", ","),
        "'nodes.csv', column 'topic': every row is empty; there is no label to learn from.",
    ),
    "one class": (NODES.replace("art,", "sport,"), "has one class, 'sport', in all 50 labelled"),
    "short row": (NODES + "p60,art\n", "'nodes.csv', row 61: 2 cells where the header has 5."),
    "open quote": (NODES + 'p60,art,1,"red\np61,art,1,red,x\n', "row 61: "),
    "same column": (NODES.replace("colour", "age"), "'nodes.csv' has two columns called 'age'"),
}


@pytest.mark.parametrize("case", BAD_NODES)
def test_a_bad_node_table_is_refused(agnn: Any, here: Path, case: str) -> None:
    content, said = BAD_NODES[case]
    (here / "edges.csv").write_text(EDGES)
    (here / "nodes.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert said in refused(agnn, here, f"train {TABLES}")


BAD_EDGES: dict[str, tuple[str, str]] = {
    "nowhere": (
        EDGES + "p3,zz\nqq,p4\n",
        "'edges.csv': 2 of 63 edges name an id that is not in 'nodes.csv', column 'id': row 62 "
        "'zz' in column 'target', row 63 'qq' in column 'source'. Add the nodes, or leave such "
        "edges out with `drop_unknown` (--drop-unknown)",
    ),
    "all nowhere": (EDGES.replace("p", ""), "No id is known: are these the right columns"),
    "no end": (EDGES + "p3,\n", "'edges.csv', column 'target', row 62: the id is missing."),
    "one column": ("source\np1\n", "'edges.csv' must have two columns of ids; it has 1."),
    "no rows": ("source,target\n", "'edges.csv' has no rows."),
    "weights": (
        "source,target,w\np0,p1,0.5\np1,p2,2\n",
        "'edges.csv', column 'w': numbers at the edges look like weights. Use them with "
        "`edge_weight` (--edge-weight w), or leave them out with `ignore_weights` "
        "(--ignore-weights)",
    ),
}


@pytest.mark.parametrize("case", BAD_EDGES)
def test_a_bad_edge_table_is_refused(agnn: Any, here: Path, case: str) -> None:
    content, said = BAD_EDGES[case]
    (here / "nodes.csv").write_text(NODES)
    (here / "edges.csv").write_text(content)
    assert said in refused(agnn, here, f"train {TABLES}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--nodes none.csv --edges edges.csv --label topic", "cannot read 'none.csv': No such"),
        ("--nodes . --edges edges.csv --label topic", "'.' is a folder; give a file."),
        ("--nodes nodes.csv --edges nodes.xlsx --label topic", "cannot read 'nodes.xlsx'"),
        ("--nodes nodes.csv --label topic", "--nodes goes with --edges"),
        ("--edges edges.csv --label topic", "--edges goes with --nodes"),
        (
            "--nodes nodes.csv --edges edges.csv",
            "name the column of 'nodes.csv' that holds the classes",
        ),
        (f"cora {TABLES}", "give 'cora' or --nodes and --edges, not both."),
        ("cora --label topic", "--label goes with --nodes and --edges, or with a graph file."),
        ("cora --id topic", "--id goes with --nodes and --edges"),
        ("nodes.csv", "'nodes.csv' is a table; give --nodes TABLE and --edges TABLE."),
        ("", "missing argument 'dataset'; or give --nodes and --edges."),
        (TABLES + "s", "unknown column of 'nodes.csv' 'topics'; did you mean 'topic'?"),
        (f"{TABLES} --id ident", "unknown column of 'nodes.csv' 'ident'; did you mean 'id'?"),
        (f"{TABLES} --text moto", "unknown column of 'nodes.csv' 'moto'; did you mean 'motto'?"),
        (f"{TABLES} --source form", "unknown column of 'edges.csv' 'form'"),
        (f"{TABLES} --source target --target target", "source and target are the same column"),
        (f"{TABLES} --id topic", "column 'topic' has two roles; give it one."),
        (f"{TABLES} --split-column colour", "column 'colour', rows 1, 2, 3 and 57 more: unknown"),
        (f"{TABLES} --split fixed", "unknown split 'fixed'"),
        (f"{TABLES} --device gpu", "unknown device 'gpu'"),
        (f"{TABLES} --backend nmba", "unknown backend 'nmba'"),
        ("--nodes nodes.csv --edges edges.csv --label age", "do not look like classes"),
        ("none.graphml --label x", "cannot read 'none.graphml': No such file"),
        ("none.npz --label x", "has its own labels and features"),
    ],
)
def test_a_wrong_option_is_named(agnn: Any, here: Path, options: str, said: str) -> None:
    write_tables(here)
    assert said in refused(agnn, here, f"train {options}")


def cut_short(path: Path) -> None:
    pd.DataFrame({"id": ["a"], "y": ["b"]}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])


def of_no_rows(path: Path) -> None:
    pd.DataFrame({"id": [], "y": []}).to_parquet(path)


def of_one_huge_word(path: Path) -> None:
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 4), pa.array(["x" * (17 * 2**20)]))
    pq.write_table(pa.table({"id": [1, 2, 3, 4], "y": word}), path)


def of_another_kind(path: Path) -> None:
    path.write_text(NODES)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (cut_short, "'n.parquet' is damaged, cut short or not a Parquet file"),
        (of_another_kind, "'n.parquet' is damaged, cut short or not a Parquet file"),
        (of_no_rows, "'n.parquet' has no rows."),
        (of_one_huge_word, "'n.parquet', column 'y', row 1: a cell has more than 16 MiB."),
    ],
)
def test_bad_parquet_is_refused(
    agnn: Any, here: Path, write: Callable[[Path], None], said: str
) -> None:
    write(here / "n.parquet")
    (here / "edges.csv").write_text(EDGES)
    assert said in refused(agnn, here, "train --nodes n.parquet --edges edges.csv --label y")


def test_a_table_larger_than_memory_is_not_opened(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(here)
    pd.DataFrame({"id": range(1000), "y": 0}).to_parquet(here / "n.parquet")
    np.savez(here / "big.npz", adj_data=np.zeros(10_000))
    monkeypatch.setattr("os.sysconf", lambda _: 20)  # 400 bytes
    for line in (TABLES, "big.npz"):
        assert "it is not opened." in refused(agnn, here, f"train {line}")
    monkeypatch.setattr("os.sysconf", lambda _: 100)  # 10,000 bytes: the edges fit
    line = "train --nodes n.parquet --edges edges.csv --label y"
    assert refused(agnn, here, line).startswith("'n.parquet' unpacks to")


def test_one_word_that_is_repeated_beyond_memory_is_not_written_out(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(here)
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 500), pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"id": pa.array(range(500)), "y": word}), here / "n.parquet")
    monkeypatch.setattr("os.sysconf", lambda _: 1000)  # a megabyte; the words are fifty
    line = "train --nodes n.parquet --edges edges.csv --label y"
    assert refused(agnn, here, line).startswith("'n.parquet' unpacks to")


def test_a_zip_in_place_of_a_table_is_not_opened(agnn: Any, here: Path) -> None:
    write_tables(here)
    with zipfile.ZipFile(here / "nodes.csv", "w") as archive:
        archive.writestr("nodes.csv", NODES)
    assert "is compressed (zip); unpack it first." in refused(agnn, here, f"train {TABLES}")


@pytest.mark.parametrize("content", ["<graphml><node", "hello", "<gexf/>"])
@pytest.mark.parametrize("end", ["graphml", "gexf"])
def test_a_damaged_graph_file_is_refused(agnn: Any, here: Path, end: str, content: str) -> None:
    (here / f"g.{end}").write_text(content)
    message = refused(agnn, here, f"train g.{end} --label x")
    assert message.startswith(f"'g.{end}' ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("p0 p1\np1 p2 p3 p4\n", "'e.edgelist' cannot be read as an edge list"),
        ("p0\np1\n", "'e.edgelist', row 1: an edge list has two ids per line"),
        ("# nothing\n", "'e.edgelist' has no rows."),
        ("p0 p1 1\np1 p2 2\n", "'e.edgelist', column 'weight': numbers at the edges"),
        ("p0 \udcff\n", "'e.edgelist' cannot be read as an edge list"),
        ("p" * 17 * 2**20, "'e.edgelist' has a line of more than 16 MiB."),
    ],
)
def test_a_bad_edge_list_is_refused(agnn: Any, here: Path, content: str, said: str) -> None:
    write_tables(here)
    (here / "e.edgelist").write_bytes(content.encode("utf-8", "surrogateescape"))
    line = "train --nodes nodes.csv --edges e.edgelist --label topic"
    assert said in refused(agnn, here, line)


def test_a_machine_without_the_extra_is_told_how_to_get_it(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pandas(monkeypatch)
    write_tables(here)
    assert refused(agnn, here, f"train {TABLES}").endswith("pip install 'agnn[tables]'.")
