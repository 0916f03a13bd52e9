"""Imports point one way, private modules stay private, and nobody asks which model it has."""

from __future__ import annotations

import ast
import copy
import tomllib
from collections.abc import Iterator
from inspect import isabstract
from pathlib import Path

import grimp
import pytest
from importlinter import Contract
from importlinter.contracts.layers import LayersContract

import agnn
import agnn.kernels
import agnn.methods
import agnn.networks
from properties import fresh_python

SOURCE = Path(agnn.__file__).parent
SETTINGS = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
LINTER = SETTINGS["tool"]["importlinter"]
# Files whose job a package is. Everyone else reaches it through them, or inside a function.
JOBS = {
    "numba": ("kernels/*/numba_cpu.py", "kernels/_cpu/*.py", "kernels/_runtime/*.py"),
    "llvmlite": ("kernels/_cpu/*.py", "kernels/_runtime/*.py"),
    "triton": ("kernels/*/triton_*.py", "kernels/_gpu/*.py"),
    "matplotlib": (),
    "pandas": ("data/tables/*.py",),
    "pyarrow": ("data/tables/*.py",),
    "networkx": (),
    "distributed": (),
    "duckdb": (),
    "pymetis": (),
    "torch_geometric": ("pyg/*.py",),
    "onnx": (),
    "onnxruntime": (),
    "fastapi": ("web/_errors.py", "web/*/*.py"),
    "pydantic": ("web/*/*.py", "studies/_spec.py", "studies/_reading.py"),
    "starlette": ("web/_errors.py", "web/*/*.py"),
    "anywidget": ("web/explore/_widget.py",),
    "uvicorn": ("web/server.py", "web/_connections.py"),
    "typer": ("cli/*.py",),
    "rich": ("cli/*.py",),
}


def sources() -> Iterator[tuple[str, str]]:
    """Every module's path in the package and its text."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


MODULES = dict(sources())

# Their base classes and links say what a network can do.
NETWORKS = {
    name
    for name, kind in vars(agnn.networks).items()
    if isinstance(kind, type)
    and issubclass(kind, agnn.networks.NodeModel | agnn.methods.Method)
    and not isabstract(kind)
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Who imports whom, also inside functions and for type checking."""
    return grimp.build_graph("agnn", cache_dir=None)


@pytest.fixture(scope="module")
def layers() -> Contract:
    """The contract in pyproject.toml that `make lint` also checks."""
    (contract,) = (each for each in LINTER["contracts"] if each["type"] == "layers")
    options = {k: str(v) if isinstance(v, bool) else v for k, v in contract.items()}
    return LayersContract(contract["name"], {"root_packages": ["agnn"]}, options)


def is_kept(layers: Contract, graph: grimp.ImportGraph) -> bool:
    return layers.check(copy.deepcopy(graph), verbose=False).kept  # it removes ignored imports


def test_imports_point_one_way(graph, layers):
    assert is_kept(layers, graph), "`lint-imports` shows which one does not"


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("agnn.data._edges", "agnn.graph"),
        ("agnn.graph", "agnn.kernels"),
        ("agnn.networks", "agnn.methods"),
        ("agnn.errors", "agnn.data"),
        ("agnn.errors", "agnn.files"),
        ("agnn.methods", "agnn.runs"),
        ("agnn.explanation", "agnn.onnx"),
        ("agnn.pyg", "agnn.explanation"),
        ("agnn.studies", "agnn.report"),
        ("agnn.web", "agnn.cli"),
    ],
)
def test_an_import_that_is_turned_around_breaks_the_contract(graph, layers, importer, imported):
    assert not graph.direct_import_exists(importer=importer, imported=imported)
    turned = copy.deepcopy(graph)
    turned.add_import(importer=importer, imported=imported)
    assert not is_kept(layers, turned)


def private_imports(graph: grimp.ImportGraph) -> list[str]:
    """Imports of a private module from outside the package that it is in."""
    found = []
    for module in sorted(graph.modules):
        parts = module.split(".")
        first = next((k for k, part in enumerate(parts) if part.startswith("_")), None)
        if first is None:
            continue
        home = ".".join(parts[:first])
        found += [
            f"{importer} imports {module}"
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not f"{importer}.".startswith(f"{home}.")
        ]
    return found


def test_private_modules_are_imported_inside_their_package_only(graph):
    assert private_imports(graph) == []


def test_an_import_of_a_private_module_from_outside_is_found(graph):
    module = next(each for each in sorted(graph.modules) if each.startswith("agnn.data._"))
    planted = copy.deepcopy(graph)
    planted.add_import(importer="agnn.networks", imported=module)
    assert private_imports(planted) == [f"agnn.networks imports {module}"]


