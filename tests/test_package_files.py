"""The files around the package agree with each other: versions, pins, workflows, links."""

from __future__ import annotations

import importlib
import re
import tomllib
import warnings
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import unquote

import pytest
import yaml

import agnn

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


PINS = {
    plain(name): version
    for name, version in re.findall(
        r"^([^#=\s]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
}


def test_the_version_stands_in_one_place_and_the_citation_has_it() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["dynamic"] == ["version"]
    assert citation["version"] == agnn.__version__
    changes = _text(ROOT / "CHANGELOG.md")
    assert f"\n## {agnn.__version__} - {citation['date-released']}\n" in changes


def test_the_badges_are_true() -> None:
    badges = re.findall(r"img\.shields\.io/badge/(\w+)-(\S+)-blue", _text(ROOT / "README.md"))
    named = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    lint = re.search(r"^lint:.*?\n\n", MAKEFILE, re.MULTILINE | re.DOTALL)
    assert {name: unquote(value) for name, value in badges} == {
        "python": " | ".join(named), "licence": PROJECT["license"], "types": "mypy strict"
    }  # fmt: skip
    assert lint is not None
    assert "mypy" in lint[0]
    assert "\nstrict = true\n" in _text(ROOT / "pyproject.toml")


def test_every_extra_that_is_named_exists() -> None:
    files = [*ROOT.glob("*.md"), ROOT / "llms.txt", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "src").rglob("*.py")]
    found = {
        name
        for path in files
        for words in re.findall(r"(?:agnn|'\.)\[([a-z,]+)\]", _text(path))
        for name in words.split(",")
    }
    assert found >= {"tables", "serve", "large"}
    assert found - set(PROJECT["optional-dependencies"]) == set()


def test_every_requirement_is_pinned() -> None:
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    names = {plain(re.split(r"[\[<>=;\s]", line)[0]) for line in wanted}
    assert names - set(PINS) == {"agnn"}  # extras of extras


@pytest.mark.parametrize(
    ("error", "status"), [("No solution found", 1), ("Failed to fetch: https://registry/torch", 0)]
)
def test_check_install_fails_on_a_conflict_but_not_for_want_of_a_registry(
    error: str, status: int, monkeypatch, capsys
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("UV_TORCH_BACKEND", "cpu")
    check_install = importlib.import_module("check_install")
    environments = []

    def run(command: list[str], env: dict[str, str], **_: object) -> CompletedProcess[str]:
        environments.append(env)
        is_conflict = "x86_64-pc-windows-msvc" in command and "3.14" in command
        return CompletedProcess(command, int(is_conflict), "torch==2.13.0\n", error)

    monkeypatch.setattr(check_install.subprocess, "run", run)
    assert check_install.main("uv") == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pinned, Python 3.11, Linux x86-64: torch==2.13.0"
    assert any("Python 3.14, Windows: FAILED" in line for line in lines) == bool(status)
    assert not any("UV_TORCH_BACKEND" in environment for environment in environments)


def test_hooks_and_workflows_take_the_pinned_versions() -> None:
    files = [ROOT / ".pre-commit-config.yaml", *WORKFLOWS]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in files)
    found = re.findall(r"\b([a-z][a-z-]*)==([\d.]+)", texts)
    assert {name for name, _ in found} >= {"ruff", "uv", "zizmor"}
    assert [(name, version) for name, version in found if PINS[plain(name)] != version] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_use_targets_that_exist_and_actions_of_github_only(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    targets = {
        word
        for step in steps
        if step.get("run", "").startswith("make ")
        for word in step["run"].split()[1:]
    }
    assert targets
    assert {
        name for name in targets if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)
    } == set()
    assert all(step["uses"].startswith("actions/") for step in steps if "uses" in step)


def test_the_workflow_tests_every_python_that_the_package_names() -> None:
    named = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert set(named) <= set(jobs["test"]["strategy"]["matrix"]["python"])


@pytest.mark.parametrize(
    ("module", "is_error"),
    [
        ("agnn", True),
        ("agnn.kernels._counter", True),
        ("benchmarks.gate", True),
        ("conftest", True),
        ("test_compare", True),
        ("zoo", True),
        ("pytest_benchmark.logger", False),
        ("agnn_plugin", False),
    ],
)
def test_only_warnings_of_the_package_and_its_tests_are_errors(module: str, is_error: bool) -> None:
    with warnings.catch_warnings(record=True) as shown:
        try:
            exec("import warnings; warnings.warn('old', DeprecationWarning)", {"__name__": module})  # noqa: S102
        except DeprecationWarning:
            assert is_error
        else:
            assert [str(warning.message) for warning in shown] == ["old"]
            assert not is_error


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("*.md"), ROOT / "llms.txt"]), ids=lambda path: path.name
)
def test_links_to_files_lead_to_files(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert missing == []


def test_no_file_has_the_marks_of_an_unresolved_merge() -> None:
    marks = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
    texts = [*ROOT.glob("*.*"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.toml")]
    assert [path for path in texts if path.is_file() and marks.search(_text(path))] == []


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore")
