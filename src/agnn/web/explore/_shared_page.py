"""`share`: the explorer as one file that needs no server and no network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from agnn.errors import InputError
from agnn.files import check_new_file, write_file
from agnn.palette import page_style
from agnn.runs import Run
from agnn.web.explore._explorer import Explorer
from agnn.web.explore._shared_answers import pack_answers

_STATIC: Final = Path(__file__).parent / "static"
_MOST: Final = 5000  # nodes in a file: beyond, it would be too large for a mail
_MOST_EDGES: Final = 10_000  # of a graph whose nodes are all taken by default: about a minute
_PART: Final = 100  # nodes by default of a larger graph
_LINKS: Final = re.compile(r"^ *<(?:link rel|script type)=.*\n", re.MULTILINE)
_POLICY: Final = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def share(
    run: Run,
    path: Path | str,
    *,
    cohort: str | None = None,
    nodes: Sequence[Hashable] | Literal["all"] | None = None,
    compare: Run | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the explorer of a run as one HTML file that opens without a server; gives its bytes.

    Args:
        run: of a method that `agnn.explain` can explain.
        path: a new file.
        cohort: the nodes that the file is about, such as "wrong", the first 500; see the keys of
            the explorer's cohorts.
        nodes: or these, by their ids; "all" for every node of a graph of up to 5,000. By default
            every node of a graph of up to 5,000 nodes and 10,000 edges, and of a larger one 100:
            the first of every cohort and a sample of the others.
        compare: a second run on the same data, shown beside the first.
        progress: called with the number of nodes that are done and of all.

    The map and the class map are of the whole graph; neighbourhoods are there of the chosen nodes.
    """
    check_new_file(path)
    explorer = Explorer([run] if compare is None else [run, compare])
    page = shared_page(explorer, cohort=cohort, nodes=nodes, progress=progress).encode()
    write_file(path, page)
    return len(page)


def shared_page(
    explorer: Explorer,
    *,
    cohort: str | None = None,
    nodes: Sequence[Hashable] | Literal["all"] | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Return the page that `share` writes; at most `limit` nodes are chosen, unless by `nodes`."""
    if cohort is not None and nodes is not None:
        raise InputError("give `cohort` or `nodes`, not both.")
    if limit is not None and limit < 1:
        raise InputError(f"`limit` must be at least 1; got {limit}.")
    chosen = _wanted_nodes(explorer, nodes)
    explorer.prepare()
    shared: dict[str, Any] = {"cohort": cohort or ""}
    if cohort is not None:
        members = explorer.cohort(cohort)
        chosen = members["nodes"][:limit]
        if not chosen:
            raise InputError(f"no node is in the cohort '{cohort}'.")
        shared["title"] = members["title"]
    elif chosen is None:
        chosen = _default_nodes(explorer) if limit is None else _sample(explorer, limit)
        if len(chosen) < explorer.data.nodes:
            shared["title"] = "the first of every cohort, and a sample"
    return _page(pack_answers(explorer, chosen, shared, progress))


def _wanted_nodes(
    explorer: Explorer, nodes: Sequence[Hashable] | Literal["all"] | None
) -> list[int] | None:
    """The indices of the nodes that are asked for; None where none are."""
    count = explorer.data.nodes
    if nodes is None:
        return None
    if isinstance(nodes, str):
        if count > _MOST:
            raise InputError(
                f"the graph has {count:,} nodes, and a file holds {_MOST:,} at most: choose a "
                f"cohort (such as wrong) or nodes."
            )
        return list(range(count))
    indices = sorted({explorer.runs[0].node(node_id) for node_id in nodes})
    if not 0 < len(indices) <= _MOST:
        raise InputError(f"`nodes` must be from 1 to {_MOST:,} ids; got {len(indices)}.")
    return indices


def _default_nodes(explorer: Explorer) -> list[int]:
    """All nodes of a small graph; of a larger one the first of every cohort, and a sample."""
    count = explorer.data.nodes
    is_small = count <= _MOST and explorer.data.edge_count <= _MOST_EDGES
    return list(range(count)) if is_small else _sample(explorer, _PART)


def _sample(explorer: Explorer, size: int) -> list[int]:
    """The first nodes of every cohort, and of the others a sample; `size` in all."""
    count = explorer.data.nodes
    if count <= size:
        return list(range(count))
    cohorts = explorer.cohorts.all.values()
    first = size // (2 * len(cohorts))
    telling = np.unique([explorer.start, *(node for c in cohorts for node in c.nodes[:first])])
    others = np.setdiff1d(np.arange(count), telling)
    sample = others[np.linspace(0, others.size - 1, size - telling.size).astype(int)]
    nodes: list[int] = np.sort(np.concatenate([telling, sample])).tolist()
    return nodes


def _page(answers: bytes) -> str:
    """The explorer's own page with its scripts, its styles and the answers inside."""
    # A browser loads no module from another file where there is no server: the bundle has them all.
    script = (_STATIC / "shared.bundle.js").read_text(encoding="utf-8")
    style = page_style() + (_STATIC / "explore.css").read_text(encoding="utf-8")
    icon = _base64((_STATIC / "icon.svg").read_bytes())
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    inside = (
        f'  <meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'  <link rel="icon" href="data:image/svg+xml;base64,{icon}">\n'
        f"  <style>{style}</style>\n"
    )
    after = (
        f'<script type="text/plain" id="answers-inside">{_base64(answers)}</script>\n'
        f'<script type="module">{script}</script>\n'
    )
    page = _LINKS.sub("", (_STATIC / "index.html").read_text(encoding="utf-8"))
    page = page.replace('<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{inside}', 1)
    return page.replace("</body>", f"{after}</body>", 1)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _hash(text: str) -> str:
    return _base64(hashlib.sha256(text.encode()).digest())
