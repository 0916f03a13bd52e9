"""Without torch_geometric the package works, and its PyG layer says what is missing."""

from __future__ import annotations

from properties import fresh_python

ABSENT = "import sys; sys.modules['torch_geometric'] = None\n"


def test_without_pyg_the_error_names_the_command_to_install_it():
    program = ABSENT + (
        "from agnn.errors import UnavailableError\n"
        "try:\n    from agnn.pyg import AGNNConv\n"
        "except UnavailableError as error:\n    print(error)\n"
    )
    assert "pip install torch_geometric" in fresh_python(program)


def test_without_pyg_the_rest_of_the_package_is_there():
    program = (
        ABSENT + "import agnn, agnn.networks, agnn.runs; print(agnn.load_dataset('cora').nodes)"
    )
    assert fresh_python(program).strip() == "2708"


def test_the_rest_of_the_package_does_not_import_pyg():
    program = "import sys, agnn.runs, agnn.explanation, agnn.cli; print(*sys.modules)"
    assert "torch_geometric" not in fresh_python(program).split()
