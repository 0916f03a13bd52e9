"""Ranks compare what they train before they train it; a difference ends all of them at once."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from thread_ranks import on_ranks

from agnn.cli import main
from agnn.distributed._meeting import RanksError
from agnn.distributed._ranks import Ranks

FACTS = {
    "torch": "2.13.0",
    "hyper-parameters": {"learning_rate": 0.01, "layers": 2},
    "seeds": [0, 1],
    "data": "a" * 64,
    "wire": "float32",
}


def test_ranks_with_the_same_facts_go_on() -> None:
    assert on_ranks(3, lambda ranks: ranks.agree(dict(FACTS))) == [None] * 3
    Ranks().agree(FACTS)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"torch": "2.12.0"}, 'torch "2.12.0", not "2.13.0"'),
        ({"seeds": [0, 2]}, "seeds [0, 2], not [0, 1]"),
        ({"data": "b" * 64}, "other data"),
        ({"wire": "bfloat16"}, 'wire "bfloat16", not "float32"'),
        ({"hyper-parameters": {"learning_rate": 0.1, "layers": 2}}, "learning_rate 0.1, not 0.01"),
        ({"hyper-parameters": {"layers": 2}}, "learning_rate null, not 0.01"),
        ({"parts": "c" * 64}, "other parts"),
    ],
)
@pytest.mark.parametrize("different", [1, 2])
def test_a_difference_is_named_with_its_rank_on_every_rank(
    other: dict[str, Any], difference: str, different: int
) -> None:
    def error_of(ranks: Ranks) -> tuple[str, bool]:
        with pytest.raises(RanksError, match=f"rank {different} ") as caught:
            ranks.agree(FACTS | other if ranks.rank == different else FACTS)
        return str(caught.value), caught.value.is_reporter

    messages, is_reporter = zip(*on_ranks(3, error_of), strict=True)
    assert len(set(messages)) == 1
    assert difference in messages[0]
    assert is_reporter == (True, False, False)


def start_rank(rank: int, port: int, *words: str, program: str = "") -> subprocess.Popen[str]:
    """One of two ranks as torchrun would start it, with a command of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OMP_NUM_THREADS": "1",
        "TORCHELASTIC_RUN_ID": "none",
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    how = ["-c", program] if program else ["-m", "agnn"]
    return subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, *how, "train", *words],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def messages_of_two(
    first: list[str], second: list[str], program: str = ""
) -> tuple[list[str], list[int]]:
    """The errors that two ranks print, and their exit codes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = [start_rank(0, port, *first), start_rank(1, port, *second, program=program)]
    said = [process.communicate(timeout=300)[1] for process in processes]
    lines = [line for text in said for line in text.splitlines() if line.startswith("error: ")]
    return lines, [process.returncode for process in processes]


# A rank with another version of the package.
OTHER = "import sys, agnn; agnn.__version__ = '0.0.1'; from agnn.cli import main; sys.exit(main())"


@pytest.mark.slow
def test_another_learning_rate_on_one_rank_is_refused(tmp_path: Path) -> None:
    words = ["cora", "--method", "gcn", "--epochs", "3", "--out", str(tmp_path / "run")]
    lines, codes = messages_of_two(words, [*words, "--learning-rate", "0.05"])
    assert codes == [2, 2]
    line, same = lines  # one on every machine
    assert line == same
    assert line.startswith("error: rank 1 has another training than rank 0: ")
    assert "learning_rate 0.05, not 0.01" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_version_on_one_rank_is_refused() -> None:
    words = ["cora", "--method", "gcn", "--epochs", "3"]
    lines, codes = messages_of_two(words, words, OTHER)
    assert codes == [2, 2]
    line, same = lines  # one on every machine
    assert line == same
    assert 'rank 1 has another training than rank 0: agnn "0.0.1", not ' in line


@pytest.mark.slow
def test_another_partition_on_one_rank_is_refused(tmp_path: Path) -> None:
    for name, order in (("a", "given"), ("b", "streaming")):
        out = str(tmp_path / name)
        assert main(["partition", "cora", "--parts", "2", "--order", order, "--out", out]) == 0
    options = ["--method", "gcn", "--epochs", "3"]
    lines, codes = messages_of_two([str(tmp_path / "a"), *options], [str(tmp_path / "b"), *options])
    assert codes == [2, 2]
    line, same = lines  # one on every machine
    assert line == same
    assert line.startswith("error: rank 1 has another training than rank 0: other ")
