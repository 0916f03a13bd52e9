"""What a launcher has put into the environment, and the versions that results depend on."""

from __future__ import annotations

import pytest

import agnn
from agnn.errors import InputError
from agnn.executors import LaunchedRank, package_versions

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "29400",
    "TORCHELASTIC_RESTART_COUNT": "2",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in TORCHRUN:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_process_of_torchrun_knows_its_place(environment: pytest.MonkeyPatch) -> None:
    assert LaunchedRank.current() is None
    for name, value in TORCHRUN.items():
        environment.setenv(name, value)
    expected = LaunchedRank(5, 8, 1, 4, "10.0.0.1", 29400, has_lasting_store=True)
    assert LaunchedRank.current() == expected


def test_rank_and_size_alone_are_a_machine_of_one_rank(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("RANK", "0")
    environment.setenv("WORLD_SIZE", "1")
    assert LaunchedRank.current() is None, "only torchrun changes what a command does"
    assert LaunchedRank.from_environment() == LaunchedRank(0, 1)


@pytest.mark.parametrize("given", [{}, {"RANK": "0"}, {"RANK": "x", "WORLD_SIZE": "2"}])
def test_a_process_that_nobody_launched_is_told_how(
    given: dict[str, str], environment: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        environment.setenv(name, value)
    with pytest.raises(InputError, match="was not started as one of several ranks; use torchrun"):
        LaunchedRank.from_environment()


def test_versions_are_without_the_build() -> None:
    versions = package_versions()
    assert versions["agnn"] == agnn.__version__
    assert set(versions) == {"agnn", "torch", "numba"}
    assert "+" not in versions["torch"]
