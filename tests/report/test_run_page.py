"""The report of a run: complete, safe, alone, and readable without eyes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from page_reader import PageReader, assert_asks_for_nothing, assert_names_are_unique

from agnn.data import NodeData, Split
from agnn.decisions import calibrate_sets
from agnn.methods import get_method
from agnn.metrics import Summary
from agnn.report import render_figures, run_facts, run_figures, run_page
from agnn.report._node_facts import Absent
from agnn.report._sections import SECTIONS
from agnn.runs import evaluate
from agnn.tables import shown_text
from decisions.made_up_runs import folded_run

LONG = "long-" + "x" * 500
NAMES = ("<script>alert(1)</script>", "עברית", 'a "b" & $\\frac{$')


@pytest.fixture(scope="module")
def hostile(toy: NodeData) -> NodeData:
    """The toy under names that try to break out, to turn the page round and to stretch it."""
    kinds = ["<img src=x onerror=alert({})>", "מאמר {}", LONG + "{}", "a\u202e{}", "'\"{}&amp;"]
    ids = [kinds[i % 5].format(i) for i in range(toy.nodes)]
    labels = np.array(toy.labels)
    labels[:12] = -1
    first = toy.split("fixed")
    known = {part: nodes[labels[nodes] >= 0] for part, nodes in first.parts.items()}
    return NodeData.build(
        name="<b>my & data</b>", features=toy.features, labels=labels, edges=toy.edges,
        class_names=NAMES, node_ids=ids, splits={"fixed": Split("fixed", **known)},
    )  # fmt: skip


def facts_of(method, data, split="fixed", seeds=(0, 1, 2)):
    run = evaluate(method, data, split, seeds)
    return run_facts(run)


def page_of(facts) -> str:
    return run_page(facts, render_figures(run_figures(facts)))


@pytest.fixture(scope="module")
def facts(hostile):
    return facts_of(get_method("agnn")(epochs=6, layers=2), hostile)


@pytest.fixture(scope="module")
def figures(facts):
    return render_figures(run_figures(facts))


@pytest.fixture(scope="module")
def page(facts, figures) -> str:
    return run_page(facts, figures)


def test_names_are_text_and_never_markup(page):
    read = PageReader(page)
    tags = [tag for tag, _ in read.tags]
    assert not {"script", "img", "b"} & set(tags)
    assert "<script>alert(1)</script>" in read.text
    assert "<b>my & data</b>" in read.text
    assert "<img src=x onerror=alert(" in read.text
    assert "\u202e" not in page
    assert LONG not in page


def test_somebodys_names_keep_their_direction_to_themselves(page):
    assert re.search(r"<bdi>עברית</bdi>", page)
    assert re.search(r"<bdi>מאמר \d+</bdi>", page)
    outside = re.sub(r"<bdi>[^<]*</bdi>|<svg.*?</svg>|<figcaption>[^<]*</figcaption>", "", page,
                     flags=re.DOTALL)  # fmt: skip
    assert "עברית" not in outside


def test_the_page_loads_nothing_from_anywhere(page):
    assert_asks_for_nothing(page)
    assert not re.search(r'(src|href)="https?:', page)


def test_no_name_stands_twice(page):
    assert_names_are_unique(page)


def test_every_section_is_in_the_table_of_contents_and_has_a_heading(page):
    read = PageReader(page)
    links = [own["href"] for tag, own in read.tags if tag == "a"]
    assert links == [f"#{section.key}" for section in SECTIONS]
    headings = [own.get("id") for tag, own in read.tags if tag == "h2"]
    assert headings == ["contents", *(section.key for section in SECTIONS)]
    assert [tag for tag, _ in read.tags if tag == "h1"] == ["h1"]


def test_a_screen_reader_finds_words_for_figures_and_heads_of_tables(page):
    read = PageReader(page)
    figures = [own for tag, own in read.tags if tag == "svg"]
    assert len(figures) >= 8
    assert all(own["role"] == "img" and own["aria-label"] for own in figures)
    heads = [own for tag, own in read.tags if tag == "th"]
    assert heads
    assert all(own.get("scope") in ("row", "col") for own in heads)
    assert ("html", {"lang": "en"}) in read.tags


def test_light_dark_paper_and_phone_are_thought_of(page):
    for words in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem", "viewport"):
        assert words in page


def test_the_figures_of_the_page_are_the_facts(page, facts):
    text = PageReader(page).text
    assert f"{facts.accuracy.mean:.2f} % ± {facts.accuracy.standard_error:.2f}" in text
    low, high = facts.result.interval
    assert f"{facts.calibration.accuracy:.2f} % {low:.1f} to {high:.1f}" in text
    assert "standard error over n = 3 replicas" in text
    assert "95 % interval, for" in text
    row = facts.by_class[0]
    assert f"{row.replicas.mean:.1f} ± {row.replicas.standard_error:.1f}" in text
    assert f"{row.interval.low:.1f} to {row.interval.high:.1f}" in text
    top = facts.attention.layers[-1].ranking.top
    assert f"{100 * top.mean:.1f} ± {100 * top.standard_error:.1f}" in text
    assert facts.config["data"]["fingerprint"] in text


def test_the_confusion_matrix_has_counts_and_shares_of_the_row(page, facts):
    table = re.search(r'<table class="confusion">.*?</table>', page, re.DOTALL)[0]
    cells = re.findall(r'<td style="--share: ([\d.]+)"[^>]*>(?:<span class="soft">)?(\d+)', table)
    counts = facts.test.confusion()
    assert [int(count) for _, count in cells] == counts.ravel().tolist()
    shares = (counts / counts.sum(1, keepdims=True)).ravel()
    assert [float(share) for share, _ in cells] == pytest.approx(shares, abs=5e-4)


def test_nodes_without_a_label_have_their_own_tables(page):
    assert "Nodes without a label" in page
    assert "Of 12, 10 at either end" in PageReader(page).text


@pytest.mark.parametrize("name", ["gcn", "label_propagation", "dcnn"])
def test_what_a_method_does_not_have_is_one_sentence(name, hostile):
    method = get_method(name)()
    short = method.with_fields(epochs=3) if hasattr(method, "epochs") else method
    found = facts_of(short, hostile, seeds=(0,))
    page = page_of(found)
    assert found.attention.reason in PageReader(page).text
    assert page.count("<dt>Test accuracy") == 1  # that of one replica is that of the ensemble
    assert "95 % interval, for" in PageReader(page).text
    assert_asks_for_nothing(page)
    assert_names_are_unique(page)


def test_commands_in_the_result_and_the_warnings_are_code(facts, figures):
    result = replace(facts.result, better="agnn train --nodes <b>.csv --method ridge")
    warned = replace(facts, result=result, warnings=("Only 1 %: try `ridge`.",))
    page = run_page(warned, figures)
    whole = '<span class="whole">--nodes</span>'
    assert f"<li>better: <code>agnn train {whole} &lt;b&gt;.csv" in page
    assert "Only 1\u00a0%: try <code>ridge</code>." in page


def test_the_warnings_about_prediction_sets_are_on_the_page(facts, figures):
    rule = calibrate_sets(folded_run(nodes=90), 0.3)
    assert rule.warnings
    decisions = replace(facts.more["decisions"], sets=rule)
    warned = replace(facts, more={**facts.more, "decisions": decisions})
    text = PageReader(run_page(warned, figures)).text
    assert all(f"Warning: {warning}" in text for warning in rule.warnings)


def test_a_picture_says_what_replicas_predict_that_did_not_know_the_label(hostile):
    found = facts_of(get_method("agnn")(epochs=3, layers=1), hostile, "3-fold-cross-fit", (0,))
    captions = [caption for name, (_, caption) in run_figures(found).items() if "around_1" in name]
    row = found.surroundings[0].answer
    said = f"not trained on it predict {shown_text(row.answer)} ({100 * row.probability:.0f} %)"
    assert all(said in caption for caption in captions)


def test_folds_are_told_as_trials_and_their_optimism_too(hostile):
    method = get_method("agnn")(epochs=3, layers=1, watched="test", window=1)
    found = facts_of(method, hostile, "3-fold", (0, 1))
    text = PageReader(page_of(replace(found, surroundings=Absent("Not here.")))).text
    assert "over n = 2 trials of 3 folds" in text
    assert "chosen on the evaluated fold" in text
    assert "no validation nodes, so no temperature" in text
    assert "of the first of 6 different splits" in text


def test_a_run_without_test_nodes_has_a_page(facts, figures):
    untested = replace(facts.result, accuracy=None, interval=None)
    blank = replace(facts, result=untested, certainty=Absent("No test."))
    text = PageReader(run_page(blank, figures)).text
    assert text.count("The run has no test nodes") == 3
    assert "No test." in text


def test_an_older_folder_without_epochs_has_a_page_with_its_betas(facts, figures):
    page = run_page(replace(facts, training=Absent("No epochs were kept.")), figures)
    assert "No epochs were kept." in page
    assert "β of the kept weights" in page


def test_many_classes_leave_out_what_would_not_fit(toy):
    names = [f"class {k}" for k in range(70)]
    data = NodeData.build(
        name="many", features=toy.features, labels=np.arange(120) % 70, edges=toy.edges,
        class_names=names, splits={"fixed": Split("fixed", np.arange(70), [], np.arange(70, 120))},
    )  # fmt: skip
    method = get_method("agnn")(epochs=2, layers=1, watched="test", window=1)
    found = facts_of(method, data, seeds=(0,))
    page = page_of(replace(found, surroundings=Absent("Not here.")))
    assert "With 70 classes the whole table does not fit" in page
    assert len(page) < 1_000_000


def test_the_same_facts_give_the_same_page(facts, page):
    assert page_of(facts) == page


def test_the_strongest_and_weakest_relations_between_classes_are_named(page, facts):
    table = facts.attention.layers[-1].relevance
    pairs = [(table[i, j], i, j) for i in range(3) for j in range(3) if i != j]
    text = PageReader(page).text
    high, i, j = max(pairs)
    assert f"most: {NAMES[j]} → {NAMES[i]} ({high:+.2f})".replace("-", "\N{MINUS SIGN}") in text
    low, i, j = min(pairs)
    assert f"Least: {NAMES[j]} → {NAMES[i]} ({low:+.2f})".replace("-", "\N{MINUS SIGN}") in text


@pytest.mark.parametrize("edges", [np.zeros((2, 0), dtype=int), [[0] * 8, range(1, 9)]])
def test_a_graph_without_edges_between_labelled_nodes_has_a_page(edges):
    data = NodeData.build(
        name="sparse", features=np.eye(9), labels=[-1, 0, 1, 0, 1, 0, 1, 0, 1], edges=edges,
        class_names=("a", "b"), splits={"fixed": Split("fixed", [1, 2], [3, 4], [5, 6, 7, 8])},
    )  # fmt: skip
    page = page_of(facts_of(get_method("agnn")(epochs=2, layers=1), data, seeds=(0,)))
    assert "Too few edges join two labelled nodes" in page
    assert_asks_for_nothing(page)


def with_ranking(facts, top: list[float], everywhere: float):
    layer = facts.attention.layers[-1]
    ranking = replace(layer.ranking, top=Summary(top), everywhere=everywhere)
    layers = (*facts.attention.layers[:-1], replace(layer, ranking=ranking))
    return replace(facts, attention=replace(facts.attention, layers=layers))


@pytest.mark.parametrize(
    ("top", "everywhere", "words"),
    [
        ([0.70, 0.71], 0.81, "of the same class less often than edges in general (70.5 % against"),
        ([0.90, 0.91], 0.81, "of the same class more often than edges in general (90.5 %"),
        ([0.70, 0.90], 0.81, "of the same class about as often as edges in general (80.0 %"),
        ([0.70], 0.81, "70.0 % of the 100 most relevant edges join nodes of the same class, and"),
    ],
)
def test_what_attention_prefers_is_what_this_run_shows(facts, top, everywhere, words):
    found = with_ranking(facts, top, everywhere)
    found = replace(found, surroundings=Absent("Not here."))
    assert words in PageReader(page_of(found)).text


def test_the_heat_maps_of_all_layers_have_one_colour_scale(facts):
    layers = facts.attention.layers
    wide = replace(layers[0], layer=1, relevance=3 * layers[-1].relevance, ranking=None)
    both = replace(facts.attention, layers=(wide, replace(layers[-1], layer=2)))
    found = replace(facts, attention=both, surroundings=Absent("Not here."))
    drawn = run_figures(found)
    scales = {drawn[f"relevance_{t}"][0].axes[0].images[0].get_clim() for t in (1, 2)}
    assert len(scales) == 1
    tables = np.array([wide.relevance, layers[-1].relevance])
    end = np.nanmax(np.abs(tables))
    assert scales.pop() == pytest.approx((-end, end))  # zero in the middle
