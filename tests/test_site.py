"""The builder of the site: what it refuses, and what it makes of links, menus and docstrings."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import agnn
from agnn.methods import get_method, method_names

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "docs"))

from checks import LARGEST, findings  # noqa: E402
from messages import GAP, messages  # noqa: E402
from notebooks import TUTORIALS, cells_of, notebook_path  # noqa: E402
from pages import (  # noqa: E402
    SiteError,
    check_menu,
    coloured,
    in_menu,
    menu,
    settings,
    with_code_blocks,
    with_headers,
    with_links,
    without_blank_lines,
)
from reference import _command, _docstring, field_notes, python_pages  # noqa: E402


def test_every_page_of_the_docs_is_in_the_menu_and_every_entry_exists() -> None:
    shown = set(in_menu(settings()["nav"]))
    docs = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert docs - shown == set()
    root = {path.name.lower() for path in ROOT.glob("*.md")}
    assert {page for page in shown - docs if not page.startswith("reference/")} <= root


def test_every_link_of_the_docs_leads_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT / "docs").as_posix()
        with_links(path.read_text(encoding="utf-8"), f"docs/{page}", page, tmp_path)


def test_everything_agnn_offers_is_described_on_a_generated_page() -> None:
    pages = python_pages()
    links = re.findall(r"\]\((\S+)#agnn\.\S+\.(\w+)\)", pages["reference/python/agnn.md"])
    assert {name for _, name in links} == set(agnn.__all__)
    for page, name in links:
        assert f"        - {name}\n" in pages[f"reference/python/{page}"]


def test_a_page_in_no_menu_an_entry_without_a_page_and_a_repeated_one_are_refused() -> None:
    nav = [{"Home": "index.md"}, {"More": [{"A": "a.md"}, {"B": "index.md"}]}]
    with pytest.raises(SiteError) as caught:
        check_menu(nav, ["index.md", "lost.md"])
    assert str(caught.value).splitlines() == [
        "lost.md: in no menu; add it to `nav` in mkdocs.yml.",
        "mkdocs.yml: 'a.md' does not exist.",
        "mkdocs.yml: 'index.md' is there twice.",
    ]


def test_a_folder_in_the_menu_stands_for_its_generated_pages() -> None:
    generated = {"reference/methods/all.md": "", "reference/methods/gcn.md": ""}
    filled = menu([{"R": [{"Methods": "reference/methods/"}]}], generated)
    assert list(in_menu(filled)) == list(generated)
    with pytest.raises(SiteError, match="no page is generated in 'reference/none/'"):
        menu([{"None": "reference/none/"}], generated)


def test_links_are_those_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()

    def moved(text: str, page: str = "explore.md") -> str:
        return with_links(text, f"docs/{page}", page, tmp_path)

    assert moved("[a](glossary.md#x)") == "[a](glossary.md#x)"
    assert moved("[how](../CONTRIBUTING.md)") == "[how](contributing.md)"
    assert moved("[the rows](../results)") == "the rows (`results`)"
    assert moved("```\n[a](none.md)\n```") == "```\n[a](none.md)\n```"
    assert moved("![speed](../benchmarks/results/gpu.svg)") == "![speed](assets/gpu.svg)"
    assert (tmp_path / "assets" / "gpu.svg").is_file()
    with pytest.raises(SiteError, match=r"docs/explore.md: 'none.md' does not exist"):
        moved("[a](none.md)")
    with pytest.raises(SiteError, match=r"'none.png' does not exist"):
        moved("![a](none.png)")


def test_dead_links_foreign_scripts_and_large_pages_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h2 id="here">x</h2>' + " " * LARGEST, encoding="utf-8")
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="https://example.org">4</a><img src="no.png" alt="x"><img src="b.html">'
        '<script src="https://example.org/x.js"></script>',
        encoding="utf-8",
    )
    assert findings(tmp_path) == [
        "a.html: loads 'https://example.org/x.js' from elsewhere.",
        "a.html: image 'b.html' has no words.",
        "a.html: 'b.html#gone': there is no 'gone' on that page.",
        "a.html: 'c.html' leads nowhere.",
        "a.html: 'no.png' leads nowhere.",
        f"b.html: {LARGEST + 20:,} bytes of HTML; at most {LARGEST:,}.",
    ]


def test_verdicts_are_marked_for_the_style_sheet() -> None:
    line = (
        "|  | verdict | -2.1 below | +0.2 within 2 se (z +0.5) "
        "| +0.4 within tolerance (z +3.0), nearest | not in the paper |"
    )
    assert coloured(line) == (
        '|  | verdict | <b class="v-below">-2.1 below</b> '
        '| <b class="v-within-2-se">+0.2 within 2 se (z +0.5)</b> '
        '| <b class="v-within-tolerance">+0.4 within tolerance (z +3.0), nearest</b> '
        "| not in the paper |"
    )
    assert coloured("| a | below |") == "| a | below |"


def test_pages_that_docstrings_name_are_links() -> None:
    assert "](../../notes/defaults.md) has the figures" in _docstring(get_method("agnn_plus"))
    assert "[Explanations](../../explanations.md)" in _command("explain")


def test_doctests_become_code() -> None:
    text = "Words:\n\n    >>> 1 + 1\n    2\n\nMore."
    assert with_code_blocks(text) == "Words:\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."


def test_every_input_error_can_be_found_by_its_words() -> None:
    found = messages(ROOT / "src" / "agnn")
    errors = [each for each in found if each.kind == "InputError"]
    assert len(errors) > 250
    assert [each for each in errors if not each.is_readable] == []
    known = "unknown method '…'"
    assert known in {form for each in errors for form in each.forms}


def test_messages_that_depend_on_the_case_are_found_in_all_their_forms(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "class InputError(AgnnError): ...\n"
        "def f(a, b):\n"
        "    word = 'many' if b else 'few'\n"
        "    raise InputError(f'too {word} rows: {len(a)}.' + ' Take others.')\n",
        encoding="utf-8",
    )
    (found,) = messages(tmp_path)
    assert (found.kind, found.module, found.line) == ("InputError", "m", 4)
    assert found.forms == tuple(f"too {word} rows: {GAP}. Take others." for word in ("many", "few"))


def test_messages_that_depend_on_the_row_of_a_loop_are_found(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "class InputError(AgnnError): ...\n"
        "def f(a):\n"
        "    for part, words in ((1, 'which is missing'), (2, 'which is there')):\n"
        "        raise InputError(f'the part {part} is named, {words}.')\n",
        encoding="utf-8",
    )
    (found,) = messages(tmp_path)
    ends = ("which is missing", "which is there")
    assert found.forms == tuple(f"the part {GAP} is named, {words}." for words in ends)


def test_the_messages_that_the_questions_explain_are_raised() -> None:
    page = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    forms = [form for each in messages(ROOT / "src" / "agnn") for form in each.forms]
    asked = re.findall(r"^### `(.*)`$", page, re.MULTILINE)
    assert len(asked) > 10
    for words in asked:
        assert any(form.startswith(words) for form in forms) or f'"{words}"' in source, words


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_has_the_cells_of_its_tutorial_and_small_outputs(name: str) -> None:
    path = notebook_path(name)
    book = json.loads(path.read_text(encoding="utf-8"))
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]
    assert found == cells_of(name), "python scripts/docs notebooks"
    assert path.stat().st_size < 50_000
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(each["output_type"] == "stream" for cell in code for each in cell["outputs"])


def test_headers_of_tables_are_not_empty_for_a_screen_reader() -> None:
    unseen = '<span class="unseen">column</span>'
    assert with_headers("| | b |\n|---|---|\n| | x |") == f"| {unseen} | b |\n|---|---|\n| | x |"
    assert with_headers("|  |  |\n| --- | --- |") == f"| {unseen} | {unseen} |\n| --- | --- |"
    assert with_headers("| a |\n\n| | c |") == "| a |\n\n| | c |"


def test_the_html_has_no_blank_lines_but_those_of_code() -> None:
    html = '<ul>\n\n    <li>a\n  b</li></ul>\n<pre class="x"><code>a:\n\n    b</code></pre>\n\n'
    assert without_blank_lines(html) == (
        '<ul>\n<li>a\nb</li></ul>\n<pre class="x"><code>a:\n\n    b</code></pre>\n'
    )


def test_a_screenshot_has_its_dark_form_in_dark_mode(tmp_path: Path) -> None:
    assert with_links("![x](screenshots/light.png)", "docs/index.md", "index.md", tmp_path) == (
        "![x](screenshots/light.png#only-light)![x](screenshots/dark.png#only-dark)"
    )


@pytest.mark.parametrize("name", method_names())
def test_every_hyper_parameter_is_described(name: str) -> None:
    method = get_method(name)
    notes = field_notes(method)
    assert {each.name for each in fields(method)} - set(notes) == set()
    assert [words for words in notes.values() if "noqa" in words] == []
