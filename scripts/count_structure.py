"""Figures on the structure of the source: files, lines, imports, privacy, and one walk through it.

    python scripts/count_structure.py            # all figures
    python scripts/count_structure.py --list     # and the modules behind them
    python scripts/count_structure.py --no-run   # without `agnn train cora`

A module's importers are the modules that import it, also inside functions and for type checking;
the `__init__` of its package is one of them. A file takes part in `agnn train cora` if one of its
functions is called; compiled kernels are not seen, the functions around them are.
"""

from __future__ import annotations

import argparse
import ast
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType

SOURCE = Path(__file__).parents[1] / "src"
SMALL = 60  # lines


def modules() -> dict[str, Path]:
    """Every module of the package by its full name."""
    found = {}
    for path in sorted((SOURCE / "agnn").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def import_nodes(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a tree, wherever they are."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def imported(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a tree imports."""
    for node in import_nodes(tree):
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.name
            else:
                name = f"{node.module}.{alias.name}"
                name = name if name in known else str(node.module)
            if name in known:
                yield name


def is_private(name: str) -> bool:
    """Whether a module or a package that it is in starts with an underscore."""
    return any(part.startswith("_") for part in name.split("."))


def package(name: str) -> str:
    """The package right below `agnn` that a module is in."""
    return ".".join(name.split(".")[:2])


def files_of_a_training() -> set[str]:
    """The files of the package whose functions run in `agnn train cora`."""
    from agnn.cli import main

    line, seen = ["train", "cora", "--replicas", "2", "--epochs", "3", "--quiet"], set[str]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        is_function = frame.f_code.co_flags & 0x1  # the bodies of modules and classes are none
        if event == "call" and is_function and frame.f_code.co_filename.startswith(str(SOURCE)):
            seen.add(frame.f_code.co_filename)

    with redirect_stdout(StringIO()):
        main(line)  # imports and compiles
        threading.setprofile(watch)
        sys.setprofile(watch)
        main(line)
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def report(what: str, names: list[str], *, is_listed: bool) -> None:
    """Print a count and, if wanted, the names behind it."""
    print(f"{what}: {len(names)}")
    for name in names if is_listed else ():
        print(f"    {name}")


def count(*, is_listed: bool, has_run: bool) -> None:
    """Print all figures."""
    known = modules()
    texts = {name: path.read_text(encoding="utf-8") for name, path in known.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    lines = {name: len(text.splitlines()) for name, text in texts.items()}
    total = sum(lines.values())
    spent = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in import_nodes(tree)
    )
    importers: dict[str, set[str]] = {name: set() for name in known}
    for name, tree in trees.items():
        for target in imported(tree, known):
            if target != name:
                importers[target].add(name)
    plain = [name for name, path in known.items() if path.stem not in ("__init__", "__main__")]
    print(f"Python files in src: {len(known)}")
    print(f"lines: {total:,}; import lines: {spent:,} ({100 * spent / total:.1f} %)")
    single = [name for name in plain if len(importers[name]) == 1 and lines[name] < SMALL]
    report(f"modules under {SMALL} lines with one importer", single, is_listed=is_listed)
    own = [
        name
        for name in plain
        if not is_private(name) and {package(each) for each in importers[name]} <= {package(name)}
    ]
    words = "modules that only their own package uses and that are not private"
    report(words, own, is_listed=is_listed)
    if has_run:
        part = sorted(str(Path(file).relative_to(SOURCE)) for file in files_of_a_training())
        report("files that take part in `agnn train cora`", part, is_listed=is_listed)


if __name__ == "__main__":
    sys.path.insert(0, str(SOURCE))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="also print the modules")
    parser.add_argument("--no-run", action="store_true", help="leave out `agnn train cora`")
    options = parser.parse_args()
    count(is_listed=options.list, has_run=not options.no_run)
