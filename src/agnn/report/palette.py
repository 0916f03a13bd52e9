"""The few colours of the figures, apart in brightness as well as in hue (Okabe and Ito's)."""

from __future__ import annotations

from typing import Final

INK: Final = "#00507f"  # what is meant
MARK: Final = "#d55e00"  # what to look at
FAINT: Final = "#b5c4cf"  # what stands behind
