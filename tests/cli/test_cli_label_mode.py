"""`agnn explore --label-mode` as a real process: killed at any moment, it loses no label."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from agnn.runs import load_run, read_labels
from explore_runs import write_run

PROGRAM = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"
PATIENCE = 300.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "own", "gcn")


@contextmanager
def labelling(run: Path) -> Iterator[tuple[Any, httpx.Client]]:
    """The program in a process of its own, and a client that asks it."""
    words = ["explore", str(run), "--label-mode", "--no-browser", "--json"]
    with subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            told = json.loads(server.stdout.readline())
            headers = {"authorization": f"Bearer {told['token']}"}
            with httpx.Client(
                base_url=told["address"], headers=headers, trust_env=False, timeout=PATIENCE
            ) as client:
                yield server, client
        finally:
            server.kill()


@pytest.mark.slow
def test_killed_while_labels_come_in_it_has_every_label_that_it_kept(run: Path) -> None:
    before = {each.name: each.read_bytes() for each in run.iterdir() if each.name != "map.npz"}
    file, kept = run.with_name("own.labels.jsonl"), {}
    with labelling(run) as (server, client):
        node = 0
        while True:
            if node == 40:  # some request a little later is cut off
                threading.Timer(0.05, server.kill).start()
            try:
                answer = client.post("/api/labels", json={"nodes": [node % 200], "label": node % 3})
            except httpx.HTTPError:
                break
            assert answer.status_code == 200
            kept[node % 200] = node % 3
            node += 1
    assert node >= 40
    data = load_run(run).data
    found = read_labels(file, data)
    assert {key: found.get(key) for key in kept if key != node % 200} == {
        key: value for key, value in kept.items() if key != node % 200
    }
    with labelling(run) as (server, client):
        again = client.get("/api/labels").json()
        assert dict(zip(again["nodes"], again["classes"], strict=True)) == found
        # Killed in the middle of a training: the training ends too, and the labels are there.
        client.post("/api/training", json={"action": "start"})
        (child,) = [
            each for each in psutil.Process(server.pid).children()
            if "agnn.web.explore._training" in each.cmdline()
        ]  # fmt: skip
        server.send_signal(signal.SIGKILL)
        server.wait()
    end = time.monotonic() + PATIENCE
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "the training outlives the server"
        time.sleep(0.1)
    assert read_labels(file, data) == found
    assert not run.with_name("own-labelled").exists()
    after = {each.name: each.read_bytes() for each in run.iterdir() if each.name != "map.npz"}
    assert after == before
    load_run(run)  # its checksums hold


def test_the_link_has_a_token_that_the_command_line_of_the_browser_does_not_show(
    agnn: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def open_page(address: str) -> None:
        page = Path(address.removeprefix("file://"))
        opened.append((address, page.read_text(), page.parent.stat().st_mode & 0o777))

    def run_server(_: Any, *, port: int, ready: Any) -> None:
        ready(f"http://127.0.0.1:{port}")

    monkeypatch.setattr("agnn.cli._serve._open_page", open_page)
    monkeypatch.setattr("agnn.web.server.run_server", run_server)
    answer = agnn("explore --port 4711 --label-mode", run, "--labels", tmp_path / "labels.jsonl")
    assert answer.code == 0, answer.err
    link = answer.out.split()[0]
    token = link.removeprefix("http://127.0.0.1:4711/#token=")
    assert len(token) >= 32
    ((address, page, mode),) = opened
    assert token not in address
    assert link in page
    assert mode == 0o700
    assert not Path(address.removeprefix("file://")).exists()
    plain = agnn("explore --no-browser --port 4711", run)
    assert plain.code == 0, plain.err
    assert plain.out.startswith("http://127.0.0.1:4711  (Ctrl-C")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--label-mode", "--compare", "{run}"], "error: --label-mode shows one run; leave out"),
        (["--labels", "x.jsonl"], "error: --labels goes with --label-mode."),
        (["--out", "x"], "error: --out goes with --label-mode."),
        (["--label-mode", "--labels", "{run}"], "error: labels cannot be kept in"),
        (["--label-mode", "--labels", "/dev/zero"], "error: labels cannot be kept in '/dev/zero'"),
        (["--label-mode", "--labels", "no/where"], "error: labels cannot be kept in 'no/where'"),
        (["--label-mode", "--labels", "{run}/README.md"], "error: '{run}/README.md', line 1 is"),
    ],
)
def test_a_mistake_is_one_line(agnn: Any, run: Path, words: list[str], sentence: str) -> None:
    answer = agnn("explore --no-browser", run, *[word.format(run=run) for word in words])
    assert answer.code == 2
    assert answer.err.startswith(sentence.format(run=run))
    assert answer.err.count("\n") == 1
