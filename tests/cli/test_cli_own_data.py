"""`agnn train` and `agnn inspect` on somebody's own tables and graph files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from agnn import read_tables
from own_tables import edge_lines, node_lines, text, write_tables

SHORT = "--epochs 3 --replicas 2 --quiet"
TABLES = "--nodes nodes.csv --edges edges.csv --label topic"


@pytest.fixture
def tables(here: Path) -> Path:
    write_tables(here)
    return here


@pytest.mark.usefixtures("tables")
def test_training_on_tables_reports_on_the_data_first(agnn: Any) -> None:
    answer = agnn(f"train {TABLES} --text motto --epochs 3 --replicas 2")
    assert answer.code == 0
    first, _, last = answer.out.partition("AGNN+ on nodes, split 3-fold-cross-fit")
    assert "Split 3-fold-cross-fit: every replica trains on all labels but one fold" in first
    for words in ("60, all ids different", "nodes without an edge: 1 (p59)", "art 30, sport 20"):
        assert words in first
    assert "test accuracy" in last


@pytest.mark.usefixtures("tables")
def test_a_quiet_training_prints_its_result_and_no_report_on_the_data(agnn: Any) -> None:
    answer = agnn(f"train {TABLES} {SHORT}")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("AGNN+ on nodes, split 3-fold-cross-fit")


def test_inspect_says_each_thing_once_and_the_worst_first(agnn: Any, here: Path) -> None:
    rows = [f"{i},{'ab'[i % 2]},{'xy'[i % 2]},same,{i}.5,{i * i}" for i in range(120)]
    (here / "nodes.csv").write_text(text(["id,topic,copy,flat,size,row number", *rows]))
    (here / "edges.csv").write_text(text(["a,b", *(f"{i},{i + 1}" for i in range(110))]))
    answer = agnn(f"inspect {TABLES}")
    assert (answer.code, answer.err) == (0, "")
    shown = " ".join(answer.out.split())
    in_order = ["homophily", "nodes: number", "leak?", "nodes: left out", "look at", "note"]
    places = [shown.index(name) for name in in_order]
    assert places == sorted(places)
    for once in ("it is the same in every row", "--number 'row number'", "by its name"):
        assert shown.count(once) == 1, once


@pytest.mark.usefixtures("tables")
def test_json_carries_the_report_under_data(agnn: Any) -> None:
    answer = agnn(f"train {TABLES} {SHORT} --json")
    assert (answer.code, answer.err, answer.out.count("\n")) == (0, "", 1)
    found = json.loads(answer.out)
    data = read_tables(Path("nodes.csv"), Path("edges.csv"), label="topic")
    assert found["data"] == json.loads(json.dumps(data.report.to_dict()))
    assert (found["dataset"], found["split"]) == ("nodes", "3-fold-cross-fit")


@pytest.mark.usefixtures("tables")
def test_own_data_called_cora_has_the_defaults_not_cora_s_presets(agnn: Any) -> None:
    found = json.loads(agnn(f"train {TABLES} {SHORT} --json --name cora").out)
    assert found["dataset"] == "cora"
    assert found["method"] == "agnn_plus"
    assert found["hyper_parameters"]["layers"] == 4


def test_few_labels_are_cross_fitted_with_a_replica_per_fold(agnn: Any, here: Path) -> None:
    lines = node_lines()
    few = [line if i < 25 else line.replace("art", "").replace("sport", "") for i, line in
           enumerate(lines)]  # fmt: skip
    (here / "nodes.csv").write_text(text(few))
    (here / "edges.csv").write_text(text(edge_lines()))
    found = json.loads(agnn(f"train {TABLES} --epochs 3 --quiet --json").out)
    assert found["split"] == "10-fold-cross-fit"
    assert found["accuracy"]["n"] == 1
    assert len(found["seeds"]) == 10
    assert "note" not in found, "nothing was chosen by the tested fold"
    assert found["hyper_parameters"]["watched"] == "validation"


def test_the_split_column_decides_who_is_tested(agnn: Any, here: Path) -> None:
    write_tables(here)
    parts = ["part", *(["train"] * 30 + ["val"] * 15 + ["test"] * 15)]
    lines = [f"{line},{part}" for line, part in zip(node_lines(), parts, strict=True)]
    (here / "nodes.csv").write_text(text(lines))
    found = json.loads(agnn(f"train {TABLES} --split-column part {SHORT} --json").out)
    assert found["split"] == "fixed"
    # Every sixth person, from p5 on, has no label: 5, 3 and 2 of the 30, 15 and 15.
    assert found["data"]["splits"]["fixed"] == {"train": 25, "validation": 13, "test": 12}


@pytest.mark.usefixtures("tables")
def test_inspect_trains_nothing_and_needs_no_label(agnn: Any, monkeypatch: Any) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr("agnn.runs.Plan.train", never)
    answer = agnn("inspect --nodes nodes.csv --edges edges.csv --category age --ignore motto")
    assert (answer.code, answer.err) == (0, "")
    for words in ("nodes: category", "59 values; 1 missing", "cannot train", "has no labels"):
        assert words in answer.out
    found = json.loads(agnn(f"inspect {TABLES} --json").out)["data"]
    assert found["classes"] == {"art": 30, "sport": 20}
    assert json.loads(agnn("inspect cora --json").out)["data"]["nodes"] == 2708


@pytest.mark.parametrize("end", ["graphml", "gexf"])
def test_a_graph_file_is_data(agnn: Any, here: Path, end: str) -> None:
    graph = nx.relabel_nodes(nx.karate_club_graph(), str)
    nx.write_graphml(graph, here / "club.graphml")
    nx.write_gexf(graph, here / "club.gexf")
    line = f"train club.{end} --label club --ignore-weights {SHORT} --json --split stratified"
    found = json.loads(agnn(line).out)
    assert (found["dataset"], found["data"]["nodes"], found["data"]["edges"]) == ("club", 34, 78)
    assert found["data"]["classes"] == {"Mr. Hi": 17, "Officer": 17}


@pytest.mark.usefixtures("tables")
def test_a_run_on_tables_is_saved_and_its_folder_loads(agnn: Any, here: Path) -> None:
    from agnn import load_run

    assert agnn(f"train {TABLES} {SHORT} --out run").code == 0
    saved = load_run(here / "run")
    assert saved.data.class_names == ("art", "sport")
    assert saved.model is not None


@pytest.mark.usefixtures("tables")
def test_a_column_of_weights_is_trained_with_saved_and_asked_for(agnn: Any, here: Path) -> None:
    head, *rows = edge_lines()
    weighted = [f"{head},w", *(f"{row},{1 + k % 5}" for k, row in enumerate(rows))]
    (here / "edges.csv").write_text(text(weighted))
    answer = agnn(f"train {TABLES} --edge-weight w --method gat {SHORT} --out run")
    assert (answer.code, answer.err) == (0, "")
    assert "GAT does not use edge weights: every edge counts alike." in " ".join(answer.out.split())
    answer = agnn(f"train {TABLES} --edge-weight w --method agnn {SHORT} --out weighted --json")
    found = json.loads(answer.out)
    assert found["data"]["edge_weights"] == [1.0, 3.0, 5.0]
    assert not [words for words in found["warnings"] if "edge weights" in words]
    (here / "new.csv").write_text("id,age,colour,motto\nq1,40,red,paint\n")
    (here / "links.csv").write_text("source,target,w\nq1,p0,2.5\n")
    line = "predict weighted --nodes new.csv --edges"
    assert agnn(f"{line} links.csv --json").code == 0
    (here / "bare.csv").write_text("source,target\nq1,p0\n")
    answer = agnn(f"{line} bare.csv")
    assert answer.code == 2
    assert "has edge weights, so new edges need theirs. It has no column 'w'" in answer.err
    assert "Does not use edge weights." in agnn("methods gat").out


def test_the_default_says_what_held_out_labels_choose_between(agnn, here, monkeypatch):
    write_tables(here)
    monkeypatch.setattr("agnn.choosing._default._EPOCHS", (2, 2))
    answer = agnn("train --nodes nodes.csv --edges edges.csv --label topic --replicas 3")
    assert answer.code == 0
    words = " ".join(answer.out.split())
    assert "First, held-out labels choose between AGNN+, AGNN and APPNP." in words
    tried = re.findall(r"tried (\S+): log loss [\d.]+, the mean over 10 sets", answer.err)
    assert tried == ["AGNN+", "AGNN", "APPNP"]