def test_other_packages_import_kernels_from_their_front(graph):
    inside = [
        f"{importer} imports {module}"
        for module in graph.find_descendants("agnn.kernels")
        for importer in graph.find_modules_that_directly_import(module)
        if not f"{importer}.".startswith("agnn.kernels.")
    ]
    assert inside == []


def taken_from_the_top(text: str) -> list[str]:
    """What a module takes from `agnn` itself, whose names load any package."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "agnn":
            found.append(node.attr)
        if isinstance(node, ast.ImportFrom) and node.module == "agnn":
            found += [each.name for each in node.names]
    packages = {path.stem for path in SOURCE.iterdir()}
    return [name for name in found if name != "__version__" and name not in packages]


@pytest.mark.parametrize("path", sorted(MODULES.keys() - {"__init__.py"}))
def test_no_module_reaches_another_through_the_top_of_the_package(path):
    assert taken_from_the_top(MODULES[path]) == []


def test_a_way_through_the_top_is_found():
    assert taken_from_the_top("from agnn import load_dataset") == ["load_dataset"]
    assert taken_from_the_top("import agnn\nagnn.load_dataset('cora')") == ["load_dataset"]
    assert taken_from_the_top("from agnn import __version__, networks") == []


def imports_by_string(text: str) -> list[str]:
    """Modules of this package that are imported by name, which the contract cannot see."""
    return [
        str(node.args[0].value)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("import_module", "import_extra"))
        if isinstance(node.args[0], ast.Constant) and str(node.args[0].value).startswith("agnn")
    ]


@pytest.mark.parametrize("path", MODULES)
def test_no_module_of_the_package_is_imported_by_a_string(path):
    assert imports_by_string(MODULES[path]) == []


def test_an_import_by_a_string_is_found():
    assert imports_by_string('import_module("agnn.report").page(run)') == ["agnn.report"]
    assert imports_by_string('importlib.import_module("onnx")') == []


def heavy_imports(path: str, text: str) -> list[str]:
    """Imports at the top of a module of packages that are not its job."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [each.name for each in node.names]
            for name in names if isinstance(node, ast.Import) else [str(node.module)]:
                package = name.split(".")[0]
                if not any(Path(path).match(job) for job in JOBS.get(package, ("*",))):
                    found.append(f"{path}: {package}")
    return found


@pytest.mark.parametrize("path", MODULES)
def test_heavy_packages_are_imported_where_they_work(path):
    assert heavy_imports(path, MODULES[path]) == []


def test_the_checker_of_heavy_packages_catches_them():
    assert heavy_imports("networks/layers.py", "import numba") == ["networks/layers.py: numba"]
    assert heavy_imports("data/edges.py", "from pandas import DataFrame") == [
        "data/edges.py: pandas"
    ]
    assert heavy_imports("networks/layers.py", "def f():\n    import numba") == []
    assert heavy_imports("kernels/adam/numba_cpu.py", "from numba import njit") == []


def models_asked_for(text: str) -> list[str]:
    """The networks and models whose class a module checks for by `isinstance`."""
    tree = ast.parse(text)
    own = {  # what the module calls them
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "agnn.networks"
        for each in node.names
        if each.name in NETWORKS
    } | {f"networks.{name}" for name in NETWORKS}
    return [
        ast.unparse(kind)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        for kind in ast.walk(node.args[1])
        if isinstance(kind, ast.Name | ast.Attribute) and ast.unparse(kind) in own
    ]


@pytest.mark.parametrize("path", [each for each in MODULES if not each.startswith("networks/")])
def test_models_are_asked_what_they_can_do_and_not_which_they_are(path):
    assert models_asked_for(MODULES[path]) == []


def test_a_check_for_a_model_is_found():
    assert {"AGNN", "GCN", "GAT"} <= NETWORKS
    assert models_asked_for("from agnn.networks import GCN\nisinstance(x, GCN | int)") == ["GCN"]
    assert models_asked_for("from agnn import networks\nisinstance(x, networks.GAT)") == [
        "networks.GAT"
    ]
    assert models_asked_for("from agnn.methods import ICA\nisinstance(x, ICA)") == []
    assert models_asked_for("from agnn.networks import Link\nisinstance(x, Link)") == []


@pytest.mark.parametrize("path", MODULES)
def test_no_file_is_a_drawer_for_everything(path):
    assert Path(path).stem.strip("_") not in {
        "utils", "util", "helpers", "helper", "common", "misc"
    }  # fmt: skip


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
