"""Tables of results, and how numbers and names are written in them.

A table has columns with units and digits, and rows of values. Markdown, HTML, CSV and records for
JSON or pandas are renderings of the same object; the command line adds the one for terminals.

>>> from agnn.tables import Column, ResultTable, Row
>>> columns = (Column("method", ("method",)), Column("accuracy", ("accuracy",), " %", digits=1))
>>> rows = (Row(("AGNN", 83.06), is_strong=True), Row(("GCN", 81.42)))
>>> table = ResultTable(columns, rows)  # or `ResultTable.of`, where every row is an object
>>> print(table.markdown())
| method | accuracy % |
| --- | --- |
| **AGNN** | 83.1 |
| GCN | 81.4 |
>>> table.records()[1]
{'method': 'GCN', 'accuracy': 81.42}
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NamedTuple, Self

from markupsafe import Markup

from agnn.metrics import Summary

NOTHING: Final = "\N{EN DASH}"  # in a cell without a value
_MINUS: Final = "\N{MINUS SIGN}"
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
# Characters that turn the direction of all that follows: a name must not rearrange a page.
_DIRECTIONS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# A row with further lines is a block; its first cell spans them.
_HTML: Final = """\
{% macro kinds(column) %}
{% set names = (["" if column.is_number else "word", "soft" if column.is_faint else ""])|select|join(" ") %}
{% if names %} class="{{ names }}"{% endif %}
{% endmacro %}
{% if table.caption %}
<div class="scroll" role="region" tabindex="0" aria-label="{{ table.caption }}">
{% else %}
<div class="scroll">
{% endif %}
<table{% if kind %} class="{{ kind }}"{% endif %}>
{% if table.caption %}
<caption>{{ table.caption }}</caption>
{% endif %}
{% if table.titles|select|list %}
<thead><tr>
{%- for column in table.columns %}
<th scope="col"{{ kinds(column) }}>{{ column.title }}{{ column.unit }}</th>
{%- endfor %}
</tr></thead>
{% endif %}
{% for block in blocks %}
<tbody>
{% if block[0].group and loop.changed(block[0].group) %}
<tr><td class="group" colspan="{{ table.columns|length }}">{{ block[0].group }}</td></tr>
{% endif %}
{% for row in block %}
{% set is_first = loop.first %}
<tr{% if row.is_strong %} class="strong"{% endif %}>
{%- for column in table.columns %}
{% set cell = row.cells[loop.index0] %}
{% set words %}
{% set kind = cell.kind if cell.kind is defined else "" %}
{% if kind %}<span class="{{ kind }}">{% endif %}
{%- if column.is_name %}<bdi>{{ text(column, cell) }}</bdi>{% else %}{{ text(column, cell) }}{% endif %}
{%- if kind %}</span>{% endif %}
{% endset %}
{% if not loop.first %}
<td{{ kinds(column) }}>{{ words }}</td>
{%- elif is_first %}
<th {% if block|length > 1 %}scope="rowgroup" rowspan="{{ block|length }}"{% else %}scope="row"{% endif %}>
{%- if row.is_strong %}<strong>{{ words }}</strong>{% else %}{{ words }}{% endif %}</th>
{%- endif %}
{% endfor %}
</tr>
{% endfor %}
</tbody>
{% endfor %}
</table></div>"""  # noqa: E501


class Cell(NamedTuple):
    """A cell whose text does not follow from its values and its column alone."""

    text: str
    values: tuple[Any, ...] = ()  # by the keys of the column
    kind: str = ""  # "strong", "bad" or "warning"; in HTML its classes, whatever they are called


class Column(NamedTuple):
    """What the cells of a column hold, and how it is written."""

    title: str
    keys: tuple[str, ...] = ()  # of a cell's values in CSV and JSON; without any it is only shown
    unit: str = ""  # after the title
    digits: int | None = None  # decimal places; None for as few as a number needs
    is_number: bool = False  # aligned to the right
    is_signed: bool = False  # a number with its sign, also where it is above 0
    is_name: bool = False  # a user's own text
    is_faint: bool = False
    is_wide: bool = False  # only on pages: a terminal has no space for it
    # For `ResultTable.of`: the name of what a row's object has here, or a function of the object.
    of: str | Callable[[Any], Any] = ""


class Row(NamedTuple):
    """The values of a row: texts, numbers, summaries, cells, or None for what is missing."""

    cells: tuple[Any, ...]
    group: str = ""  # a heading above the first row of each group
    is_strong: bool = False
    is_continued: bool = False  # another line of the row above, whose first cell holds for both


@dataclass(frozen=True)
class ResultTable:
    """Columns and rows; `caption` says what the table is."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""

    @classmethod
    def of(cls, columns: Sequence[Column], objects: Iterable[Any], caption: str = "") -> Self:
        """Return a row per object; the columns say what of it stands in their cells."""
        cells = [column.of if callable(column.of) else attrgetter(column.of) for column in columns]
        rows = (Row(tuple(cell(item) for cell in cells)) for item in objects)
        return cls(tuple(columns), tuple(rows), caption)

    @property
    def titles(self) -> list[str]:
        """The titles of the columns with their units."""
        return [column.title + column.unit for column in self.columns]

    def texts(self, row: Row) -> list[str]:
        """Return the cells of a row as text."""
        return [_text(*pair) for pair in zip(self.columns, row.cells, strict=True)]

    def markdown(self) -> str:
        """Return the table in Markdown, without a line end after the last row."""
        lines = [self.titles, ["---"] * len(self.columns)]
        for row in self.rows:
            name, *values = self.texts(row)
            lines.append([f"**{name}**" if row.is_strong else name, *values])
        escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
        return "\n".join(f"| {' | '.join(line)} |" for line in escaped)

    def html(self, kind: str = "") -> Markup:
        """Return the table in HTML, in a region that scrolls; `kind` is the table's class."""
        import jinja2

        blocks: list[list[Row]] = []  # rows with their further lines
        for row in self.rows:
            blocks[-1].append(row) if row.is_continued else blocks.append([row])
        template = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(_HTML)
        return Markup(template.render(table=self, blocks=blocks, kind=kind, text=_text))  # noqa: S704 (escaped by the template)

    def records(self) -> list[dict[str, Any]]:
        """Return the values of every row by the keys of its columns."""
        return [
            {
                key: value
                for column, cell in zip(self.columns, row.cells, strict=True)
                if column.keys
                for key, value in zip(column.keys, _values(cell), strict=True)
            }
            for row in self.rows
        ]

    def csv(self) -> str:
        """Return the records as CSV; what is missing or not a number is empty."""
        file = io.StringIO()
        keys = [key for column in self.columns for key in column.keys]
        writer = csv.DictWriter(file, keys, lineterminator="\n")
        writer.writeheader()
        for record in self.records():
            writer.writerow({key: _csv_text(value) for key, value in record.items()})
        return file.getvalue()


