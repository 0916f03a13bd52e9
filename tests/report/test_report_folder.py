"""The demo's folder: replaced as a whole, and only where it is the demo's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from agnn.cli._report import check_demo_folder, demo_folder
from agnn.errors import InputError
from agnn.report import write_run_figures
from agnn.report._rendering import figure_style, png, svg


def write_demo(folder: Path, text: str) -> None:
    with demo_folder(folder) as draft:
        (draft / "index.html").write_text(text)
        (draft / "run").mkdir()
        (draft / "run" / "config.json").write_text(text)


def write_half_a_demo(folder: Path) -> None:
    with demo_folder(folder) as draft:
        (draft / "index.html").write_text("half")
        raise KeyboardInterrupt("stop")


def test_a_demo_can_be_written_and_written_again(tmp_path: Path) -> None:
    for text in ("first", "second"):
        write_demo(tmp_path / "new" / "demo", text)
        assert (tmp_path / "new" / "demo" / "run" / "config.json").read_text() == text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["demo"]


def test_a_failed_write_keeps_the_earlier_demo_whole(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo", "first")
    with pytest.raises(KeyboardInterrupt, match="stop"):
        write_half_a_demo(tmp_path / "demo")
    assert (tmp_path / "demo" / "index.html").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_a_failed_swap_puts_the_earlier_demo_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_demo(tmp_path / "demo", "first")
    rename = Path.rename

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(OSError, match="No space"):
        write_demo(tmp_path / "demo", "second")
    assert (tmp_path / "demo" / "index.html").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.parametrize("marker", [None, "{", "[]", "{}", '{"made_by": "me", "files": []}'])
def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path, marker: str | None) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("years of work")
    if marker is not None:
        (folder / "demo.json").write_text(marker)
    with pytest.raises(InputError, match=r"was not made by `agnn demo`; choose another --out"):
        write_demo(folder, "demo")
    assert (folder / "chapter.txt").read_text() == "years of work"


def test_a_file_that_someone_put_into_a_demo_is_not_deleted(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo", "first")
    (tmp_path / "demo" / "run" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"also holds 'run/notes\.txt'.*move it away"):
        write_demo(tmp_path / "demo", "second")
    assert (tmp_path / "demo" / "run" / "notes.txt").read_text() == "mine"


def test_a_link_to_a_demo_is_not_replaced(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo", "first")
    (tmp_path / "link").symlink_to(tmp_path / "demo")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(InputError, match="was not made by"):
            check_demo_folder(tmp_path / name)


def test_a_parent_that_cannot_be_written_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_demo(tmp_path / "demo", "first")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="not writable"):
        check_demo_folder(tmp_path / "demo")
    with pytest.raises(InputError, match="not writable"):
        check_demo_folder(tmp_path / "other")


def test_the_marker_lists_what_was_written(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo", "first")
    marker = json.loads((tmp_path / "demo" / "demo.json").read_text())
    assert marker["files"] == ["demo.json", "index.html", "run/config.json"]


def test_both_files_of_a_figure_are_in_the_style_of_the_page(tmp_path):
    def line():
        with figure_style():
            figure = Figure()
            figure.add_subplot().plot([1, 2])
        return figure

    with figure_style():
        figure = line()
        expected = png(figure), svg(figure)
    write_run_figures(tmp_path / "figures", {"line": (line(), "A line.")})
    found = (tmp_path / "figures" / "line.png").read_bytes()
    assert (found, (tmp_path / "figures" / "line.svg").read_text()) == expected
