"""Label mode without a browser: labels are kept, trainings run beside the page, guards hold."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agnn.runs import LabelFile, accuracy_before_and_after, load_run, read_labels, retrain
from agnn.web._asgi import Application
from agnn.web.explore import Explorer, Labelling, explore_app
from explore_runs import CLASSES, SCRIPT, SCRIPT_ID, write_run

PATIENCE = 300.0  # seconds: a loaded machine is slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("label") / "run", "gcn")


@pytest.fixture
def labelling(folder: Path, tmp_path: Path) -> Iterator[Labelling]:
    explorer = Explorer([load_run(folder)])
    explorer.prepare()
    made = Labelling(
        explorer, folder, tmp_path / "run.labels.jsonl", tmp_path / "run-labelled",
        trust_unchecked=False,
    )  # fmt: skip
    yield made
    made.close()


@pytest.fixture(name="ask")
def _ask(ask: Any, labelling: Labelling) -> Callable[..., Any]:
    """Ask with the token, as the page does."""

    def asked(*words: Any, headers: dict[str, str] | None = None, **options: Any) -> Any:
        token = {"authorization": f"Bearer {labelling.token}"}
        return ask(*words, headers=token | (headers or {}), **options)

    return asked


@pytest.fixture
def app(labelling: Labelling) -> Application:
    return explore_app(labelling.explorer, labelling)


@pytest.fixture
def post(app: Application, ask: Any) -> Callable[..., Any]:
    def posted(name: str, status: int = 200, **body: Any) -> Any:
        response = ask(app, "POST", f"/api/{name}", json=body)
        assert response.status_code == status, response.text
        return response.json()

    return posted


@pytest.fixture
def get(app: Application, ask: Any) -> Callable[..., Any]:
    def got(name: str, **parameters: Any) -> Any:
        response = ask(app, "GET", f"/api/{name}", params=parameters)
        assert response.status_code == 200, response.text
        return json.loads(response.text, parse_constant=lambda word: pytest.fail(word))

    return got


def finished(get: Callable[..., Any]) -> dict[str, Any]:
    """The training once it has ended."""
    end = time.monotonic() + PATIENCE
    while (now := get("training"))["is_running"]:
        assert time.monotonic() < end, "it never ended"
        time.sleep(0.05)
    return now


def test_a_label_is_in_the_file_when_the_answer_comes(
    get: Any, post: Any, labelling: Labelling
) -> None:
    assert get("about")["is_labelling"] is True
    assert get("labels")["nodes"] == []
    found = post("labels", nodes=[7, SCRIPT], label=2)
    path, data = labelling.file.path, labelling.run.data
    assert read_labels(path, data) == {7: 2, SCRIPT: 2}
    assert (found["nodes"], found["classes"]) == ([7, SCRIPT], [2, 2])
    assert found["latest"][0] == {
        "label": 2, "count": 2, "index": 7, "id": "paper 7", "name": "paper 7"
    }  # fmt: skip
    post("labels", nodes=[7], label=0)
    assert get("labels")["classes"] == [0, 2]
    assert post("labels/undo")["classes"] == [2, 2]
    assert read_labels(path, data) == {7: 2, SCRIPT: 2}
    post("labels/undo")
    assert "there is no label to undo" in post("labels/undo", 422)["error"]


def test_labels_are_a_table_that_retrain_reads(
    app: Application, ask: Any, post: Any, labelling: Labelling, tmp_path: Path
) -> None:
    post("labels", nodes=[SCRIPT, 3], label=2)
    response = ask(app, "GET", "/api/labels.csv")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="run.labels.csv"'
    rows = list(csv.reader(io.StringIO(response.text)))
    assert rows == [["id", "class"], ["paper 3", CLASSES[2]], [SCRIPT_ID, CLASSES[2]]]
    (tmp_path / "labels.csv").write_text(response.text)
    assert read_labels(tmp_path / "labels.csv", labelling.run.data) == {SCRIPT: 2, 3: 2}


@pytest.mark.slow
def test_training_runs_beside_the_page_and_the_page_then_shows_the_new_run(
    get: Any, post: Any, labelling: Labelling, folder: Path, tmp_path: Path
) -> None:
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    about, points = get("about"), get("map")
    test = labelling.run.split.test[:12].tolist()
    labels = {node: int(labelling.run.data.labels[node]) for node in test}
    for node, label in labels.items():
        post("labels", nodes=[node], label=label)
    assert post("training", action="start")["is_running"]
    assert "under way already" in post("training", 409, action="start")["error"]
    assert get("around", node="paper 100")["sides"], "answered while it trains"
    post("labels", nodes=labelling.run.split.test[12:14].tolist(), label=0)  # for the next training
    now = finished(get)
    assert now["result"]["labels"] == 12
    assert (now["said"], now["shown"], now["version"]) == (None, "retrained", 1)
    written = load_run(tmp_path / "run-labelled")
    expected = retrain(labelling.run, labels)
    assert written.scores.sub(expected.scores).abs().max() < 1e-5
    first, second = accuracy_before_and_after(labelling.run, expected)
    found = [each["mean"] for each in now["result"]["accuracy"]]
    assert found == pytest.approx([first.mean, second.mean])
    assert now["result"]["test"] == labelling.run.split.test.size - 12
    wrong = next(each for each in about["cohorts"] if each["key"] == "wrong")
    again = get("about")
    changed = next(each for each in again["cohorts"] if each["key"] == "wrong")
    assert ["Wrong", wrong["count"], changed["count"]] in now["result"]["cohorts"]
    assert again["runs"][0]["accuracy"]["mean"] == pytest.approx(written.accuracy.mean)
    other = get("map")
    assert other["places"] == points["places"], "points stay where they are"
    assert other["confidence"] != points["confidence"]
    # The original is there again on request, and no file of it has changed.
    assert post("shown", run="original")["version"] == 2
    assert get("map") == points
    assert get("about")["runs"] == about["runs"]
    post("shown", run="retrained")
    assert get("map") == other
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


def test_a_training_can_be_cancelled_and_leaves_nothing(
    get: Any, post: Any, labelling: Labelling, tmp_path: Path
) -> None:
    post("labels", nodes=[5], label=1)
    post("training", action="start")
    process = psutil.Process(labelling._training.process)
    assert process.is_running()
    assert not post("training", action="cancel")["is_running"]
    assert finished(get)["said"] == "The training was cancelled; nothing of it was kept."
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert {each.name for each in tmp_path.iterdir()} == {
        "run.labels.jsonl",
        "run.labels.jsonl.lock",
    }
    assert get("labels")["nodes"] == [5], "the labels stay"


def test_a_training_that_fails_says_why(
    get: Any, post: Any, labelling: Labelling, tmp_path: Path
) -> None:
    assert "there are no labels to train with" in post("training", 422, action="start")["error"]
    assert "nothing has been trained yet" in post("shown", 409, run="retrained")["error"]
    post("labels", nodes=labelling.run.split.test.tolist(), label=1)
    assert "every test node has been labelled" in post("training", 422, action="start")["error"]
    post("labels/undo")
    post("labels", nodes=[5], label=1)
    (tmp_path / "run-labelled").mkdir()  # a folder is never written to twice
    post("training", action="start")
    assert labelling._training.out.name == "run-labelled-2"
    psutil.Process(labelling._training.process).kill()
    assert finished(get)["said"].startswith("The training failed:")


@pytest.mark.parametrize(
    ("name", "body", "status", "words"),
    [
        ("labels", {"nodes": [10**6], "label": 0}, 422, "there is no node 1000000"),
        ("labels", {"nodes": [1], "label": 3}, 422, "there is no class 3; there are 0 to 2"),
        ("labels", {"nodes": [-1], "label": 0}, 422, "`nodes[0]` must be at least 0"),
        ("labels", {"nodes": [2**63], "label": 0}, 422, "`nodes[0]` must be below"),
        ("labels", {"nodes": ["1"], "label": 0}, 422, "`nodes[0]` must be a whole number"),
        ("labels", {"nodes": [True], "label": 0}, 422, "`nodes[0]` must be a whole number"),
        ("labels", {"nodes": [], "label": 0}, 422, "`nodes` needs at least 1"),
        ("labels", {"nodes": [1] * 100_001, "label": 0}, 422, "has more than 100000 entries"),
        ("labels", {"nodes": [1]}, 422, "`label` is missing"),
        ("labels", {"nodes": [1], "label": 0, "x": 1}, 422, "`x` is not a field of this request"),
        ("labels", [1], 422, "the body must be an object"),
        ("labels/undo", {"all": True}, 422, "`all` is not a field"),
        ("training", {"action": "rm -rf"}, 422, "`action`"),
        ("shown", {"run": "../.."}, 422, "`run`"),
    ],
)
def test_hostile_bodies_are_refused_in_one_sentence(
    app: Application, ask: Any, labelling: Labelling, name: str, body: Any, status: int, words: str
) -> None:
    size = labelling.file.path.stat().st_size
    response = ask(app, "POST", f"/api/{name}", json=body)
    assert response.status_code == status
    assert words in response.json()["error"]
    assert "\n" not in response.json()["error"]
    assert labelling.file.path.stat().st_size == size


def test_what_changes_something_obeys_the_guards(
    app: Application, ask: Any, labelling: Labelling
) -> None:
    size = labelling.file.path.stat().st_size
    body = json.dumps({"nodes": [1], "label": 0})
    kind = {"content-type": "application/json"}
    for headers, status, words in [
        ({**kind, "origin": "http://evil.example"}, 403, "page of another site"),
        ({**kind, "origin": "null"}, 403, "page of another site"),
        ({**kind, "sec-fetch-site": "cross-site"}, 403, "page of another site"),
        ({**kind, "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate"}, 403, "another"),
        ({**kind, "host": "evil.example"}, 400, "Host header"),
        ({"content-type": "text/plain"}, 415, "application/json"),
        ({"content-type": "application/x-www-form-urlencoded"}, 415, "application/json"),
        ({}, 415, "application/json"),
    ]:
        for name in ("labels", "labels/undo", "training", "shown"):
            response = ask(app, "POST", f"/api/{name}", content=body, headers=headers)
            assert response.status_code == status, (name, headers)
            assert words in response.json()["error"]
    large = ask(app, "POST", "/api/labels", content=b"x" * (8 * 2**20 + 1), headers=kind)
    assert large.status_code == 413
    broken = ask(app, "POST", "/api/labels", content=b'{"nodes": [1', headers=kind)
    assert broken.status_code == 400
    assert ask(app, "GET", "/api/labels/undo").status_code == 405
    assert labelling.file.path.stat().st_size == size
    own = {**kind, "origin": "http://localhost", "sec-fetch-site": "same-origin"}
    assert ask(app, "POST", "/api/labels", content=body, headers=own).status_code == 200


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer {token}x", "Basic {token}"])
def test_without_the_token_nothing_is_shown_or_changed(
    app: Application, ask: Any, labelling: Labelling, header: str
) -> None:
    headers = {"authorization": header.format(token=labelling.token)}
    size = labelling.file.path.stat().st_size
    for path in ("about", "labels", "labels.csv", "map", "search?q=paper", "training"):
        response = ask(app, "GET", f"/api/{path}", headers=headers)
        assert response.status_code == 401, path
        assert "the link that `agnn explore` printed" in response.json()["error"]
    for name in ("labels", "labels/undo", "training", "shown"):
        body = {"nodes": [1], "label": 0}
        assert ask(app, "POST", f"/api/{name}", json=body, headers=headers).status_code == 401
    assert labelling.file.path.stat().st_size == size
    for path in ("/", "/static/explore.js"):  # without data in them
        assert ask(app, "GET", path, headers=headers).status_code == 200


def test_every_explorer_in_label_mode_has_a_token_of_its_own(
    labelling: Labelling, folder: Path, tmp_path: Path
) -> None:
    other = Labelling(
        labelling.explorer, folder, tmp_path / "b.jsonl", tmp_path / "b", trust_unchecked=False
    )
    other.close()
    assert len(other.token) >= 32
    assert other.token != labelling.token


def test_without_label_mode_nothing_can_be_labelled(folder: Path, ask: Any) -> None:
    app = explore_app(Explorer([load_run(folder)]))
    assert ask(app, "POST", "/api/labels", json={"nodes": [1], "label": 0}).status_code == 404
    assert ask(app, "GET", "/api/about").json()["is_labelling"] is False


def test_labels_from_before_are_there_again(folder: Path, tmp_path: Path) -> None:
    run = load_run(folder)
    with LabelFile(tmp_path / "labels.jsonl", run.data) as file:
        file.give([9], 1)
    made = Labelling(
        Explorer([run]), folder, tmp_path / "labels.jsonl", tmp_path / "o", trust_unchecked=False
    )
    assert made.to_dict()["nodes"] == [9]
    made.close()
