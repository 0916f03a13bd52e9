"""Build the site: `python scripts/docs build`, or `serve` to read it at http://localhost:8000.

`python scripts/docs notebooks` runs the tutorials that are also notebooks and writes them again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml
from checks import findings
from live import PAGE, write_live_page
from notebooks import write_notebooks
from pages import ROOT, SiteError, check_menu, menu, settings, stage, without_blank_lines
from reference import generated_pages

BUILD = ROOT / "build"


def prepare() -> Path:
    """Write the pages and the settings that the generator reads; returns the settings."""
    generated = generated_pages()
    options = settings()
    pages = stage(generated, ROOT / options["docs_dir"])
    write_live_page(ROOT / options["docs_dir"])
    options["nav"] = menu(options["nav"], generated)
    check_menu(options["nav"], pages)
    for key in ("docs_dir", "site_dir"):  # relative to the file, which is beside them
        options[key] = (ROOT / options[key]).relative_to(BUILD).as_posix()
    python = options["plugins"][-1]["mkdocstrings"]["handlers"]["python"]
    python["paths"] = ["../src"]
    python["options"]["extensions"] = [f"../{path}" for path in python["options"]["extensions"]]
    file = BUILD / "mkdocs.yml"
    file.write_text(yaml.safe_dump(options, sort_keys=False), encoding="utf-8")
    return file


def build() -> None:
    """Build and check the site."""
    start = time.perf_counter()
    file = prepare()
    site = ROOT / settings()["site_dir"]
    shutil.rmtree(site, ignore_errors=True)
    program = Path(sys.executable).parent / "zensical"
    command = [str(program), "build", "--strict", "--config-file", str(file)]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}  # docstrings.py imports its neighbour
    done = subprocess.run(command, capture_output=True, text=True, env=environment)  # noqa: S603
    if done.returncode:
        raise SiteError(done.stdout + done.stderr)
    for page in set(site.rglob("*.html")) - {site / PAGE}:  # it has scripts
        page.write_text(without_blank_lines(page.read_text(encoding="utf-8")), encoding="utf-8")
    # A page that is opened as a file cannot fetch the index; the theme then reads this program.
    index = (site / "search.json").read_text(encoding="utf-8")
    (site / "search.js").write_text(f"var __index = {index};\n", encoding="utf-8")
    wrong = findings(site)
    if wrong:
        raise SiteError("\n".join(wrong))
    pages = len(list(site.rglob("*.html")))
    print(f"{pages} pages in {site.relative_to(ROOT)}, {time.perf_counter() - start:.0f} s")
    print("`make docs-serve` shows them with search, which browsers do not allow in files.")


def main(words: list[str]) -> int:
    """The exit code; what is wrong is printed."""
    if words not in (["build"], ["serve"], ["notebooks"]):
        print(__doc__)
        return 2
    if words == ["notebooks"]:
        write_notebooks()
        return 0
    try:
        build()
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    if words == ["serve"]:
        site = str(ROOT / settings()["site_dir"])
        address = ["--bind", "127.0.0.1", "--directory", site, "8000"]
        command = [sys.executable, "-m", "http.server", *address]
        return subprocess.call(command)  # noqa: S603 (our own words)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
