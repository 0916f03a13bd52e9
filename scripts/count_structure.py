"""Figures on the structure of the source: files, lines, imports, privacy, four walks through it.

    python scripts/count_structure.py            # all figures
    python scripts/count_structure.py --list     # and the modules behind them
    python scripts/count_structure.py --no-run   # without the walks, which take half a minute

A module's importers are the modules that import it, also inside functions and for type checking;
the `__init__` of its package is one of them. A file takes part in a walk if one of its functions is
called; compiled kernels are not seen, the functions around them are.
"""

from __future__ import annotations

import argparse
import ast
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
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


def files_of(walk: Callable[[], object]) -> list[str]:
    """The files of the package whose functions run in a walk, below `src`."""
    seen = set[str]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        is_function = frame.f_code.co_flags & 0x1  # the bodies of modules and classes are none
        if event == "call" and is_function and frame.f_code.co_filename.startswith(str(SOURCE)):
            seen.add(frame.f_code.co_filename)

    with redirect_stdout(StringIO()):
        walk()  # imports and compiles
        threading.setprofile(watch)
        sys.setprofile(watch)
        walk()
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(str(Path(file).relative_to(SOURCE)) for file in seen)


def walks(folder: Path) -> dict[str, Callable[[], object]]:
    """Four ways through the package, from what a user asks to the answer."""
    import pandas
    from starlette.testclient import TestClient

    import agnn
    from agnn.cli import main
    from agnn.web.explore import Explorer, explore_app

    names = [f"p{k}" for k in range(60)]
    nodes = pandas.DataFrame(
        {"id": names, "age": range(20, 80), "topic": ["art", "sport", "art"] * 20}
    )
    edges = pandas.DataFrame({"source": names, "target": [*names[3:], *names[:3]]})
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    new = pandas.DataFrame({"id": ["q"], "age": [40]})
    links = pandas.DataFrame({"source": ["q"], "target": ["p3"]})

    def classify() -> object:
        data = agnn.read_tables(folder / "nodes.csv", folder / "edges.csv", label="topic")
        model = agnn.NodeClassifier("agnn", replicas=2, epochs=3).fit(data)
        return model.predict_new(new, links)

    run = agnn.evaluate("agnn", agnn.load_dataset("cora"), changes={"epochs": 3})
    client = TestClient(explore_app(Explorer([run])), base_url="http://127.0.0.1:8000")

    def look() -> object:
        return client.get("/api/around?node=31336").raise_for_status()

    def reproduce() -> object:
        out = str(folder / f"out-{len(list(folder.iterdir()))}")  # with nothing finished
        only = ["--methods", "gcn", "--datasets", "cora", "--seeds", "1"]
        return main(["reproduce", "table2", *only, "--quiet", "--out", out])

    train = ["train", "cora", "--replicas", "2", "--epochs", "3", "--quiet"]
    return {
        "`agnn train cora`": lambda: main(train),
        "two CSV files to a classifier to a new node": classify,
        "one node in the explorer, as its page asks for it": look,
        "one cell of `agnn reproduce table2`": reproduce,
    }


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
        with TemporaryDirectory() as folder:
            for walk, work in walks(Path(folder)).items():
                report(f"files that take part in {walk}", files_of(work), is_listed=is_listed)


if __name__ == "__main__":
    sys.path.insert(0, str(SOURCE))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="also print the modules")
    parser.add_argument("--no-run", action="store_true", help="leave out the walks")
    options = parser.parse_args()
    count(is_listed=options.list, has_run=not options.no_run)
