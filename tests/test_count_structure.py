"""The script that counts the structure: each row of its table on a source made for the test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from count_structure import findings, is_participle, train_options  # noqa: E402

MODULE = """
def searched(a, b, c, d, e, f, g, h):
    x, y = 1, 2
    z, w = searched(1)
    return [
        1, 2,
    ]  # fmt: skip

class Chain:
    def run(self, a, b, c, d, e, f, g, *, h): ...
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    package = tmp_path / "agnn"
    package.mkdir()
    front = 'from agnn._module import Chain as Chain, searched\n__all__ = ["one", "two"]\n'
    (package / "__init__.py").write_text(front, encoding="utf-8")
    stub = "from agnn.data import read as read\nfrom . import data as data\n"
    (package / "__init__.pyi").write_text(stub, encoding="utf-8")
    (package / "_module.py").write_text(MODULE + '__all__ = ["three"]\n', encoding="utf-8")
    return tmp_path


def test_every_counted_thing_is_found_where_it_stands(source: Path) -> None:
    assert findings(source) == {
        "files in src": ["agnn/__init__.py", "agnn/_module.py"],
        "exported names": [
            "agnn/__init__.pyi: read",
            "agnn/__init__.py: Chain",
            "agnn/__init__.py: one",
            "agnn/__init__.py: two",
        ],
        "parallel assignments": ["agnn/_module.py:3"],
        "functions": ["agnn/_module.py:2 searched", "agnn/_module.py:10 run"],
        "participle names": ["agnn/_module.py:2 searched"],
        "`# fmt: skip`": ["agnn/_module.py:7"],
        "functions with more than 7 parameters": ["agnn/_module.py:2 searched"],
    }


@pytest.mark.parametrize("name", ["searched", "_told", "forward_joined", "hidden"])
def test_a_name_that_ends_in_a_participle_is_counted(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["search", "is_kept", "weighted_sum", "seed", "kept_rows"])
def test_a_verb_a_question_and_a_noun_are_not(name: str) -> None:
    assert not is_participle(name)


def test_the_options_of_train_are_those_of_its_help() -> None:
    options = train_options()
    assert {"--method", "--epochs", "--nodes"} <= set(options)
    assert len(options) == len(set(options))
