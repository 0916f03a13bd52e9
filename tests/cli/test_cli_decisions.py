"""`agnn predict` with decisions: sets, a class to act on, novelty."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agnn import get_method, read_tables
from agnn.runs import Run, evaluate, load_run, save_run
from own_tables import write_tables

NEW = "id,age,colour,motto\nq1,50,red,paint\nq2,51,blue,run and jump\n"
LINKS = "source,target\nq1,p0\nq2,q1\n"
pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decisions")
    data = read_tables(*write_tables(folder), label="topic", text="motto")
    method = get_method("gcn")(epochs=20)
    save_run(evaluate(method, data, "5-fold-cross-fit", (0,)), folder / "run")
    save_run(evaluate(method, data, "stratified", (0,)), folder / "three")
    return folder


@pytest.fixture
def place(here: Path, trained: Path) -> Path:
    shutil.copytree(trained / "run", here / "run")
    shutil.copytree(trained / "three", here / "three")
    (here / "new.csv").write_text(NEW)
    (here / "links.csv").write_text(LINKS)
    return here


@pytest.fixture
def run(place: Path) -> Run:
    return load_run(place / "run")


def test_sets_are_written_beside_the_predictions(agnn: Any, place: Path, run: Run) -> None:
    answer = agnn("predict run --coverage 0.8 --out sets.csv")
    assert (answer.code, answer.err) == (0, "")
    table = pd.read_csv(place / "sets.csv")
    sets = run.predict_set(0.8)
    expected = [" | ".join(names) or "none of the classes fits" for names in sets.sets]
    assert table["set"].tolist() == expected
    assert table["set_size"].tolist() == sets.sizes.tolist()
    assert "About 80 % of the sets hold the true class, if the nodes asked about" in answer.out
    assert "coverage %" in answer.out


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        ("--set-score daps", {"score": "daps"}),
        ("--by-class", {"by_class": True}),
        ("--calibrate-on test", {"calibrate_on": "test"}),
    ],
)
def test_options_of_sets_are_those_of_the_library(
    agnn: Any, run: Run, options: str, keywords: Any
) -> None:
    record = json.loads(agnn(f"predict run --coverage 0.7 {options} --json").out)
    sets = run.predict_set(0.7, **keywords)
    assert record["predictions"]["set"] == sets.sets
    assert record["decisions"]["sets"] == sets.rule.to_dict()
    assert record["decisions"]["warnings"] == list(sets.warnings)


def test_a_class_to_act_on_and_novelty_are_columns_too(agnn: Any, run: Run) -> None:
    line = "predict run --class art --recall 0.6 --novelty 0.2 --json"
    record = json.loads(agnn(line).out)
    threshold = run.choose_threshold("art", recall=0.6)
    assert record["decisions"]["threshold"] == threshold.to_dict()
    columns = record["predictions"]
    assert columns["act_on_art"] == threshold.acts_on(run.predict()).tolist()
    novelty = run.predict_novelty(0.2)
    assert columns["is_novel"] == novelty.is_novel.tolist()
    assert columns["novelty_p_value"] == novelty.p_values.tolist()
    costs = json.loads(agnn("predict run --class art --costs 1,2 --json").out)
    expected = run.choose_threshold("art", costs=(1.0, 2.0)).to_dict()
    assert costs["decisions"]["threshold"] == expected


def test_the_terminal_shows_sets_and_sentences(agnn: Any) -> None:
    answer = agnn("predict run --coverage 0.9 --class art --recall 0.6 --novelty 0.2")
    assert answer.code == 0
    for words in ("Act on 'art' from a probability of", "are flagged as novel", "is_novel"):
        assert words in answer.out.replace("is_no…", "is_novel")


def test_new_nodes_have_sets_and_novelty(agnn: Any) -> None:
    tables = "--nodes new.csv --edges links.csv"
    alone = json.loads(agnn(f"predict run {tables} --coverage 0.8 --json").out)
    both = json.loads(agnn(f"predict run {tables} --coverage 0.8 --novelty 0.2 --json").out)
    assert alone["predictions"]["id"] == ["q1", "q2"]
    assert alone["predictions"]["set"] == both["predictions"]["set"]
    assert len(both["predictions"]["novelty_p_value"]) == 2
    assert "label" not in both["predictions"]
    plain = json.loads(agnn(f"predict run {tables} --json").out)["predictions"]
    assert both["predictions"]["prediction"] == plain["prediction"]


def test_unlabelled_and_out_of_fold_nodes_keep_their_sets(agnn: Any, run: Run) -> None:
    sets = dict(zip(run.data.node_ids, run.predict_set(0.8).sets, strict=True))
    for option in ("--unlabelled", "--out-of-fold"):
        columns = json.loads(agnn(f"predict run --coverage 0.8 {option} --json").out)["predictions"]
        assert 0 < len(columns["id"]) < len(sets)
        assert columns["set"] == [sets[node_id] for node_id in columns["id"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--coverage 90", "`coverage` must be between 0 and 1, such as 0.9 for 90 %; got 90"),
        ("--coverage 0.999", "coverage 0.999 needs at least 999 labels to calibrate; there are"),
        ("--coverage 0.9 --set-score lax", "unknown score 'lax'; did you mean 'lac'?"),
        ("--by-class", "the score and by-class are for prediction sets; give their coverage, too"),
        ("--precision 0.9", "go with a class to act on (--class, `act_on`)"),
        ("--class art", "goes with one goal: precision, recall or costs"),
        ("--class arts --recall 0.9", "unknown class 'arts'; did you mean 'art'?"),
        ("--class art --costs 1", "--costs takes two numbers, of a false alarm and of a miss"),
        ("--novelty 0.001", "need at least 999 labels to calibrate"),
        ("--novelty 5", "`false_alarms` (--novelty) must be between 0 and 1, such as 0.05"),
        ("--coverage 0.9 --batch 5", "--batch goes without decisions"),
        ("--calibrate-on test", "none is asked for; leave out `calibrate_on`"),
        ("--coverage 0.9 --calibrate-on train", "`calibrate_on` takes 'test' or a list of ids"),
    ],
)
def test_mistakes_get_one_line(agnn: Any, options: str, words: str) -> None:
    answer = agnn(f"predict run {options}")
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


def test_a_run_of_three_parts_says_how_to_calibrate(agnn: Any) -> None:
    answer = agnn("predict three --coverage 0.5")
    assert answer.code == 2
    assert "--split cross-fit" in answer.err
    assert "--calibrate-on test" in answer.err
    assert agnn("predict three --coverage 0.5 --calibrate-on test --json").code == 0
