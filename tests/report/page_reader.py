"""A page as a browser would take it apart."""

from __future__ import annotations

import re
from html.parser import HTMLParser

ADDRESSES = {
    "src", "href", "xlink:href", "srcset", "action", "data", "poster", "background", "cite",
    "formaction", "manifest", "ping", "longdesc", "usemap",
}  # fmt: skip
NEVER = {"link", "script", "iframe", "object", "embed", "base", "form", "video", "audio", "source"}


class PageReader(HTMLParser):
    """Collects the tags, their attributes and the words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    def attributes(self, name: str) -> list[str]:
        return [own[name] or "" for _, own in self.tags if name in own]


def assert_asks_for_nothing(page: str) -> None:
    """No address leads out of the page, no element could load one, and the policy forbids it."""
    read = PageReader(page)
    names = set(read.attributes("id"))
    for tag, own in read.tags:
        assert tag not in NEVER
        for name, value in own.items():
            assert not name.startswith("on"), f"{tag} has a script in '{name}'"
            if name in ADDRESSES:
                address = str(value)
                assert address.startswith(("#", "data:image/")), f"{tag} {name}={address[:80]}"
                assert not address.startswith("#") or address[1:] in names, f"{address} is nowhere"
            elif name in ("style", "clip-path", "fill", "stroke", "filter", "mask"):
                for inside in re.findall(r"url\(([^)]*)\)", str(value)):
                    assert inside.strip("'\"").startswith("#")
    styles = "".join(re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL))
    assert "@import" not in styles
    assert "url(" not in styles
    policy = [own["content"] for _, own in read.tags if own.get("http-equiv")]
    assert len(policy) == 1
    assert "default-src 'none'" in str(policy[0])


def assert_names_are_unique(page: str) -> None:
    names = PageReader(page).attributes("id")
    assert len(set(names)) == len(names)
