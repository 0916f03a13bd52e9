"""Imports only point left, and heavy packages are imported only where they work."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import agnn
from properties import fresh_python

SOURCE = Path(agnn.__file__).parent
ROOMS = (
    "errors", "files", "data", "metrics", "graph", "kernels", "nn", "training", "methods", "runs",
    "explanation", "pyg", "onnx", "experiments", "report", "estimator", "web", "cli",
)  # fmt: skip
# Files whose job a package is. Everyone else reaches it through them, or inside a function.
JOBS = {
    "numba": ("kernels/*/numba_cpu.py", "kernels/simd.py", "kernels/exponential.py"),
    "llvmlite": ("kernels/simd.py",),
    "triton": ("kernels/*/triton_*.py", "kernels/triton_*.py"),
    "matplotlib": ("report/*.py",),
    "pandas": ("data/tables/*.py",),
    "pyarrow": ("data/tables/*.py",),
    "networkx": (),
    "torch_geometric": ("pyg/*.py",),
    "onnx": (),
    "onnxruntime": (),
    "fastapi": ("web/_errors.py", "web/*/*.py"),
    "pydantic": ("web/*/*.py", "experiments/_spec.py", "experiments/_reading.py"),
    "starlette": ("web/_errors.py", "web/*/*.py"),
    "uvicorn": ("web/server.py", "web/_connections.py"),
    "typer": ("cli/*.py", "cli.py"),
    "rich": ("cli/*.py", "cli.py"),
}


def sources() -> Iterator[tuple[str, str]]:
    """Every module's path in the package and its text."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


def room_of(path: str) -> str:
    room = path.split("/")[0].removesuffix(".py")
    return "cli" if room == "__main__" else room


def imported(tree: ast.AST) -> Iterator[str]:
    """The full names that a tree imports, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def through_the_front_door(tree: ast.AST) -> Iterator[str]:
    """What a module that says `import agnn` takes from it: `agnn.nn` is an import too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "agnn":
            yield f"agnn.{node.attr}"


def wrong_turns(path: str, text: str) -> list[str]:
    """The imports of a module that do not point left, or reach inside the kernels."""
    room, found, tree = room_of(path), [], ast.parse(text)
    if path == "__init__.py":  # the front door opens every room, on first use
        return []
    for name in (*imported(tree), *through_the_front_door(tree)):
        parts = name.split(".")
        if parts[0] != "agnn" or name in ("agnn", "agnn.__version__"):
            continue
        target = parts[1]
        if target not in ROOMS:
            found.append(f"{path}: '{name}' is in no room")
        elif ROOMS.index(target) > ROOMS.index(room):
            found.append(f"{path}: {room} stands left of {target}")
        elif target == "kernels" and room != "kernels" and is_inside_kernels(parts):
            found.append(f"{path}: '{name}' is inside kernels; import it from agnn.kernels")
    return found


def is_inside_kernels(parts: list[str]) -> bool:
    """Whether agnn.kernels.a[.b] names a module below the door rather than something it offers."""
    below = SOURCE / "kernels" / parts[2] if len(parts) > 2 else None
    is_module = below is not None and (below.is_dir() or below.with_suffix(".py").is_file())
    return len(parts) > 3 or (is_module and parts[2] not in door())


def door() -> set[str]:
    """The names that agnn.kernels offers."""
    tree = ast.parse((SOURCE / "kernels" / "__init__.py").read_text(encoding="utf-8"))
    return {n for node in tree.body if isinstance(node, ast.ImportFrom) for n in
            (alias.asname or alias.name for alias in node.names)}  # fmt: skip


def heavy_imports(path: str, text: str) -> list[str]:
    """Imports at the top of a module of packages that are not its job."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in imported(node):
                package = name.split(".")[0]
                if not any(Path(path).match(job) for job in JOBS.get(package, ("*",))):
                    found.append(f"{path}: {package}")
    return found


MODULES = dict(sources())


@pytest.mark.parametrize("path", MODULES)
def test_imports_only_point_left(path):
    assert room_of(path) in (*ROOMS, "__init__")
    assert wrong_turns(path, MODULES[path]) == []


@pytest.mark.parametrize("path", MODULES)
def test_heavy_packages_are_imported_where_they_work(path):
    assert heavy_imports(path, MODULES[path]) == []


@pytest.mark.parametrize("path", MODULES)
def test_no_file_is_a_drawer_for_everything(path):
    assert Path(path).stem not in {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("data/edges.py", "from agnn.graph import Graph"),
        ("graph/graph.py", "import agnn.kernels"),
        ("graph/graph.py", "def f():\n    from agnn.training import train"),
        ("nn/layers.py", "if TYPE_CHECKING:\n    from agnn.methods import Method"),
        ("training/loop.py", "from agnn import methods"),
        ("errors.py", "from agnn.data import Split"),
        ("nn/layers.py", "from agnn.kernels.cosine_attention.op import cosine_attention"),
        ("nn/layers.py", "from agnn.kernels import simd"),
        ("nn/layers.py", "import agnn.kernels.threads"),
        ("methods/agnn.py", "from agnn import load_dataset"),
        ("methods/agnn.py", "import agnn\nagnn.load_dataset('cora')"),
        ("methods/agnn.py", "import agnn\nagnn.runs.evaluate()"),
    ],
)
def test_the_checker_catches_an_import_that_is_turned_around(path, text):
    assert len(wrong_turns(path, text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("graph/graph.py", "from agnn.errors import InputError\nfrom agnn.data import Split"),
        ("nn/layers.py", "from agnn.kernels import dropout, cosine_attention\nimport torch"),
        ("kernels/checks.py", "from agnn.kernels.simd import LANES"),
        ("methods/agnn.py", "from agnn import nn"),
        ("__init__.py", "from agnn.runs import evaluate"),
        ("runs/devices.py", "import agnn\nprint(agnn.__version__)"),
        ("cli/app.py", "from agnn import __version__"),
    ],
)
def test_the_checker_lets_the_right_ones_through(path, text):
    assert wrong_turns(path, text) == []


def test_the_checker_of_heavy_packages_catches_them():
    assert heavy_imports("nn/layers.py", "import numba") == ["nn/layers.py: numba"]
    assert heavy_imports("data/edges.py", "from pandas import DataFrame") == [
        "data/edges.py: pandas"
    ]
    assert heavy_imports("nn/layers.py", "def f():\n    import numba") == []
    assert heavy_imports("kernels/adam/numba_cpu.py", "from numba import njit") == []


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import agnn", ("torch", "numba", "scipy", "numpy", "matplotlib")),
        ("import agnn.kernels, agnn.methods", ("numba", "triton", "matplotlib", "pandas", "scipy")),
    ],
)
def test_importing_is_cheap(statement, absent):
    program = f"import sys; {statement}; print(*[m for m in {absent!r} if m in sys.modules])"
    assert fresh_python(program).split() == []
