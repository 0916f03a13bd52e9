"""The colours of all pages and pictures, for light and dark grounds.

The explorer, the report, the pictures in notebooks, the terminal and the documentation take their
colours from here. Seven colours belong to classes. What speaks for a prediction and what speaks
against it have two that no class has, so that a colour never has two meanings in one picture.

>>> from agnn.palette import CLASSES, FOR
>>> FOR.light in CLASSES
False
"""

from __future__ import annotations

from typing import Final, NamedTuple

# Okabe and Ito's, which can be told apart without full colour vision; neighbours in the list
# differ in brightness too.
CLASSES: Final = ("#e69f00", "#0072b2", "#f0e442", "#d55e00", "#56b4e9", "#009e73", "#cc79a7")


class Shade(NamedTuple):
    """One colour as it is on a light and on a dark ground."""

    light: str  # #rrggbb
    dark: str
    terminal: str = ""  # a name, which terminals show as their own theme has it


# Violet and red: with full colour vision at least 30 (CIELAB) away from every class and 70 apart.
# Without red or green vision they are at least 55 apart.
FOR: Final = Shade("#4527a0", "#a991ff", "magenta")
AGAINST: Final = Shade("#a01a1a", "#f2607a", "red")
NEITHER: Final = Shade("#c3cad1", "#56616d")


def ink_on(colour: str) -> str:
    """Return black or white, whichever has more contrast (WCAG) on a colour #rrggbb."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if luminance > 0.179 else "white"


def _ink_on(shade: Shade) -> Shade:
    return Shade(ink_on(shade.light), ink_on(shade.dark))


PAGE: Final = {
    "ground": Shade("#f4f5f7", "#101419"),
    "surface": Shade("#ffffff", "#181d24"),
    "ink": Shade("#1b2026", "#e8ecf0"),  # text
    "faint": Shade("#56616d", "#9aa6b2"),  # text of less weight
    "rule": Shade("#dde1e6", "#2c343e"),  # between rows and around cards
    "line": Shade("#7a8794", "#8390a0"),  # edges of a graph, frames of controls
    "outline": Shade("#2a2f36", "#0b0e12"),  # around marks
    "target": Shade("#000000", "#ffffff"),  # around the mark of the target
    "accent": Shade("#00507f", "#7cc4f0"),  # links, and what is chosen
    "accent-ink": Shade("#ffffff", "#0b1a26"),
    "soft": Shade("#e9eff4", "#232b35"),  # behind code and what is pointed at
    "alarm": Shade("#c23b00", "#ff8a50"),
    "good": Shade("#00724f", "#4cc9a0"),  # text: right
    "bad": Shade("#b03c00", "#ff9e5e"),  # text: wrong
    "for": FOR,
    "for-ink": _ink_on(FOR),
    "against": AGAINST,
    "against-ink": _ink_on(AGAINST),
    "neutral": NEITHER,
    "figure-ink": Shade("#00507f", "#62b4e8"),  # the main data of a chart
    "figure-faint": Shade("#b5c4cf", "#566875"),  # what lies behind it
}


def page_style() -> str:
    """Return the colours as custom properties, `--ground` and so on, that follow the reader's mode.

    An element of the class `light` has the light ones in dark mode too.
    """
    light = style_of("light", ":root, .light")
    return f"{light}@media (prefers-color-scheme: dark) {{ {style_of('dark', ':root').strip()} }}\n"


def style_of(mode: str, selector: str) -> str:
    """Return a CSS rule with the colours of one mode, "light" or "dark"."""
    values = "; ".join(f"--{name}: {getattr(shade, mode)}" for name, shade in PAGE.items())
    return f"{selector} {{ {values}; }}\n"
