"""The colour of words on a coloured ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def ink_on(ground: ArrayLike) -> str:
    """Black or white, whichever stands out more on an sRGB colour [3] by WCAG's contrast."""
    colour = np.asarray(ground, dtype=np.float64)
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "black" if luminance > 0.179 else "white"
