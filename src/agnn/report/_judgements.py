"""The paper's claims and its reading of attention, judged in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agnn.metrics import Summary
from agnn.studies import Comparison, JudgedClaim, JudgedPanel, Margin, Relation
from agnn.tables import Column, ResultTable, Row, enumeration, signed_number

CLAIM_RULE: Final = (
    "A claim that one method is better than another is judged by their difference, paired by seed "
    "(a seed has its own split where splits are drawn): it holds where the difference is above two "
    "of its standard errors, is reversed where it is below minus two, and is undecided in between. "
    "A claim that a method is as good or better holds unless it is reversed. The paper prints no "
    "error of its margins; they are taken as exact where ours are compared with them."
)
_CLEAR: Final = 2.0  # standard errors
_SHOWN: Final = 6  # relations of a panel of which the paper names none
_PLACES: Final = 3  # decimal places of a relevance


def claim_lines(judged: JudgedClaim, comparison: Comparison) -> list[str]:
    """Return the claim, the paired difference in every column, and what becomes of it nested."""
    claim = judged.claim
    digits = comparison.table.digits
    lines = [f"**Claim: {claim.text}.** The difference, paired by seed:", ""]
    lines += [f"- {_margin_words(judged, margin, digits)}" for margin in judged.margins]
    fate = nested_fate(judged, comparison)
    return [*lines, "", fate] if fate else lines


def claim_summary(judged: JudgedClaim) -> str:
    """Return the claim in a line: where it holds and where it does not."""
    verdicts = [(margin.column, _word(judged, margin)) for margin in judged.margins]
    summary = f"{judged.claim.text}: {_by_word(verdicts)}"
    nested = [(m.column, judged.word(m.nested)) for m in judged.margins if m.nested is not None]
    if nested:
        summary += f". Where the tested fold does not choose the epoch: {_by_word(nested)}"
    return f"{summary}."


def nested_fate(judged: JudgedClaim, comparison: Comparison) -> str:
    """Return what the choice of the epoch on the tested fold does to a claim; "" for nothing."""
    margins = [margin for margin in judged.margins if margin.nested is not None]
    if not margins or not all(judged.word(margin.ours) == "holds" for margin in margins):
        return ""
    if any(judged.word(margin.nested) == "holds" for margin in margins):
        return ""
    claim = judged.claim
    digits = comparison.table.digits
    gains = [_gains(comparison, title, digits) for title in (claim.first, claim.second)]
    return (
        f"This claim rests on how the epoch is chosen. The paper takes the epoch that is best on "
        f"the very fold that is tested. That adds {gains[0]} points to {claim.first} and "
        f"{gains[1]} to {claim.second}. Where a tenth of the training part is set aside to choose "
        f"the epoch, for both, {claim.first} is no longer ahead: the claim does not hold where the "
        f"tested fold takes no part in the selection."
    )


def relation_lines(judged: JudgedPanel) -> list[str]:
    """Return what was measured for a panel: the diagonal, the relations and their ranks."""
    named = [*judged.strongest, *judged.weakest]
    listed = named or list(judged.relations[:_SHOWN])
    titles = ("from → to", "the paper", "ours", f"rank of {len(judged.relations)}")
    columns = tuple(map(Column, (*titles, "ranks by replica")))
    lines = [
        f"**{judged.panel.title}**, {judged.replicas} replicas. {_diagonal_words(judged)}",
        "",
        ResultTable(columns, tuple(_relation_row(judged, r) for r in listed)).markdown(),
    ]
    if named:
        top = judged.relations[: len(judged.strongest)]
        first = judged.strongest[0]
        lines += [
            "",
            f"{_agreement(judged)} Strongest here: "
            f"{enumeration([f'{_arrow(relation)} ({_value(relation)})' for relation in top])}. "
            f"{_arrow(first)}, the paper's strongest, is first in {first.ranks.count(1)} of "
            f"{judged.replicas} replicas.",
        ]
    return lines


def relation_summary(judged: JudgedPanel) -> str:
    """Return the verdict on a panel in a line."""
    agreement = f" {_agreement(judged)}" if judged.strongest else ""
    return f"Attention between classes, {judged.panel.title}: {_diagonal_words(judged)}{agreement}"


def _margin_words(judged: JudgedClaim, margin: Margin, digits: int | None) -> str:
    if margin.ours is None:
        return f"{margin.column}: no runs yet."
    paper = "" if margin.paper is None else f", the paper {signed_number(margin.paper, digits)}"
    verdict = _word(judged, margin).capitalize()
    if margin.surplus is not None and abs(margin.surplus) > _CLEAR:
        relation = "larger" if margin.surplus > 0 else "smaller"
        verdict += (
            f"; the margin is {abs(margin.surplus):.1f} standard errors {relation} than the paper's"
        )
    sentences = (
        f"{margin.column}: {_difference(margin.ours, digits)} over {margin.ours.n} pairs{paper}. "
        f"{verdict}."
    )
    if margin.nested is not None:
        sentences += (
            f" Where the tested fold does not choose the epoch: "
            f"{_difference(margin.nested, digits)}. {judged.word(margin.nested).capitalize()}."
        )
    return sentences


def _word(judged: JudgedClaim, margin: Margin) -> str:
    """Return the verdict; a reversal that the paper's own figures have as well is no news."""
    word = judged.word(margin.ours)
    is_known = word == "reversed" and margin.paper is not None and margin.paper < 0
    return f"{word}, as in the paper's own figures" if is_known else word


