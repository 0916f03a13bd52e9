"""Draw the pictures of docs/concepts.md again: `python scripts/concept_pictures.py`.

They are sketches of a few shapes each. Every picture has a light ground of its own, so that it
reads the same on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from agnn.tables import signed_number

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
INK, FAINT, GROUND = "#1a1a1a", "#b9b9b9", "#fffffe"
YES, NO, UNKNOWN = "#d55e00", "#0072b2", "#ffffff"
FOR, AGAINST = "#00734f", "#8a2a6b"
# Where the accounts of the sketch stand, and what is known of them.
PLACES = {
    "A": (90, 60), "B": (160, 110), "C": (70, 140), "D": (150, 190), "E": (240, 60),
    "F": (290, 130), "G": (230, 180),
}  # fmt: skip
EDGES = ("AB", "AC", "BC", "BD", "CD", "BE", "EF", "EG", "FG")
LABELS = {"A": YES, "C": YES, "E": NO, "G": NO}


def picture(name: str, title: str, size: tuple[int, int], shapes: Iterable[str]) -> Path:
    """Write one SVG file."""
    width, height = size
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>',
        *shapes,
        "</svg>",
    ]
    path = FOLDER / f"concept-{name}.svg"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def text(x: float, y: float, content: str, anchor: str = "start", fill: str = INK) -> str:
    """Return a line of text."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{content}</text>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled box with a thin outline."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" '
        f'stroke="{INK}" stroke-width="0.8"/>'
    )


def line(start: Sequence[float], end: Sequence[float], *, is_dashed: bool = False) -> str:
    """Return an edge."""
    dashes = ' stroke-dasharray="5 4"' if is_dashed else ""
    return (
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="{FAINT}" '
        f'stroke-width="2"{dashes}/>'
    )


def node(place: Sequence[float], letter: str, fill: str, *, is_dashed: bool = False) -> str:
    """Return a node with its letter."""
    dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
    ink = INK if fill == UNKNOWN else "#ffffff"
    return (
        f'<circle cx="{place[0]}" cy="{place[1]}" r="16" fill="{fill}" stroke="{INK}" '
        f'stroke-width="1.5"{dashes}/>' + text(place[0], place[1] + 5, letter, "middle", ink)
    )


def sketch(labels: dict[str, str], left: float = 0.0) -> list[str]:
    """Return the small graph, moved to the right by some pixels."""
    places = {letter: (x + left, y) for letter, (x, y) in PLACES.items()}
    return [
        *(line(places[one], places[other]) for one, other in EDGES),
        *(node(place, letter, labels.get(letter, UNKNOWN)) for letter, place in places.items()),
    ]


def legend(x: float, y: float) -> list[str]:
    """Return what the colours of nodes mean."""
    rows = ((YES, "label: fraud"), (NO, "label: no fraud"), (UNKNOWN, "no label"))
    return [
        part
        for i, (fill, words) in enumerate(rows)
        for part in (box(x, y + 24 * i, 14, 14, fill), text(x + 22, y + 12 + 24 * i, words))
    ]


def graph() -> Path:
    """Two tables and the graph that they are."""
    rows = ["account  fraud", "A        yes", "B", "C        yes", "…"]
    shapes = [
        f'<g font-family="ui-monospace, monospace">{text(20, 44 + 22 * i, row)}</g>'.replace(
            "<text ", '<text xml:space="preserve" '
        )
        for i, row in enumerate(rows)
    ]
    links = ["payer  payee", "A      B", "A      C", "…"]
    shapes += [
        f'<g font-family="ui-monospace, monospace">{text(20, 174 + 22 * i, row)}</g>'.replace(
            "<text ", '<text xml:space="preserve" '
        )
        for i, row in enumerate(links)
    ]
    shapes += [text(165, 130, "→", "middle"), *sketch(LABELS, 150), *legend(490, 80)]
    return picture("graph", "Two tables, and the graph that they are", (630, 260), shapes)


