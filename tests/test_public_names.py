"""What `import agnn` offers, and what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

import agnn
from properties import fresh_python


def test_every_public_name_is_there_and_dir_shows_it():
    for name in agnn.__all__:
        assert getattr(agnn, name) is not None
    assert set(agnn.__all__) <= set(dir(agnn))
    assert len(set(agnn.__all__)) == len(agnn.__all__)


def test_every_package_is_an_attribute():
    folder = Path(agnn.__file__).parent
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert {name for name in dir(agnn) if not name.startswith("_")} - set(agnn.__all__) == (
        packages | modules
    )
    program = "import agnn; print(agnn.data.NodeData.__name__, agnn.metrics.Summary.__name__)"
    assert fresh_python(program).split() == ["NodeData", "Summary"]


def test_importing_agnn_loads_none_of_its_packages():
    program = "import sys, agnn; print([name for name in sys.modules if name.startswith('agnn.')])"
    assert fresh_python(program).strip() == "[]"
    assert "torch" not in fresh_python("import sys, agnn; print(*sys.modules)").split()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'evalute'"):
        agnn.evalute  # noqa: B018


def test_the_model_and_its_layer_for_pyg_are_where_one_looks_for_them():
    assert agnn.AGNN is agnn.networks.AGNN
    assert agnn.AGNNConv is agnn.pyg.AGNNConv
    absent = "import sys; sys.modules['torch_geometric'] = None\nimport agnn\n"
    program = absent + "try:\n    agnn.AGNNConv\nexcept agnn.UnavailableError as e:\n    print(e)\n"
    assert "pip install torch_geometric" in fresh_python(program)


def test_the_demo_needs_no_extra():
    extras = ("pandas", "pyarrow", "networkx", "optuna", "fastapi", "uvicorn", "onnx")
    absent = f"import sys\nfor name in {extras!r}:\n    sys.modules[name] = None\n"
    program = "from agnn.cli import main\nmain(['demo', '--help'])\nimport agnn.report, agnn.runs\n"
    assert "Usage" in fresh_python(absent + program)
