"""What the explorer answers: every number against the definition, every refusal a sentence."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.explanation import (
    Margin,
    Neighbourhood,
    Removal,
    explain,
    without_edges,
)
from agnn.explanation._reach import layer_weights
from agnn.explanation._relevance import class_relevance, edge_relevance
from agnn.methods import NetworkMethod, get_method, method_names
from agnn.runs import Run, evaluate, load_run
from agnn.web._asgi import Application
from agnn.web.explore import Explorer, explore_app
from explore_runs import ALONE, CLASSES, HUB, NODES, SCRIPT_ID, explored_data, write_run
from properties import as_matrix

TARGET = 100


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    return [load_run(write_run(folder / name, name)) for name in ("agnn", "gcn")]


@pytest.fixture(scope="module")
def app(runs: list[Run]) -> Application:
    return explore_app(Explorer(runs))


@pytest.fixture
def get(app: Application, ask: Any) -> Any:
    """Asks the explorer, with both runs, for what is under /api."""

    def got(name: str, status: int = 200, **parameters: Any) -> Any:
        response = ask(app, "GET", f"/api/{name}", params=parameters)
        assert response.status_code == status, response.text
        # JSON itself has no NaN, though Python's reader takes it.
        return json.loads(response.text, parse_constant=lambda word: pytest.fail(word))

    return got


def dense(run: Run, layer: int, replica: int | None) -> np.ndarray:
    """P of a layer as a matrix, of a replica or the mean; [n, n]."""
    weights = layer_weights(run.network, run.whole_view())[layer]
    matrices = as_matrix(run.graph, weights).double().numpy()
    return matrices.mean(0) if replica is None else matrices[replica]


def product(run: Run, replica: int) -> np.ndarray:
    """P(3) P(2) P(1) of a replica; [n, n]."""
    first, second, third = (dense(run, layer, replica) for layer in range(3))
    return third @ second @ first


def test_the_page_says_what_is_in_the_runs(get: Any, runs: list[Run]) -> None:
    about = get("about")
    assert about["data"] == "papers"
    assert about["nodes"] == NODES
    assert about["edges"] == runs[0].data.edges.shape[1]
    assert [each["name"] for each in about["classes"]] == [*CLASSES, "no label"]
    assert [each["title"] for each in about["runs"]] == ["AGNN", "GCN"]
    assert [each["layers"] for each in about["runs"]] == [3, 2]
    assert [each["replicas"] for each in about["runs"]] == [3, 3]
    assert about["runs"][0]["accuracy"]["mean"] == runs[0].accuracy.mean
    start = runs[0].node(about["start"])  # two runs: where they differ most clearly
    assert len({int(run.probabilities[start].argmax()) for run in runs}) == 2


@pytest.mark.parametrize("replica", [None, 0, 2])
def test_the_shares_are_rows_of_the_attention_matrices(
    get: Any, runs: list[Run], replica: int | None
) -> None:
    parameters = {"node": f"paper {TARGET}", "hops": 3, "limit": 600}
    around = get("around", **parameters, **({} if replica is None else {"replica": replica}))
    side = around["sides"][0]
    nodes = [each["index"] for each in side["nodes"]]
    each_layer = [dense(runs[0], layer, replica)[TARGET] for layer in range(3)]
    of_replica = [product(runs[0], r)[TARGET] for r in range(3)]
    # All layers: the mean of the replicas' products, which is no product of means.
    row = np.mean(of_replica, axis=0) if replica is None else of_replica[replica]
    expected = np.stack([row, *each_layer])[:, nodes]
    found = np.array([each["share"] for each in side["nodes"]]).T
    assert found == pytest.approx(expected, abs=6e-6)
    assert side["elsewhere"] == pytest.approx(1 - row[nodes].sum(), abs=2e-6)


@pytest.mark.parametrize("side", [0, 1])
def test_links_hold_attention_and_relevance_both_ways(get: Any, runs: list[Run], side: int) -> None:
    found = get("around", node=f"paper {TARGET}", hops=2, limit=600)["sides"][side]
    index = [each["index"] for each in found["nodes"]]
    hop = [each["hop"] for each in found["nodes"]]
    graph = runs[side].graph
    size = graph.degrees.numpy() + 1
    matrices = [dense(runs[side], layer, None) for layer in range(runs[side].network.hops)]
    assert found["links"]
    for link in found["links"]:
        a, b = link["ends"]
        for way, (receiver, sender) in enumerate([(a, b), (b, a)]):
            for layer, matrix in enumerate(matrices):
                attention = link["attention"][way][layer]
                if hop[receiver] > len(matrices) - 1 - layer:  # no row there bears on it
                    assert attention is None
                    continue
                i, j = index[receiver], index[sender]
                expected = matrix[i, j]
                assert attention == pytest.approx(expected, abs=6e-6)
                relevance = link["relevance"][way][layer]
                assert relevance == pytest.approx(expected * size[i] - 1, abs=1e-4)


def test_what_crosses_an_edge_is_the_used_part_of_the_receiver_times_its_attention(
    get: Any, runs: list[Run]
) -> None:
    side = get("around", node=f"paper {TARGET}", hops=3, limit=600, replica=1)["sides"][0]
    index = [each["index"] for each in side["nodes"]]
    matrices = [dense(runs[0], layer, 1) for layer in range(3)]
    used = [np.eye(NODES)[TARGET] @ matrices[2] @ matrices[1], matrices[2][TARGET]]
    used.append(np.eye(NODES)[TARGET])  # of the states after layers 1, 2 and 3
    for link in side["links"]:
        a, b = (index[end] for end in link["ends"])
        each = [u[a] * P[a, b] + u[b] * P[b, a] for u, P in zip(used, matrices, strict=True)]
        assert link["crossing"] == pytest.approx([sum(each), *each], abs=7e-6)


def test_only_replicas_that_both_runs_have_are_shown(runs: list[Run], ask: Any) -> None:
    short = evaluate(get_method("gcn")(epochs=5), explored_data(), "fixed", seeds=range(2))
    app = explore_app(Explorer([runs[0], short]))

    def around(replica: int) -> Any:
        return ask(app, path="/api/around", params={"node": "paper 7", "replica": replica})

    found = around(1).json()["sides"]
    for side, scores in zip(found, (runs[0].scores, short.scores), strict=True):
        assert side["probabilities"] == pytest.approx(scores[1, 7].tolist(), abs=1e-6)
    assert around(2).status_code == 422
    assert around(2).json() == {"error": "`replica` must be from 0 to 1; got 2."}


def test_nodes_carry_the_answers_of_the_run_or_of_one_replica(get: Any, runs: list[Run]) -> None:
    mean = get("around", node=f"paper {TARGET}")["sides"]
    single = get("around", node=f"paper {TARGET}", replica=2)["sides"]
    for run, of_mean, of_one in zip(runs, mean, single, strict=True):
        for side, values in ((of_mean, run.probabilities), (of_one, run.scores[2].numpy())):
            assert side["probabilities"] == pytest.approx(values[TARGET].tolist(), abs=1e-6)
            for node in side["nodes"]:
                own = values[node["index"]]
                assert node["answer"] == own.argmax()
                assert node["confidence"] == pytest.approx(own.max(), abs=6e-6)
                assert node["id"] == run.data.node_ids[node["index"]]
                assert node["label"] == run.data.labels[node["index"]]
                assert node["is_train"] == (node["index"] in run.split.train)


def test_a_node_stands_in_the_same_place_in_both_pictures(get: Any) -> None:
    first, second = get("around", node=f"paper {HUB}", limit=40)["sides"]
    place = {each["index"]: each["place"] for each in first["nodes"]}
    shared = [each for each in second["nodes"] if each["index"] in place]
    assert len(shared) > 5
    assert all(each["place"] == place[each["index"]] for each in shared)
    assert first["nodes"][0]["place"] == [0, 0]


def test_a_hub_shows_some_and_counts_the_rest(get: Any, runs: list[Run]) -> None:
    few = get("around", node=f"paper {HUB}", hops=1, limit=20)["sides"][0]
    everyone = get("around", node=f"paper {HUB}", hops=1, limit=600)["sides"][0]
    degree = int(runs[0].graph.degrees[HUB])
    assert degree > 80
    assert len(few["nodes"]) == 20
    assert few["left_out"] == degree + 1 - 20
    assert len(everyone["nodes"]) == degree + 1
    assert few["is_hub"]
    groups = Neighbourhood.of(
        runs[0], HUB, runs[0].split, hops=1, limit=20, lead=Margin.of(runs[0], HUB)
    ).attention_groups
    assert few["attention_groups"] == [
        {"name": group.name, "value": pytest.approx(group.value, abs=1e-5)} for group in groups
    ]
    one = get("around", node=f"paper {HUB}", hops=1, limit=20, replica=0)["sides"][0]
    assert one["attention_groups"] == []
    # Attention and contribution count alike for the choice.
    found = Margin.of(runs[0], HUB)
    whole, added = np.abs(found.added).sum(), dict(zip(found.nodes, found.added, strict=True))
    near = sum(each["share"][0] for each in everyone["nodes"])
    worth = {
        each["index"]: each["share"][0] / near + abs(added[each["index"]]) / whole
        for each in everyone["nodes"][1:]
    }
    best = sorted(worth.values(), reverse=True)[:19]
    shown = [worth[each["index"]] for each in few["nodes"][1:]]
    assert shown == pytest.approx(best, abs=1e-4)  # shares are rounded


def test_a_node_alone_is_all_there_is(get: Any) -> None:
    side = get("around", node=f"paper {ALONE}")["sides"][0]
    assert [each["share"] for each in side["nodes"]] == [[1, 1, 1, 1]]
    assert side["links"] == []


def test_without_edges_is_asked_of_both_runs(get: Any, runs: list[Run]) -> None:
    graph = runs[0].graph
    neighbours = graph.senders[graph.offsets[TARGET] : graph.offsets[TARGET + 1]].tolist()
    pairs = [(TARGET, neighbours[0]), (neighbours[1], TARGET)]
    written = ",".join(f"{i}-{j}" for i, j in pairs)
    found = get("around", node=f"paper {TARGET}", without=written)["sides"]
    for side, run in zip(found, runs, strict=True):
        assert side["before"] == pytest.approx(run.probabilities[TARGET].tolist(), abs=1e-6)
        expected = without_edges(run, TARGET, pairs)
        assert side["probabilities"] == pytest.approx(expected.tolist(), abs=1e-6)
        assert np.abs(expected - run.probabilities[TARGET]).max() > 1e-4


def test_the_differences_are_all_nodes_with_two_answers(get: Any, runs: list[Run]) -> None:
    found = get("cohort", key="differ")
    one, two = (run.probabilities for run in runs)
    differ = [k for k in range(NODES) if one[k].argmax() != two[k].argmax()]
    assert len(differ) > 3, "the test needs runs that differ"
    assert sorted(found["nodes"]) == differ
    assert found["count"] == len(differ)
    variation = [0.5 * np.abs(one[k] - two[k]).sum() for k in found["nodes"]]
    assert variation == sorted(variation, reverse=True)
    labels = runs[0].data.labels
    for key, own, other in (("only-0", one, two), ("only-1", two, one)):
        nodes = get("cohort", key=key)["nodes"]
        assert nodes == [
            k for k in found["nodes"] if own[k].argmax() == labels[k] != other[k].argmax()
        ]


def test_the_cells_are_equation_8(get: Any, runs: list[Run]) -> None:
    run = runs[0]
    weights = layer_weights(run.network, run.whole_view())
    found = get("relevance", run=0)["layers"]
    for cells, weight in zip(found, weights, strict=True):
        expected = class_relevance(run.graph, weight, run.data.labels, 3).numpy()
        assert np.array(cells, dtype=float) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("receiver", "sender"), [(0, 1), (2, 2)])
def test_a_cell_lists_its_most_relevant_edges(
    get: Any, runs: list[Run], receiver: int, sender: int
) -> None:
    run = runs[0]
    graph, labels = run.graph, run.data.labels
    weights = layer_weights(run.network, run.whole_view())[1]
    relevance = edge_relevance(graph, weights).edges.mean(0).numpy()
    ends = zip(graph.receivers.tolist(), graph.senders.tolist(), relevance, strict=True)
    inside = [(r, i, j) for i, j, r in ends if (labels[i], labels[j]) == (receiver, sender)]
    found = get("cell", run=0, layer=2, receiver=receiver, sender=sender)
    assert found["count"] == len(inside)
    best = sorted(inside, reverse=True)[:50]
    assert found["relevance"] == pytest.approx([r for r, _, _ in best], abs=1e-6)
    listed = zip(found["receivers"], found["senders"], found["relevance"], strict=True)
    known = {(i, j): r for r, i, j in inside}
    for to, by, value in listed:
        assert known[run.node(to), run.node(by)] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "parameters", "status", "sentence"),
    [
        ("around", {"node": "paper x"}, 404, "'papers' has no node 'paper x'; near it: 'paper "),
        ("change", {"node": "nobody"}, 404, "'papers' has no node 'nobody'"),
        ("around", {"node": "paper 1", "hops": 9}, 422, "`hops` must be at most 8."),
        ("around", {"node": "paper 1", "limit": 0}, 422, "`limit` must be at least 1."),
        ("around", {"node": "paper 1", "limit": 601}, 422, "`limit` must be at most 600."),
        ("around", {"node": "paper 1", "replica": 3}, 422, "`replica` must be from 0 to 2; got 3."),
        ("around", {}, 422, "`node` is missing."),
        ("around", {"node": "paper 1", "hops": "two"}, 422, "`hops` must be a whole number."),
        ("around", {"node": "paper 1", "without": "1-x"}, 422, "must look like 12-40,12-77; got"),
        ("around", {"node": "paper 1", "without": "0-1"}, 422, "the edge 0 - 1 is named, which"),
        ("relevance", {"run": 2}, 422, "`run` must be from 0 to 1; got 2."),
        ("cell", {"receiver": 0, "sender": 3, "layer": 1}, 422, "`sender` must be from 0 to 2"),
        ("cell", {"receiver": 0, "sender": 0, "layer": 4}, 422, "`layer` must be from 1 to 3"),
        ("search", {"q": "x" * 501}, 422, "`q` has more than 500 characters."),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(
    get: Any, name: str, parameters: dict[str, Any], status: int, sentence: str
) -> None:
    refusal = get(name, status, **parameters)
    assert list(refusal) == ["error"]
    assert sentence in refusal["error"]


def test_a_search_finds_ids_and_classes(get: Any) -> None:
    found = get("search", q="SCRIPT")
    assert [each["id"] for each in found["nodes"]] == [SCRIPT_ID]
    assert found["is_all"]
    green = get("search", q="green")
    assert {each["label"] for each in green["nodes"]} == {1}
    assert len(green["nodes"]) == 20
    assert not green["is_all"]


def test_cohorts_are_what_their_sentences_say(get: Any, runs: list[Run]) -> None:
    run = runs[0]
    about = {each["key"]: each["count"] for each in get("about")["cohorts"]}
    ranked, labels = np.sort(run.probabilities, 1), run.data.labels
    lead = ranked[:, -1] - ranked[:, -2]
    is_open = np.ones(NODES, dtype=bool)
    is_open[run.split.train] = False
    is_wrong = is_open & (labels >= 0) & (run.probabilities.argmax(1) != labels)
    shares = (run.scores.argmax(-1).numpy() != run.probabilities.argmax(1)).mean(0)
    wanted = {
        "wrong": is_wrong,
        "sure-wrong": is_wrong & (lead >= 0.6),
        "unsure": is_open & (lead < 0.2),
        "disagree": is_open & (shares >= 0.3),
    }
    for key, is_in in wanted.items():
        found = get("cohort", key=key)
        assert sorted(found["nodes"]) == np.flatnonzero(is_in).tolist()
        assert found["count"] == about[key] == is_in.sum()
    near = np.zeros(NODES, dtype=bool)
    near[run.split.train] = True
    adjacency = np.zeros((NODES, NODES), dtype=bool)
    adjacency[run.graph.receivers, run.graph.senders] = True
    for _ in range(3):  # as many hops as layers
        near |= adjacency @ near
    assert sorted(get("cohort", key="far")["nodes"]) == np.flatnonzero(~near).tolist()
    confusion = np.array(get("about")["confusion"])
    assert confusion.sum() == (is_open & (labels >= 0)).sum()
    assert confusion.sum() - np.trace(confusion) == is_wrong.sum()
    cell = get("cohort", key="cell-0-1")
    assert cell["count"] == confusion[0, 1]


def test_the_confusion_of_a_cross_fitted_run_is_that_of_models_without_the_label(
    tmp_path: Path,
) -> None:
    run = load_run(write_run(tmp_path / "run", "gcn", "3-fold-cross-fit"))
    explorer = Explorer([run])
    confusion = np.array(explorer.about()["confusion"])
    assert confusion.sum() == run.data.labelled.size
    right = 100 * np.trace(confusion) / confusion.sum()
    assert right == pytest.approx(run.calibration.accuracy)
    cell = explorer.cohort("cell-0-1")
    assert cell["count"] == confusion[0, 1]
    assert "not trained on the label" in cell["about"]
    (wrong,) = (each for each in explorer.about()["cohorts"] if each["key"] == "wrong")
    assert "some models were trained on it" in wrong["about"]


def test_the_map_is_kept_with_the_run_and_made_again_if_it_does_not_fit(
    runs: list[Run], tmp_path: Path
) -> None:
    from agnn.web.explore._node_map import FILE, chosen_nodes, node_map

    folder = tmp_path / "run"
    runs[0].save(folder)
    run = load_run(folder)
    first = node_map(run)
    assert chosen_nodes(run).tolist() == list(range(NODES))
    assert first.places.shape == (NODES, 2)
    assert 0 <= first.places.min() <= first.places.max() <= 1
    kept = (folder / FILE).read_bytes()
    again = node_map(load_run(folder))  # the folder is still a run's
    assert np.array_equal(again.places, first.places)
    (folder / FILE).write_bytes(kept[: len(kept) // 2])
    assert np.array_equal(node_map(run).places, first.places)
    other = node_map(runs[1])
    assert not np.array_equal(other.places, first.places)


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": np.zeros(NODES, np.int64)},
        {"nodes": np.arange(NODES)[::-1]},
        {"nodes": np.arange(NODES).astype(float)},
        {"nodes": np.arange(NODES).astype("datetime64[s]")},
        {"nodes": np.arange(NODES + 5)},
        {"places": np.full((NODES, 2), "a")},
        {"places": np.zeros((NODES, 2), [("x", "f4")])},
        {"places": np.zeros((NODES, 2), "timedelta64[s]")},
        {"places": np.zeros((NODES, 2), np.complex64)},
        {"places": np.full((NODES, 2), np.nan)},
        {"places": np.zeros((NODES, 3))},
        {"how": np.zeros(10**6)},
        {"more": np.zeros(10**7)},
        {"of": np.array(["x"])},
    ],
    ids=str,
)
def test_a_strangers_map_is_laid_out_again(
    runs: list[Run], tmp_path: Path, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agnn.web.explore import _node_map

    folder = tmp_path / "run"
    runs[0].save(folder)
    run = load_run(folder)
    first = _node_map.node_map(run)
    with np.load(folder / "map.npz") as kept:
        arrays = dict(kept)
    np.savez_compressed(folder / "map.npz", **(arrays | change))
    laid_out = []
    real = _node_map._layout
    monkeypatch.setattr(_node_map, "_layout", lambda rows: (laid_out.append(1), real(rows))[1])
    again = _node_map.node_map(run)
    assert laid_out, "the file was believed"
    assert np.array_equal(again.nodes, first.nodes)
    assert np.array_equal(again.places, first.places)


def test_a_pipe_and_an_endless_header_in_place_of_the_map_are_not_read(
    runs: list[Run], tmp_path: Path
) -> None:
    from agnn.web.explore._node_map import node_map

    folder = tmp_path / "run"
    runs[0].save(folder)
    run = load_run(folder)
    os.mkfifo(folder / "map.npz")
    first = node_map(run)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": (10**12,)}
    )
    with zipfile.ZipFile(folder / "map.npz", "w") as archive:
        archive.writestr("nodes.npy", header.getvalue())
    assert np.array_equal(node_map(run).places, first.places)
    (folder / "map.npz").write_bytes(header.getvalue())
    assert np.array_equal(node_map(run).places, first.places)


def test_runs_on_other_data_are_not_compared(runs: list[Run], toy: NodeData) -> None:
    other = evaluate(get_method("gcn")(epochs=2), toy, "fixed", seeds=[0])
    with pytest.raises(InputError, match="both runs must have the same data; 'papers' and 'toy'"):
        Explorer([runs[0], other])


@pytest.mark.parametrize(
    ("method", "sentence"),
    [("label_propagation", "has no trained network"), ("dcnn", "DCNN cannot be explained")],
)
def test_a_run_without_readable_matrices_is_refused_at_the_start(
    method: str, sentence: str
) -> None:
    made = get_method(method)
    fields = {"epochs": 2} if method == "dcnn" else {}
    run = evaluate(made(**fields), explored_data(), "fixed", seeds=[0])
    with pytest.raises(InputError, match=sentence):
        Explorer([run]).prepare()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/static/explore.js", "text/javascript"),
        ("/static/explore.css", "text/css"),
        ("/static/icon.svg", "image/svg+xml"),
    ],
)
def test_the_files_of_the_page_are_served_under_a_strict_policy(
    app: Application, ask: Any, path: str, kind: str
) -> None:
    response = ask(app, path=path)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith(kind)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_no_file_of_the_page_names_another_site() -> None:
    static = Path(explore_app.__code__.co_filename).parent / "static"
    namespaces = ("http://www.w3.org/2000/svg",)
    for path in static.iterdir():
        text = path.read_text(encoding="utf-8")
        for name in namespaces:
            text = text.replace(name, "")
        assert "://" not in text, path.name
        assert "innerHTML" not in text, path.name


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/app.py"])
def test_nothing_outside_the_page_s_folder_is_served(app: Application, ask: Any, path: str) -> None:
    assert ask(app, path=path).status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 400),
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "localhost:8000", "origin": "http://localhost:8000"}, 200),
    ],
)
def test_other_hosts_and_other_sites_are_refused(
    app: Application, ask: Any, headers: dict[str, str], status: int
) -> None:
    assert ask(app, path="/api/about", headers=headers).status_code == status


NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_run_of_any_network_is_shown_or_refused_with_the_reason(name: str) -> None:
    run = evaluate(get_method(name)(epochs=2), explored_data(), "fixed", seeds=[0, 1])
    reason = None
    try:
        explain(run, HUB, limit=1)
    except InputError as error:
        reason = str(error)
    if reason is not None:
        with pytest.raises(InputError, match="cannot be explained"):
            Explorer([run]).prepare()
        return
    explorer = Explorer([run])
    explorer.prepare()
    side = explorer.around(HUB, hops=2, limit=30, replica=1)["sides"][0]
    assert sum(side["probabilities"]) == pytest.approx(1.0, abs=1e-5)
    assert len(explorer.class_map(0).relevance) == explorer.about()["runs"][0]["layers"]


def test_contributions_are_those_of_the_margin_in_every_run(get: Any, runs: list[Run]) -> None:
    sides = get("around", node=f"paper {TARGET}", hops=2, limit=600, replica=1)["sides"]
    for side, run in zip(sides, runs, strict=True):
        found = Margin.of(run, TARGET, replica=1)
        added = dict(zip(found.nodes.tolist(), found.added, strict=True))
        for each in side["nodes"]:
            assert each["contribution"] == pytest.approx(added[each["index"]], abs=6e-5)
        assert side["why"]["total"] == pytest.approx(found.total, abs=6e-5)
        others = sum(each["value"] for each in side["why"]["by_class"])
        assert others == pytest.approx(found.added[1:].sum(), abs=1e-4)
        assert sum(each["nodes"] for each in side["why"]["by_class"]) == found.nodes.size - 1


def test_the_effect_of_a_removal_is_what_the_prediction_loses(get: Any, runs: list[Run]) -> None:
    pairs = [(TARGET, int(j)) for j in runs[0].graph.columns[
        runs[0].graph.offsets[TARGET] : runs[0].graph.offsets[TARGET + 1]
    ]]  # fmt: skip
    words = ",".join(f"{i}-{j}" for i, j in pairs)
    found = get("removals", node=f"paper {TARGET}", edges=words)["effects"]
    for effects, run in zip(found, runs, strict=True):
        answer = int(run.probabilities[TARGET].argmax())
        before = run.probabilities[TARGET][answer]
        wanted = [before - without_edges(run, TARGET, [pair])[answer] for pair in pairs]
        assert effects == pytest.approx(wanted, abs=2e-6)
        assert Removal(run, TARGET).effects(pairs) == pytest.approx(wanted, abs=1e-6)
