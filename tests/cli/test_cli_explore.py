"""`agnn explore`: what it refuses, and that it serves until it is told to stop."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agnn.data import NodeData
from agnn.methods import get_method
from agnn.runs import evaluate, save_run
from explore_runs import write_run

PROGRAM = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "gcn", "gcn")


def test_it_prints_its_address_serves_the_page_and_ends_when_told(run: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "explore", str(run), "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            address = json.loads(server.stdout.readline())["address"]
            assert address.startswith("http://127.0.0.1:")
            with httpx.Client(trust_env=False) as client:
                page = client.get(address)
                about = client.get(f"{address}/api/about").json()
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    assert "<title>agnn explore</title>" in page.text
    assert about["data"] == "papers"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "error: 'nowhere' is not a run folder"),
        (["{run}", "--port", "70000"], "error: `port` must be from 0 (a free one) to 65535"),
        (["{run}", "--compare", "nowhere"], "error: 'nowhere' is not a run folder"),
        ([], "error: missing argument 'run'. See `agnn explore --help`."),
    ],
)
def test_a_mistake_is_one_line(agnn: Any, run: Path, words: list[str], sentence: str) -> None:
    answer = agnn("explore --no-browser", *[word.format(run=run) for word in words])
    assert answer.code == 2
    assert answer.err.startswith(sentence)
    assert answer.err.count("\n") == 1


def test_a_port_in_use_is_one_line(agnn: Any, run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        answer = agnn("explore --no-browser --port", port, run)
    assert answer.code == 2
    assert f"port {port} of 127.0.0.1 is in use" in answer.err


def test_a_run_on_other_data_is_not_compared(
    agnn: Any, run: Path, toy: NodeData, tmp_path: Path
) -> None:
    save_run(evaluate(get_method("gcn")(epochs=2), toy, "fixed", seeds=[0]), tmp_path / "toy")
    answer = agnn("explore --no-browser", run, "--compare", tmp_path / "toy")
    assert answer.code == 2
    assert "both runs must have the same data; 'papers' and 'toy'" in answer.err