def replicas() -> Path:
    """Three models, one mean."""
    shares = (0.9, 0.7, 0.8)
    shapes = []
    for i, share in enumerate(shares):
        y = 40 + 50 * i
        shapes += [
            text(20, y + 16, f"replica {i + 1}, seed {i}"),
            box(150, y, 200, 24, NO),
            box(150, y, 200 * share, 24, YES),
            text(360, y + 16, f"fraud {100 * share:.0f} %"),
        ]
    shapes += [
        text(20, 214, "their mean"),
        box(150, 198, 200, 24, NO),
        box(150, 198, 160, 24, YES),
        text(360, 214, "fraud 80 %: the ensemble"),
    ]
    return picture("replicas", "Three replicas and their mean", (560, 245), shapes)


def folds() -> Path:
    """Which fold does what for which replica."""
    kinds = {"test": "#e9b44c", "train": "#cfe0ee"}
    shapes = [text(170 + 80 * i, 34, f"fold {i + 1}", "middle") for i in range(5)]
    for replica in range(5):
        y = 50 + 36 * replica
        shapes.append(text(20, y + 18, f"replica {replica + 1}"))
        for fold in range(5):
            kind = "test" if fold == replica else "train"
            shapes += [
                box(132 + 80 * fold, y, 76, 28, kinds[kind]),
                text(170 + 80 * fold, y + 18, kind, "middle"),
            ]
    return picture("folds", "Every fold is tested once", (560, 245), shapes)


def new_nodes() -> Path:
    """Nodes that were there in training, and one that comes later."""
    shapes = [
        line((410, 80), (440, 130), is_dashed=True),
        line((290, 130), (425, 130), is_dashed=True),
        *sketch(LABELS),
        node((440, 130), "N", UNKNOWN, is_dashed=True),
        node((410, 70), "M", UNKNOWN, is_dashed=True),
        text(180, 232, "there in training: transductive", "middle"),
        text(440, 180, "comes later: new nodes", "middle"),
    ]
    return picture("new-nodes", "Known and new nodes", (560, 250), shapes)


def confidence() -> Path:
    """Of a hundred predictions at 80 percent, eighty are right."""
    shapes = [text(20, 30, "100 predictions with a confidence of 80 %")]
    for i in range(100):
        x = 20 + 20 * (i % 25)
        y = 46 + 20 * (i // 25)
        shapes.append(box(x, y, 14, 14, FOR if i < 80 else UNKNOWN))
    shapes += [
        box(20, 140, 14, 14, FOR),
        text(42, 152, "right: 80"),
        box(150, 140, 14, 14, UNKNOWN),
        text(172, 152, "wrong: 20"),
    ]
    return picture("confidence", "What a confidence of 80 percent means", (560, 170), shapes)


def contribution() -> Path:
    """The lead of a class as a sum."""
    parts = (
        ("constant", -0.19), ("A343 itself", 1.20), ("A407, a fraud", 0.57),
        ("A204, a fraud", 0.57), ("A114 and A226, frauds", 0.80), ("5 others", 0.05),
    )  # fmt: skip
    unit, zero, total = 80.0, 230.0, 0.0
    shapes = []
    for i, (words, value) in enumerate(parts):
        y = 24 + 30 * i
        left = zero + unit * min(total, total + value)
        total += value
        shapes += [
            text(20, y + 15, words),
            box(left, y, unit * abs(value), 20, FOR if value > 0 else AGAINST),
            text(left + unit * abs(value) + 8, y + 15, signed_number(value, 2)),
        ]
    y = 24 + 30 * len(parts)
    shapes += [
        text(20, y + 15, "lead of “fraud”"),
        box(zero, y, unit * total, 20, "#555555"),
        text(zero + unit * total + 8, y + 15, f"{total:+.2f}"),
    ]
    return picture("contribution", "A prediction as a sum of contributions", (560, 250), shapes)


if __name__ == "__main__":
    for draw in (graph, replicas, folds, new_nodes, confidence, contribution):
        print(draw())
