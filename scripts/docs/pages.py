"""The site's Markdown, put together in one folder: docs/, some root files, generated pages."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from agnn.palette import style_of

ROOT = Path(__file__).resolve().parents[2]
# Files of the repository's root that are pages of the site.
ROOT_PAGES = {
    "README.md": "index.md",  # links to it; the page itself is docs/index.md
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_SHOWN_AS_IS = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
_HEADER = re.compile(r"^ *\|.*\|(?=\n *\|[-| :]+\|$)", re.MULTILINE)
_DOCTEST = re.compile(r"^( *)>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_WORDS = "within 2 se|within tolerance|same|above|below|missing"
_VERDICT = re.compile(rf"(?<=\| )([^|]*?\b({_WORDS})\b[^|]*?)(?= \|)")


class SiteError(Exception):
    """Something on the site is wrong; each line says what."""


def settings() -> dict[str, Any]:
    """What mkdocs.yml says."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return found


def stage(generated: Mapping[str, str], folder: Path) -> list[str]:
    """Write all pages to `folder`; returns their names."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.ipynb_checkpoints"))
    modes = (("light", "default"), ("dark", "slate"))  # the palette's name, and the theme's
    rules = [style_of(mode, f'[data-md-color-scheme="{scheme}"]') for mode, scheme in modes]
    (folder / "assets" / "palette.css").write_text("".join(rules), encoding="utf-8")
    for name, page in ROOT_PAGES.items():
        if not (folder / page).exists():
            shutil.copyfile(ROOT / name, folder / page)
    for path in sorted(folder.rglob("*.md")):
        page = path.relative_to(folder).as_posix()
        own = ROOT / "docs" / page
        names = (name for name, to in ROOT_PAGES.items() if to == page)
        source = f"docs/{page}" if own.exists() else next(names)
        text = with_links(path.read_text(encoding="utf-8"), source, page, folder)
        text = coloured(text) if page == "reproduction.md" else text
        path.write_text(with_headers(text), encoding="utf-8")
    for page, text in generated.items():
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_headers(text), encoding="utf-8")
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def with_links(text: str, source: str, page: str, folder: Path) -> str:
    """The text with links as the site has them.

    Root files are pages, images from elsewhere in the repository are copied, and a link to any
    other file of the repository becomes its name: the site does not hold it.
    """

    def moved(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        address, hash_, part = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not address:
            return match[0]
        file = (ROOT / source).parent / address
        try:
            name = file.resolve().relative_to(ROOT).as_posix()
        except ValueError:
            raise SiteError(f"{source}: '{target}' is outside of the repository.") from None
        if not file.exists() and not name.startswith("docs/reference/"):  # these are generated
            raise SiteError(f"{source}: '{target}' does not exist.")
        if name in ROOT_PAGES:
            name = f"docs/{ROOT_PAGES[name]}"
        elif not name.startswith("docs/"):
            if not mark:
                return f"{words} (`{name}`)" if words.strip("`") != name else f"`{name}`"
            copy = folder / "assets" / file.name
            shutil.copyfile(file, copy)
            name = f"docs/assets/{file.name}"
        up = "../" * page.count("/")
        link = f"{mark}[{words}]({up}{name.removeprefix('docs/')}{hash_}{part})"
        if mark and name == "docs/screenshots/light.png":  # in dark mode, the same view in dark
            dark = link.replace("light.png", "dark.png#only-dark")
            return f"{link.replace('light.png', 'light.png#only-light')}{dark}"
        return link

    parts = _FENCE.split(text)
    return "".join(each if each.startswith("```") else _LINK.sub(moved, each) for each in parts)


def with_headers(text: str) -> str:
    """The text with a word for screen readers in every empty cell of a table's header."""

    def filled(match: re.Match[str]) -> str:
        return re.sub(r"\|\s*(?=\|)", '| <span class="unseen">column</span> ', match[0])

    return _HEADER.sub(filled, text)


def without_blank_lines(html: str) -> str:
    """The HTML without empty lines and margins, except where they are shown."""
    parts = _SHOWN_AS_IS.split(html)
    return "".join(
        each if each.startswith("<pre") else re.sub(r"\s*\n\s*", "\n", each) for each in parts
    )


def coloured(text: str) -> str:
    """The page of the reproduction with its verdicts marked for the style sheet."""

    def marked(line: str) -> str:
        if not line.startswith("|  | verdict |"):
            return line
        return _VERDICT.sub(lambda m: f'<b class="v-{m[2].replace(" ", "-")}">{m[1]}</b>', line)

    return "\n".join(map(marked, text.split("\n")))


def menu(nav: list[Any], generated: Mapping[str, str]) -> list[Any]:
    """The menu with generated folders replaced by their pages."""
    filled: list[Any] = []
    for entry in nav:
        ((title, what),) = entry.items()
        if isinstance(what, list):
            filled.append({title: menu(what, generated)})
        elif what.endswith("/"):
            inside = [page for page in generated if page.startswith(what)]
            if not inside:
                raise SiteError(f"mkdocs.yml: no page is generated in '{what}'.")
            filled.append({title: inside})
        else:
            filled.append(entry)
    return filled


def in_menu(nav: list[Any]) -> Iterator[str]:
    """The pages of a menu."""
    for entry in nav:
        for what in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(what, list):
                yield from in_menu(what)
            else:
                yield what


def check_menu(nav: list[Any], pages: list[str]) -> None:
    """Refuse a page that no menu shows, a page shown twice, and an entry without a page."""
    shown = list(in_menu(nav))
    wrong = [
        f"{page}: in no menu; add it to `nav` in mkdocs.yml." for page in pages if page not in shown
    ]
    wrong += [f"mkdocs.yml: '{page}' does not exist." for page in shown if page not in pages]
    wrong += [
        f"mkdocs.yml: '{page}' is there twice." for page in set(shown) if shown.count(page) > 1
    ]
    if wrong:
        raise SiteError("\n".join(wrong))


def with_code_blocks(text: str) -> str:
    """The text with each doctest, up to the next empty line, between fences."""

    def fenced(match: re.Match[str]) -> str:
        margin = match[1]
        lines = [line.removeprefix(margin) for line in match[0].split("\n")]
        return "\n".join(["```pycon", *lines, "```"])

    return _DOCTEST.sub(fenced, text)
