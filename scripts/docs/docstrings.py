"""For griffe: docstrings as Markdown, with doctests as code and text taken literally."""

from __future__ import annotations

from typing import Any

import griffe
from pages import with_code_blocks


class Docstrings(griffe.Extension):
    """Put doctests into code blocks, and describe what links share once."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object once it is collected."""
        if obj.docstring is not None:
            obj.docstring.value = with_code_blocks(obj.docstring.value)

    def on_class(self, *, cls: Any, **_: Any) -> None:
        """Leave out the two methods of every link: `Link` describes them."""
        if any(str(base) == "Link" for base in cls.bases):
            for name in ("forward", "backward"):
                if name in cls.members:
                    cls.del_member(name)