def facts_table(facts: Iterable[tuple[str | Cell, str | Cell | None]]) -> ResultTable:
    """Return names beside what is known of each, without a heading; None is left out."""
    columns = (Column("", is_faint=True), Column(""))
    return ResultTable(columns, tuple(Row(fact) for fact in facts if fact[1] is not None))


def _text(column: Column, value: Any) -> str:
    if isinstance(value, Cell):
        return value.text
    if isinstance(value, str):
        return shown_text(value) if column.is_name else value
    if isinstance(value, Summary):
        return mean_text(value, column.digits)
    if value is None or math.isnan(value):
        return NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    return (signed_number if column.is_signed else number)(value, column.digits)


def _values(cell: Any) -> tuple[Any, ...]:
    if isinstance(cell, Cell):
        return cell.values
    return (cell.mean, cell.standard_error) if isinstance(cell, Summary) else (cell,)


def _csv_text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return "" if value is None else str(value)


def mean_text(summary: Summary | None, digits: int | None, unit: str = "") -> str:
    """Return mean ± standard error with the unit, the mean alone of one value, or a dash."""
    if summary is None or math.isnan(summary.mean):
        return NOTHING
    error = summary.standard_error
    spread = "" if error is None or math.isnan(error) else f" ± {number(error, digits)}"
    return f"{number(summary.mean, digits)}{spread}{unit}"


def number(value: float, digits: int | None) -> str:
    """Return a number with this many decimal places; None for as few as it needs."""
    return f"{value:g}" if digits is None else f"{value:.{digits}f}"


def share_text(share: float) -> str:
    """Return a share of 1 in percent.

    >>> share_text(0.1234), share_text(0.0001), share_text(0.0)
    ('12.3 %', '< 0.1 %', '0.0 %')
    """
    return "< 0.1 %" if 0.0 < share < 0.0005 else f"{100 * share:.1f} %"


def signed_number(value: float, digits: int | None = 2) -> str:
    """Return a number with its sign; what rounds to zero has none, and NaN is a dash."""
    if math.isnan(value):
        return NOTHING
    text = number(value, digits)
    if float(text) == 0:
        return number(0.0, digits)
    return f"+{text}" if value > 0 else _MINUS + text.removeprefix("-")


def shown_text(value: object, longest: int = 80) -> str:
    """Return a user's text in one line: invisible characters marked, a long middle left out."""
    text = "".join(_visible(letter) for letter in str(value))
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}\N{HORIZONTAL ELLIPSIS}{text[-tail:]}"


def _visible(letter: str) -> str:
    if letter.isspace():
        return " "
    is_hidden = unicodedata.category(letter) in ("Cc", "Cs") or letter in _DIRECTIONS
    return _REPLACED if is_hidden else letter


def enumeration(texts: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join([*([", ".join(texts[:-1])] if len(texts) > 1 else []), *texts[-1:]])


def duration(seconds: float) -> str:
    """Return a time as a person would state it.

    >>> duration(4.21), duration(45.2), duration(200), duration(40_000)
    ('4.2 s', '45 s', '3.3 min', '11 h')
    """
    unit = "s"
    if seconds >= 6000:
        seconds /= 3600
        unit = "h"
    elif seconds >= 100:
        seconds /= 60
        unit = "min"
    return f"{seconds:.1f} {unit}" if seconds < 10 else f"{seconds:.0f} {unit}"