def _difference(ahead: Summary, digits: int | None) -> str:
    error = ahead.standard_error
    spread = "" if error is None else f" ± {error:.{2 if digits is None else digits}f}"
    return f"{signed_number(ahead.mean, digits)}{spread}"


def _by_word(verdicts: Sequence[tuple[str, str]]) -> str:
    """Return the verdicts of columns, each word with the columns that have it."""
    columns: dict[str, list[str]] = {}
    for column, word in verdicts:
        columns.setdefault(word, []).append(column)
    return "; ".join(
        f"{word} ({enumeration(titles)})" if "," in word else f"{word} on {enumeration(titles)}"
        for word, titles in columns.items()
    )


def _gains(comparison: Comparison, title: str, digits: int | None) -> str:
    """Return what choosing on the tested part adds to a row, column by column."""
    (cells,) = [row.cells for row in comparison.rows if row.row.title == title]
    return enumeration(
        [
            signed_number(cell.ours.mean - cell.nested.mean, digits).removeprefix("+")
            for cell in cells
            if cell.ours is not None and cell.nested is not None
        ]
    )


def _diagonal_words(judged: JudgedPanel) -> str:
    """Return whether classes attend most to themselves, which the paper says of its heat maps."""
    count = f"{judged.dominant} of {judged.replicas} replicas"
    if judged.is_dominant:
        return (
            f"The diagonal is dominant, as in the paper: on average every class attends most to "
            f"itself, and in {count} each of them does."
        )
    return (
        f"The diagonal is not dominant on average, as it is in the paper: not reproduced. In "
        f"{count} every class attends most to itself."
    )


def _agreement(judged: JudgedPanel) -> str:
    """Return how many of the relations that the paper names have their place here."""
    parts = []
    for word, relations, agreeing in (
        ("strongest", judged.strongest, judged.strongest_agree),
        ("weakest", judged.weakest, judged.weakest_agree),
    ):
        if relations:
            ranks = enumeration([str(relation.rank) for relation in relations])
            parts.append(
                f"{agreeing or 'None'} of the {len(relations)} relations that the paper calls "
                f"{word} {'is' if agreeing == 1 else 'are'} among the {len(relations)} {word} here "
                f"(ranks {ranks} of {len(judged.relations)}): "
                f"{agreement_word(agreeing, len(relations))}."
            )
    return " ".join(parts)


def _relation_row(judged: JudgedPanel, relation: Relation) -> Row:
    paper = ""
    if relation in judged.strongest:
        paper = "strongest"
        if judged.panel.largest and relation == judged.strongest[0]:
            paper += f", {signed_number(float(judged.panel.largest), _PLACES)}"
    elif relation in judged.weakest:
        paper = "weakest"
    error = relation.value.standard_error
    spread = "" if error is None else f" ± {error:.{_PLACES}f}"
    ranks = f"{min(relation.ranks)} to {max(relation.ranks)}"
    return Row((_arrow(relation), paper, f"{_value(relation)}{spread}", relation.rank, ranks))


def _arrow(relation: Relation) -> str:
    return f"{relation.sender} → {relation.receiver}"


def _value(relation: Relation) -> str:
    return signed_number(relation.value.mean, _PLACES)


def agreement_word(agreeing: int, count: int) -> str:
    """Return a word for how many of `count` statements hold here."""
    if agreeing == count:
        return "reproduced"
    return "partly reproduced" if agreeing else "not reproduced"
