"""The examples in docstrings give what they show, and every public package has one."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import agnn

SOURCE = Path(agnn.__file__).parent


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


EXAMPLES = sorted(
    module_name(path) for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_module_run(name: str) -> None:
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_public_module_has_an_example_in_its_docstring() -> None:
    names = [module_name(path) for path in sorted(SOURCE.rglob("*.py"))]
    public = [name for name in names if not any(part[0] == "_" for part in name.split("."))]
    assert len(public) > 25
    assert [name for name in public if ">>> " not in (import_module(name).__doc__ or "")] == []
