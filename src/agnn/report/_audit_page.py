"""An audit of labels as a page."""

from __future__ import annotations

from agnn import __version__
from agnn.decisions import Audit
from agnn.report._rendering import page_template
from agnn.tables import Column, ResultTable, Row


def audit_page(audit: Audit) -> str:
    """Return one HTML file that needs no other file and no network."""
    return page_template("audit.html").render(
        audit=audit, data=audit.data, noise=_noise_table(audit), version=__version__
    )


def _noise_table(audit: Audit) -> ResultTable | None:
    """Return the shares of each true class that have each label, in percent."""
    if audit.noise is None:
        return None
    names = audit.data.class_names
    columns = (
        Column("label", is_name=True),
        *(Column(name, digits=1, is_number=True, is_name=True) for name in names),
    )
    rows = tuple(
        Row((name, *(100.0 * share for share in shares)))
        for name, shares in zip(names, audit.noise.tolist(), strict=True)
    )
    return ResultTable(columns, rows, "What is mistaken for what")
