"""Every code block of the documentation is run by a test, or has a reason why not.

The tutorials are run here, block by block; other pages have a test of their own, which runs what
`code_blocks` finds on them. Run or not, every command must be one that exists.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

import agnn.studies._compare as comparison
from agnn.cli import main
from agnn.training import _checkpoint
from code_blocks import DOCS, ROOT, RUN, SHOWN, blocks, commands, programs

HERE = [*sorted((DOCS / "tutorials").glob("*.md")), DOCS / "training.md"]
ELSEWHERE = {  # pages with a test of their own
    "README.md": "test_code_blocks.py",
    "docs/your_own_graph.md": "test_walkthrough.py",
    "docs/folds.md": "test_walkthrough.py",
    "docs/new_nodes.md": "test_walkthrough.py",
    "docs/sources.md": "test_walkthrough.py",
    "docs/serving.md": "test_serving_page.py",
    "docs/pyg.md": "pyg/test_pyg_page.py",
    "docs/choosing_a_method.md": "test_choosing_page.py",
    "docs/explanations.md": "explanation/test_explanations_page.py",
    "docs/cookbook/tables.md": "test_cookbook.py",
    "docs/cookbook/predictions.md": "test_cookbook.py",
    "docs/cookbook/migrating.md": "test_cookbook.py",
}
NOT_RUN = {
    "docs/reproduction.md": "days of training; tests/studies checks the page against results/",
}
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_names_its_language_and_is_run_or_has_a_reason(page: Path) -> None:
    found = blocks(page)
    assert [each for each in found if each.kind not in (*RUN, *SHOWN)] == []
    if page not in HERE and name_of(page) not in {*ELSEWHERE, *NOT_RUN}:
        assert [each for each in found if each.is_run] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\n1\n```\n", ("python", "1\n", None)),
        ("```bash\nls\n```\n", ("bash", "ls\n", None)),
        ("~~~\nls\n~~~\n", ("", "ls\n", None)),
        ("1. a\n\n   ```sh\n   ls\n   ```\n", ("sh", "ls\n", None)),
        ("A:\n\n    import os\n", ("indented", "import os", None)),
        ("A:\n\n    agnn demo\n", ("sh", "agnn demo", None)),
        ("<!-- not run: why -->\n\n    agnn demo\n", ("sh", "agnn demo", "why")),
        ("<!-- not run: why -->\n```sh\nls\n```\n", ("sh", "ls\n", "why")),
    ],
)
def test_blocks_are_found_in_every_form(
    text: str, expected: tuple[str, str, str | None], tmp_path: Path
) -> None:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert blocks(tmp_path / "page.md") == [expected]


def test_a_reason_is_for_the_next_block_alone(tmp_path: Path) -> None:
    text = "<!-- not run: why -->\n```sh\na\n```\n\n```sh\nb\n```\n\n    agnn demo\n"
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert [each.reason for each in blocks(tmp_path / "page.md")] == ["why", None, None]


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_the_page_has_the_test_that_is_named(page: str, test: str) -> None:
    text = (ROOT / "tests" / test).read_text(encoding="utf-8")
    assert Path(page).name in text
    kinds = {block.kind for block in blocks(ROOT / page) if block.is_run}
    for kind, call in (("sh", "commands("), ("python", "programs(")):
        assert kind not in kinds or call in text or "blocks(" in text


def program_of(page: Path) -> str:
    """The blocks of a page as one program, with lines for its commands."""
    lines = ["from agnn.cli import main"]
    for block in filter(lambda each: each.is_run, blocks(page)):
        if block.kind == "python":
            lines.append(block.text)
        else:
            lines += map(line_of, block.text.strip().split("\n"))
    return "\n".join(lines)


def line_of(command: str) -> str:
    """A command as a line of Python: one of `agnn`, or a script of this repository."""
    program, verb, *words = shlex.split(command)
    if program == "python":
        call = [str(ROOT / verb), *words]
        return f"import subprocess, sys; subprocess.run([sys.executable, *{call!r}], check=True)"
    return f"assert main({[verb, *words]!r}) == 0"


# Every training with --out writes checkpoints, as those that take longer than ten minutes do.
OFTEN = """
from agnn.training import _checkpoint
_checkpoint._LONG = _checkpoint._USUAL = 0.0
"""

# One result is no better than a baseline's: that of a vote.
EXPECTED = """
import warnings
from agnn.errors import ResultWarning
warnings.simplefilter("ignore", ResultWarning)
"""


def test_the_tutorials_run_from_the_first_line_to_the_last(tmp_path: Path) -> None:
    """In one process of their own: one of them registers a method, and all compile kernels."""
    lines = ["import os", OFTEN, EXPECTED, "if __name__ == '__main__':  # ranks import this file"]
    for page in HERE:
        folder = tmp_path / page.stem
        folder.mkdir()
        compiled = f"compile({program_of(page)!r}, {page.name!r}, 'exec')"
        lines += [f"    os.chdir({str(folder)!r})", f"    exec({compiled}, {{'__name__': 'page'}})"]
    (tmp_path / "all.py").write_text("\n".join(lines), encoding="utf-8")
    # The pages warn of nothing else. Deprecations among old libraries are not ours.
    filters = ("-W", "error::UserWarning", "-W", "ignore::DeprecationWarning")
    done = subprocess.run(  # noqa: S603 (our own pages)
        [sys.executable, *filters, str(tmp_path / "all.py")],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "clearly behind sgc" in done.stdout
    assert (tmp_path / "first_ten_minutes" / "labelled.csv").is_file()
    assert (tmp_path / "eight_machines" / "predictions.csv").is_file()
    # From unlabelled to labelled: the audit finds mistakes, and sets of one class have hardly any.
    (mistakes,) = re.findall(r"(\d) of 6 mistakes are on the list of \d", done.stdout)
    assert int(mistakes) >= 5
    (right,) = re.findall(r"(\d+) of 240 predictions are right", done.stdout)
    assert int(right) > 225
    ((single, all_single),) = re.findall(
        r"(\d+) of (\d+) are, where the set has one class", done.stdout
    )
    assert int(all_single) - int(single) <= 2


def write_accounts(folder: Path) -> None:
    """Run the first command of README.md."""
    runpy.run_path(str(ROOT / "scripts" / "example_accounts.py"))["write_tables"](folder)


def test_the_python_of_the_readme_runs_and_is_that_of_the_start_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_accounts(tmp_path)
    (program,) = programs(ROOT / "README.md")
    assert program in {block.text for block in blocks(DOCS / "index.md")}
    assert len(program.strip().split("\n")) <= 10
    exec(program, {})  # noqa: S102 (our own page)
    printed = capsys.readouterr().out
    assert "A343: fraud" in printed
    assert "AGNN predicts yes for node A343" in printed


@pytest.mark.slow
def test_the_commands_of_the_readme_run_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "PORTFOLIO", ("majority", "ridge"))  # a dozen take minutes
    monkeypatch.setattr(_checkpoint, "_LONG", 0.0)
    monkeypatch.setattr(_checkpoint, "_USUAL", 0.2)
    lines = [shlex.split(each, comments=True) for each in commands(ROOT / "README.md")]
    assert [words[1] for words in lines] == [
        "scripts/example_accounts.py",
        *("inspect", "train", "predict", "predict", "explain", "explore", "compare"),
        *("demo", "test"),
    ]
    write_accounts(tmp_path)
    for words in lines[1:-2]:  # `make` is for a clone, and the explorer is a server
        if words[1] != "explore":
            assert main(words[1:]) == 0, words
    assert "A600," in Path("new.csv").read_text(encoding="utf-8")
    printed = " ".join(capsys.readouterr().out.split())
    shown = [block.text for block in blocks(ROOT / "README.md") if block.kind == "text"]
    for line in "".join(shown).strip().split("\n"):
        assert re.sub(r"[+\d.]+", "#", line) in re.sub(r"[+\d.]+", "#", printed), line


# Ctrl-C after the first checkpoint, to the process that the user sees: ranks are its children.
INTERRUPTED = f"""
import multiprocessing, os, signal, sys, time
{OFTEN}
write = _checkpoint.Checkpoints.write

