"""The program as a whole: help, version, interruption, and faults of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

import agnn as package
from agnn.cli._app import COMMANDS, program
from agnn.cli._failures import one_line
from agnn.cli._options import HYPER_PARAMETERS
from agnn.data import ReadOptions
from agnn.options import TABLES, Option, TrainingOptions


def test_version_is_the_package_s(agnn: Any) -> None:
    assert agnn("--version") == (0, f"agnn {package.__version__}\n", "")


@pytest.mark.parametrize("line", ["", "--help", "-h"])
def test_help_names_the_commands(agnn: Any, line: str) -> None:
    answer = agnn(line)
    assert answer.code == 0
    for command in ("demo", "train", "inspect", "datasets", "methods", "doctor"):
        assert f" {command} " in answer.out
    assert "<bool>" not in answer.out


def test_help_all_names_every_option_and_help_the_common_ones(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    everything = agnn("train --help-all").out
    common = agnn("train --help").out
    training = {field.name for field in fields(TrainingOptions)}
    read = {field.name for field in fields(ReadOptions)} - {"preprocessing", "class_names"}
    flags = {"changes": "--set", "callbacks": "--track", "time_limit": "--time"}
    assert len(training | read | set(HYPER_PARAMETERS)) > 50
    for name in training | read | set(HYPER_PARAMETERS):
        assert f"{flags.get(name, '--' + name.replace('_', '-'))} " in everything
    shown = set(re.findall(r"--[a-z-]+", common))
    assert {"--nodes", "--label", "--method", "--out", "--help-all"} <= shown
    assert not {"--wire", "--fanout", "--url"} & shown
    assert len([line for line in common.splitlines() if re.match(r"│ *--", line)]) <= 35


@pytest.mark.parametrize("command", [each.__name__ for each in COMMANDS])
def test_every_command_has_help(agnn: Any, command: str) -> None:
    answer = agnn(f"{command} --help")
    assert (answer.code, answer.err) == (0, "")
    assert f"Usage: agnn {command}" in answer.out
    own = next(each for each in COMMANDS if each.__name__ == command).__doc__ or ""
    assert " ".join(own.split()) in " ".join(answer.out.split())  # no word of it is lost
    assert "<bool>" not in answer.out  # a flag takes no value


def test_a_new_option_of_the_readers_is_one_of_train_and_inspect(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Wider(ReadOptions):
        first_row: Annotated[str | None, Option("Where the table starts.", TABLES)] = None

    monkeypatch.setattr("agnn.data.ReadOptions", Wider)
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("train --help-all", "inspect --help"):
        assert "--first-row" in agnn(command).out
    assert "--first-row" not in agnn("predict --help").out


def test_help_and_version_load_nothing_heavy() -> None:
    heavy = ["torch", "numpy", "scipy", "matplotlib", "numba", "jinja2"]
    program = (
        "import sys; from agnn.cli import main; main(['--help']); main(['--version']);"
        f"sys.exit(str([name for name in {heavy} if name in sys.modules] or ''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)  # noqa: S603
    assert done.stderr.strip() == ""
    assert "agnn " in done.stdout


def test_training_does_not_load_matplotlib(tmp_path: Path) -> None:
    program = (
        "import sys; from agnn.cli import main;"
        "code = main(['train', 'cora', '--epochs', '2', '--replicas', '2', '--out', 'run']);"
        "sys.exit(code or 'matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=tmp_path)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_the_installed_program_exits_with_the_code_of_main(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("agnn")
    done = subprocess.run(  # noqa: S603
        [program, "train", "coora", "--json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: unknown dataset 'coora'; did you mean 'cora'?\n"


@pytest.mark.usefixtures("ring")
@pytest.mark.parametrize(
    ("interruption", "said"), [(KeyboardInterrupt, "nothing was written"), (typer.Abort, "")]
)
def test_an_interrupted_run_exits_130_and_leaves_nothing(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException],
    said: str,
) -> None:  # fmt: skip
    def interrupt(*_: object, **__: object) -> None:
        raise interruption

    monkeypatch.setattr("safetensors.torch.save_file", interrupt)
    answer = agnn("train ring.npz --epochs 1 --replicas 1 --out run --quiet")
    assert (answer.code, answer.out) == (130, "")
    assert said in answer.err
    assert [path.name for path in here.iterdir()] == ["ring.npz"]


def test_a_fault_of_the_program_is_not_passed_off_as_the_user_s(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("agnn.runs.Plan.train", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        agnn("train cora")


def test_weights_that_cannot_be_read_or_written_are_one_line() -> None:
    from safetensors import SafetensorError

    words = one_line(SafetensorError("Error while deserializing: header too large"))
    assert words == "cannot read or write the weights: Error while deserializing: header too large."


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: each.__name__)
def test_every_command_has_an_example_that_parses(command: Any) -> None:
    name = command.__name__
    whole = typer.main.get_command(program([name]))
    found = whole.commands[name]  # type: ignore[attr-defined]
    words = found.epilog.removeprefix("Example: ").split()
    assert words[:2] == ["agnn", name]
    found.make_context(name, words[2:])  # a usage error would be raised


def test_a_shell_completes_commands_and_options(
    agnn: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_AGNN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "agnn explore --no")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit, match="0"):  # click ends the program itself
        agnn("")
    assert capsys.readouterr().out.split() == ["--no-browser"]


def test_a_long_help_has_its_options_in_panels(agnn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    found = agnn("train --help").out
    titles = ["Your own tables", "Method", "Choosing settings", "Computing", "Results and files"]
    parts = re.split(r"╭─ ([A-Z][^─]*) ─", found)
    panels = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert [each for each in panels if each not in ("Arguments", "Options")] == titles
    assert "--learning-rate" in panels["Method"]
    assert "--device" in panels["Computing"]
    assert "--json" in panels["Results and files"]
    # A short help keeps them together.
    assert "Computing" not in agnn("report --help").out
