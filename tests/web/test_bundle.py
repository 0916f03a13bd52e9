"""The committed bundle of the shared page is what the explorer's modules give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import agnn

STATIC = Path(agnn.__file__).parent / "web" / "explore" / "static"
TOOLS = Path(__file__).parents[2] / "scripts" / "js"
NODE = shutil.which("node")


@pytest.mark.skipif(
    NODE is None or not (TOOLS / "node_modules").is_dir(),
    reason="Node or its packages are missing; `make bundle-js` gets the packages",
)
def test_the_bundle_is_what_the_modules_give(tmp_path: Path) -> None:
    command = [str(NODE), str(TOOLS / "bundle.mjs"), str(tmp_path / "bundle.js")]
    subprocess.run(command, check=True)  # noqa: S603 (our own script)
    expected = (tmp_path / "bundle.js").read_text(encoding="utf-8")
    assert (STATIC / "shared.bundle.js").read_text(encoding="utf-8") == expected, "make bundle-js"


def test_the_bundle_can_stand_inside_a_page_and_asks_nobody() -> None:
    script = (STATIC / "shared.bundle.js").read_text(encoding="utf-8")
    assert "</script" not in script.lower()
    assert "import(" not in script
