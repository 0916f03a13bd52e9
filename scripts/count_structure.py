"""Print figures on the structure of the source, counted from its syntax trees.

    python scripts/count_structure.py             # the table
    python scripts/count_structure.py --list      # and where each thing stands
    python scripts/count_structure.py --no-run    # without the training, which takes some seconds

- *exported names*: what the `__init__` of every package imports `as` itself or lists in `__all__`,
  and what a stub of it imports;
- *parallel assignments*: `a, b = x, y`;
- *participle names*: functions whose name ends in a past participle, such as `searched`;
- *more than 7 parameters*: those that may be given by position, without `self` and `cls`;
- *files touched*: files one of whose functions is called; compiled kernels are not seen, the
  functions around them are.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType

SOURCE = Path(__file__).parents[1] / "src"
TRAINING = ("train", "cora", "--replicas", "2", "--epochs", "3", "--quiet")
IRREGULAR = re.compile(
    "bound|built|chosen|cut|done|drawn|driven|found|given|gone|grown|held|hidden|kept|known|laid|"
    "left|lost|made|meant|paid|seen|sent|shown|spent|taken|told|won|written"
)
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}


def is_participle(name: str) -> bool:
    """Return whether a function's name ends in a past participle; `is_kept` is a question."""
    *before, last = name.strip("_").split("_")
    is_question = before[:1] in (["is"], ["has"], ["are"])
    has_ending = last.endswith("ed") and last not in NO_PARTICIPLES
    return not is_question and (has_ending or IRREGULAR.fullmatch(last) is not None)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions and methods of a tree, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def positional_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of the parameters that may be given by position."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def exported(tree: ast.Module) -> list[str]:
    """Return the names that a module imports `as` themselves or lists in `__all__`."""
    imported = [
        alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return [alias.name for alias in imported if alias.name == alias.asname] + [
        name.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.walk(node.value)
        if isinstance(name, ast.Constant)
    ]


def stub_exports(tree: ast.Module) -> list[str]:
    """Return the names that a stub takes from packages; its own packages are no names."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return [each.name for node in imports for each in node.names]


def is_parallel(node: ast.AST) -> bool:
    """Return whether a statement assigns a tuple that is written out to several names."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def findings(source: Path) -> dict[str, list[str]]:
    """Return where the counted things stand, by the row of the table that counts them."""
    rows: dict[str, list[str]] = {
        name: []
        for name in (
            "files in src",
            "exported names",
            "parallel assignments",
            "functions",
            "participle names",
            "`# fmt: skip`",
            "functions with more than 7 parameters",
        )
    }
    for path in sorted((source / "agnn").rglob("__init__.pyi")):
        names = stub_exports(ast.parse(path.read_text(encoding="utf-8")))
        rows["exported names"] += [f"{path.relative_to(source)}: {name}" for name in names]
    for path in sorted((source / "agnn").rglob("*.py")):
        file = str(path.relative_to(source))
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        rows["files in src"].append(file)
        if path.name == "__init__.py":
            rows["exported names"] += [f"{file}: {name}" for name in exported(tree)]
        rows["parallel assignments"] += [
            f"{file}:{node.lineno}" for node in ast.walk(tree) if is_parallel(node)
        ]
        rows["`# fmt: skip`"] += [
            f"{file}:{line}"
            for line, content in enumerate(text.splitlines(), 1)
            if re.search("# fmt: (skip|off)", content)
        ]
        for function in functions(tree):
            where = f"{file}:{function.lineno} {function.name}"
            rows["functions"].append(where)
            if is_participle(function.name):
                rows["participle names"].append(where)
            if len(positional_parameters(function)) > 7:
                rows["functions with more than 7 parameters"].append(where)
    return rows


def train_options() -> list[str]:
    """Return the options that `agnn train --help` shows."""
    from typer.main import get_command

    from agnn.cli._app import program

    command = get_command(program(["train"])).commands["train"]  # type: ignore[attr-defined]
    return [
        each.opts[0] for each in command.params if each.opts[0].startswith("-") and not each.hidden
    ]


def touched_files(arguments: tuple[str, ...]) -> list[str]:
    """Return the files of the package whose functions are called by a command, below `src`."""
    from agnn.cli import main

    files = set[str]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        is_function = frame.f_code.co_flags & 0x1  # the bodies of modules and classes are none
        if event == "call" and is_function and frame.f_code.co_filename.startswith(str(SOURCE)):
            files.add(frame.f_code.co_filename)

    with redirect_stdout(StringIO()):
        main(list(arguments))  # imports and compiles
        threading.setprofile(watch)
        sys.setprofile(watch)
        main(list(arguments))
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(str(Path(file).relative_to(SOURCE)) for file in files)


def length(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def main(*, is_listed: bool, has_run: bool) -> None:
    """Print the table."""
    rows = findings(SOURCE)
    share = len(rows["participle names"]) / len(rows["functions"])
    lines = sum(length(SOURCE / file) for file in rows["files in src"])
    rows["options of `agnn train`"] = train_options()
    if has_run:
        rows["files touched by `agnn train cora`"] = touched_files(TRAINING)
    print("| | now |\n|---|---|")
    print(f"| lines in src | {lines:,} |")
    for name, places in rows.items():
        suffix = f" ({share:.1%} of the functions)" if name == "participle names" else ""
        print(f"| {name} | {len(places):,}{suffix} |")
    print(f"| lines of the command `train` | {length(SOURCE / 'agnn/cli/_train.py')} |")
    for name, places in rows.items() if is_listed else ():
        if name not in ("functions", "exported names", "files in src"):
            print(f"\n{name}:", *places, sep="\n    ")


if __name__ == "__main__":
    sys.path.insert(0, str(SOURCE))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="also print where each thing stands")
    parser.add_argument("--no-run", action="store_true", help="leave out the training")
    options = parser.parse_args()
    main(is_listed=options.list, has_run=not options.no_run)
