import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_and_says_something(path: Path) -> None:
    done = subprocess.run(  # noqa: S603 (our own files)
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_example_is_longer_than_forty_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40
