"""Checks of the built site: dead links, what comes from elsewhere, images, sizes."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from live import PAGE

LARGEST = 300_000  # bytes of a page's HTML
# What a page loads; a link that a reader follows may lead elsewhere.
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_FROM_THE_ROOT = ("404.html", PAGE)  # their addresses are those of a server
_UNLOADED = {"canonical", "prev", "next", "alternate"}  # kinds of `link` that fetch nothing


class _Page(HTMLParser):
    """The addresses and the names on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.images_without_words: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get(_LOADED.get(tag, "")) and found.get("rel") not in _UNLOADED:
            self.loaded.append(found[_LOADED[tag]])
        if tag == "img" and not found.get("alt"):
            self.images_without_words.append(found.get("src", ""))


def findings(site: Path) -> list[str]:
    """All that is wrong with the site in this folder, a line each."""
    pages = {
        path.relative_to(site).as_posix(): _read(path) for path in sorted(site.rglob("*.html"))
    }
    wrong = []
    for name, page in pages.items():
        size = (site / name).stat().st_size
        if size > LARGEST:
            wrong.append(f"{name}: {size:,} bytes of HTML; at most {LARGEST:,}.")
        foreign = [address for address in page.loaded if urlsplit(address).netloc]
        wrong += [f"{name}: loads '{address}' from elsewhere." for address in foreign]
        wrong += [f"{name}: image '{each}' has no words." for each in page.images_without_words]
        if name in _FROM_THE_ROOT:
            continue
        for address in [*page.links, *page.loaded]:
            complaint = _dead(site, name, address, pages)
            if complaint:
                wrong.append(f"{name}: {complaint}")
    return wrong


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _dead(site: Path, name: str, address: str, pages: dict[str, _Page]) -> str | None:
    """Why an address leads nowhere, or None."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = name
    if parts.path:
        path = (site / name).parent / unquote(parts.path)
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file() or not path.resolve().is_relative_to(site.resolve()):
            return f"'{address}' leads nowhere."
        target = path.resolve().relative_to(site.resolve()).as_posix()
    part = unquote(parts.fragment)
    if "=" in part:  # what the explorer shows
        return None
    if part and target in pages and part not in pages[target].names and part != "__top":
        return f"'{address}': there is no '{part}' on that page."
    return None