def write_and_interrupt(self, *given):
    write(self, *given)
    is_rank = multiprocessing.parent_process() is not None
    os.kill(os.getppid() if is_rank else os.getpid(), signal.SIGINT)
    while not self.is_asked_to_stop:
        time.sleep(0.01)

if "--resume" not in sys.argv:
    _checkpoint.Checkpoints.write = write_and_interrupt

if __name__ == "__main__":
    from agnn.cli import main

    sys.exit(main())
"""
TRAININGS = [
    (page, line)
    for page in (ROOT / "README.md", *HERE)
    for line in commands(page)
    if line.startswith("agnn train ") and " --out " in line
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "line"), TRAININGS, ids=[page.stem for page, _ in TRAININGS])
def test_a_training_of_a_page_that_is_interrupted_goes_on_with_the_same_bits(
    page: Path, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    out = Path(words[words.index("--out") + 1])
    if page.name == "README.md":
        write_accounts(tmp_path)
        assert main(words) == 0
    else:
        before, _, _ = program_of(page).partition("assert main(['train',")
        exec(before, {})  # noqa: S102 (our own page)
        assert main(words) == 0
    undisturbed = (out / "model.safetensors").read_bytes()
    shutil.rmtree(out.parent)
    Path("interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    program = [sys.executable, "interrupted.py", *words]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = subprocess.run(program, env=places, capture_output=True, text=True)  # noqa: S603
    assert first.returncode == 130, first.stderr
    assert "The same command with --resume" in first.stderr
    assert [path.name for path in out.parent.iterdir()] == [f"{out.name}.checkpoint"]
    again = subprocess.run([*program, "--resume"], env=places, capture_output=True, text=True)  # noqa: S603
    assert again.returncode == 0, again.stderr
    assert (out / "model.safetensors").read_bytes() == undisturbed
    assert [path.name for path in out.parent.iterdir()] == [out.name]


LINES = sorted(
    {
        line.partition(";")[0].strip()
        for path in PAGES
        for block in blocks(path)
        for line in block.text.split("\n")
        if block.kind == "sh" and "…" not in line
    }
)


@pytest.mark.parametrize("line", [each for each in LINES if each.startswith("agnn ")])
def test_the_program_understands_every_command(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agnn.cli._app import program

    monkeypatch.chdir(tmp_path)
    Path("run.toml").touch()  # a configuration is read when its option is

    _, name, *words = shlex.split(line, comments=True)
    group = typer.main.get_command(program([name, *words]))
    assert name in group.commands, line
    group.commands[name].make_context(f"agnn {name}", words)


def test_every_target_script_and_module_that_is_named_exists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT)  # for benchmarks
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    targets = set(re.findall(r"(?:`|^ {4})make ([a-z-]+)", text, re.MULTILINE))
    assert "docs" in targets
    missing = {name for name in targets if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)}
    assert missing - {"forget-compiled"} == set()  # the changelog says that it is gone
    modules = set(re.findall(r"python -m ((?:benchmarks|agnn)[\w.]*)", text))
    assert [name for name in modules if find_spec(name.rstrip(".")) is None] == []
    scripts = set(re.findall(r"\bscripts/[\w/]+(?:\.\w+)?", text))
    assert [name for name in scripts if not (ROOT / name).exists()] == []
