"""The top of the page: figures once, what is apart, and the claims in sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.studies.test_relations import FIRST, NAMES

from agnn.metrics import Summary
from agnn.report._comparisons import comparison_markdown
from agnn.report._judgements import claim_lines, claim_summary, relation_lines
from agnn.report._reproduction import scoreboard_markdown
from agnn.studies import (
    ComparedCell,
    ComparedRow,
    Comparison,
    JudgedClaim,
    JudgedPanel,
    Margin,
    PaperFigure,
    RelevancePanel,
    Result,
)
from agnn.studies._spec import Claim, Column, Row, Table
from agnn.studies._verdict import Making

PAPER = PaperFigure("83.1 ± 0.08", 83.1, 0.08)
NOTHING = "\N{EN DASH}"
SINGLE = PaperFigure("60.0", 60.0)


def result(claims: tuple[JudgedClaim, ...] = (), nested: float = 82.0) -> Result:
    """A table of three rows: a figure, its tuned variant, and another method's figure."""
    rows = (
        Row("AGNN", (PAPER,), method="agnn"),
        Row("LP", (SINGLE,), method="lp"),
        Row("LP, tuned", (SINGLE,), method="lp", configuration="tuned"),
    )
    cells = (
        ComparedCell(PAPER, Summary([83.0, 83.4]), "within 2 se", Summary([nested])),
        ComparedCell(SINGLE, Summary([70.0]), "above", Summary([69.9])),
        ComparedCell(SINGLE, Summary([60.3]), "within tolerance"),
    )
    table = Table(
        name="t",
        title="A table",
        rows=rows,
        columns=(Column("Cora", "cora"),),
        place="Table 2",
        seeds=2,
    )
    compared = tuple(ComparedRow(row, (cell,)) for row, cell in zip(rows, cells, strict=True))
    comparison = Comparison(table, compared, Making(0, 0.0, (), ()), claims)
    return Result(replace(table, command="agnn reproduce t"), comparison)


def test_the_figures_of_the_papers_methods_come_first_and_every_figure_once():
    text = scoreboard_markdown([result()], {})
    lines = text.splitlines()
    assert lines[2] == (
        "**AGNN on fixed splits: 1 of 1 figures are reproduced**, 1 within two standard errors and "
        "0 by the tolerance alone."
    )
    assert (
        "| [Table 2: A table](#table-2-a-table) | 2 | 1 | \N{EN DASH} | 1 | \N{EN DASH} | 1 | 2 |"
        in lines
    )
    assert (
        "2 of 3 trained cells are reproduced (1 within 2 se, 1 within tolerance, 1 above)" in text
    )
    assert "- [Table 2: A table](#table-2-a-table)" in lines


def test_a_variant_that_is_nearer_than_the_published_row_is_marked():
    comparison = result().comparison
    text = comparison_markdown(comparison, "agnn reproduce t")
    assert "| +0.30 within tolerance, nearest |" in text
    assert text.count("nearest") == 1


def judged(ours: list[float], beside: list[float] | None, paper: float = 1.4) -> JudgedClaim:
    margin = Margin("Cora", paper, Summary(ours), None if beside is None else Summary(beside))
    return JudgedClaim(Claim("AGNN is better than LP", "AGNN", "LP"), (margin,))


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ([1.3, 1.5], "+1.40 ± 0.10 over 2 pairs, the paper +1.40. Holds."),
        ([0.0, 0.2], "Undecided; the margin is 13.0 standard errors smaller than the paper's."),
        ([-1.0, -1.1], "Reversed; the margin is 49.0 standard errors smaller"),
    ],
)
def test_a_claim_is_judged_in_a_sentence(ours, words):
    claim = judged(ours, None)
    text = "\n".join(claim_lines(claim, result().comparison))
    assert text.startswith("**Claim: AGNN is better than LP.** The difference, paired by seed:")
    assert words in text


def test_a_reversal_that_the_paper_prints_itself_is_said_to_be_one():
    claim = judged([-1.0, -1.1], None, paper=-0.3)
    assert "reversed, as in the paper's own figures (Cora)" in claim_summary(claim)


def test_a_claim_that_needs_the_tested_fold_to_choose_the_epoch_gets_a_paragraph():
    claim = judged([1.3, 1.5], [-0.2, 0.1])
    text = scoreboard_markdown([result((claim,))], {})
    assert (
        "holds on Cora. Where the tested fold does not choose the epoch: undecided on Cora." in text
    )
    assert "That adds 1.20 points to AGNN and 0.10 to LP." in text
    assert "the claim does not hold where the tested fold takes no part" in text
    survives = judged([1.3, 1.5], [1.2, 1.3])
    assert "takes no part in the selection" not in scoreboard_markdown([result((survives,))], {})


def test_a_panel_says_what_was_measured_and_what_the_paper_says():
    panel = RelevancePanel(
        "pubmed", "PubMed, layer 4", 4, ((NAMES[0], NAMES[1]),), ((NAMES[1], NAMES[2]),), "-0.141"
    )
    text = "\n".join(relation_lines(JudgedPanel.of(panel, [FIRST, FIRST])))
    assert "**PubMed, layer 4**, 2 replicas. The diagonal is dominant, as in the paper" in text
    assert "| strongest, \N{MINUS SIGN}0.141 | \N{MINUS SIGN}0.300 ± 0.000 | 3 | 3 to 3 |" in text
    assert "None of the 1 relations that the paper calls strongest are among" in text
    assert "1 of the 1 relations that the paper calls weakest is among" in text
    assert "is first in 0 of 2 replicas" in text
