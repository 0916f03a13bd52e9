"""`agnn serve`: a process that says where it is, answers, and ends when told; and its mistakes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agnn import evaluate, get_method, read_tables, save_run
from own_tables import write_tables

TOKEN = "a-token-of-many-letters"  # noqa: S105
PROGRAM = "import sys; from agnn.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    data = read_tables(*write_tables(folder), label="topic", text="motto")
    save_run(evaluate(get_method("agnn")(epochs=5), data, "stratified", range(2)), folder / "run")
    return folder / "run"


@contextmanager
def serving(run: Path, *words: str, **environment: str) -> Iterator[tuple[Any, str]]:
    """The program as a process of its own, and the line that says where it is."""
    command = [sys.executable, "-c", PROGRAM, "serve", str(run), "--port", "0", *words]
    process = subprocess.Popen(  # noqa: S603 (our own program)
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def test_it_answers_over_the_network_and_ends_when_told(run: Path) -> None:
    with serving(run) as (process, line):
        assert line.startswith("AGNN on nodes at http://127.0.0.1:")
        assert line.endswith(" (Ctrl-C stops it)\n")
        with httpx.Client(base_url=line.split()[4]) as client:
            assert client.get("/health").json()["status"] == "ok"
            known = client.post("/predict", json={"ids": ["p1"]})
            assert known.json()["predictions"][0]["id"] == "p1"
            assert "words" in client.get("/explain", params={"node": "p1"}).json()
            assert client.get("/health", headers={"host": "evil.example"}).status_code == 400
            large = b"x" * (8 * 2**20 + 1)
            assert client.post("/predict", content=large).status_code == 413
            chunks = (b"x" * 2**20 for _ in range(9))
            assert client.post("/predict", content=chunks).status_code == 413
            with ThreadPoolExecutor(8) as pool:
                some = list(pool.map(lambda _: client.get("/explain?node=p2").content, range(16)))
            assert len(set(some)) == 1
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, "")
        lines = err.splitlines()
        assert len(lines) == 22
        assert lines[1].split()[2:5] == ["POST", "/predict", "200"]
        assert "Traceback" not in err


def test_a_token_from_the_environment_is_asked_for_and_never_logged(run: Path) -> None:
    with serving(run, "--json", AGNN_TOKEN=TOKEN) as (process, line):
        told = json.loads(line)
        assert (told["run"], told["has_token"]) == (str(run), True)
        address = told["address"]
        assert httpx.get(f"{address}/model").status_code == 401
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert httpx.get(f"{address}/model?x={TOKEN}", headers=headers).status_code == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0
        assert TOKEN not in err


@pytest.mark.slow
def test_other_addresses_come_with_a_warning_unless_there_is_a_token(
    run: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    everywhere = "0.0.0.0"  # noqa: S104 (what is tested)
    for words, warning in (
        ((), "warning: anyone who reaches 0.0.0.0 can query this model, since there is no token; "
             "--token-file or AGNN_TOKEN sets one.\n"),
        (("--token-file", str(tmp_path / "token")), ""),
    ):  # fmt: skip
        with serving(run, "--host", everywhere, "--quiet", *words) as (process, line):
            port = int(line.split()[4].rpartition(":")[2])
            assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
            assert (process.returncode, err) == (0, warning)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("serve nowhere --port 0", "'nowhere' is not a run folder"),
        ("serve {run} --port 70000", "`port` must be from 0 (a free one) to 65535; got 70000."),
        ("serve {run} --host 192.0.2.7", "`host` '192.0.2.7' is not an address of this machine."),
        ("serve {run} --port 0 --max-body 0", "`max_body` must be from 1 to 1024 MiB; got 0."),
        ("serve {run} --port 0 --token-file none", "cannot read or write 'none'"),
        ("serve {run} --port 0 --token-file short", "the token in 'short' must be 16 to 500"),
        ("serve {run} --port 0 --threads 0", "`threads` must be from 1"),
    ],
)
def test_every_mistake_is_one_line(agnn: Any, here: Path, run: Path, line: str, words: str) -> None:
    (here / "short").write_text("abc")
    answer = agnn(line.format(run=run))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert words in answer.err


def test_a_port_in_use_is_one_line_before_the_model_is_read(agnn: Any, here: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = agnn(f"serve {here / 'nowhere'} --port {port}")
    assert answer.code == 2
    assert answer.err == (
        f"error: port {port} of 127.0.0.1 is in use by another program; choose another --port, or "
        f"0 for a free one.\n"
    )


def test_a_token_in_the_environment_must_be_one(
    agnn: Any, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGNN_TOKEN", "abc")
    answer = agnn(f"serve {run} --port 0")
    assert answer.code == 2
    assert "the token in the environment's AGNN_TOKEN must be 16 to 500" in answer.err


def test_without_the_packages_the_way_to_get_them_is_said(
    agnn: Any, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    answer = agnn(f"serve {run}")
    assert answer.code == 2
    assert answer.err == (
        "error: fastapi is not installed, and models are served with it: "
        "pip install 'agnn[serve]'.\n"
    )
