"""Relations between classes: ranked over replicas, compared with those that the paper names."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.errors import DataError
from agnn.report._judgements import agreement_word
from agnn.studies import JudgedPanel, RelevancePanel

NAMES = ("Diabetes Mellitus, Experimental", "Diabetes Mellitus Type 1", "Diabetes Mellitus Type 2")
# Row c1 receives, column c2 sends.
FIRST = [[0.5, -0.1, -0.2], [-0.3, 0.4, -0.4], [-0.5, -0.6, 0.3]]
SECOND = [[0.5, -0.2, -0.1], [-0.3, 0.4, -0.4], [-0.5, 0.6, 0.3]]


def panel(strongest=(), weakest=()) -> RelevancePanel:
    return RelevancePanel("pubmed", "PubMed", 4, strongest, weakest)


def test_relations_are_ranked_by_their_mean_and_in_every_replica():
    judged = JudgedPanel.of(panel([(NAMES[1], NAMES[2])]), [FIRST, SECOND])
    (named,) = judged.strongest
    assert (named.sender, named.receiver) == (NAMES[1], NAMES[2])
    assert named.value.values == (-0.6, 0.6)
    assert (named.rank, named.ranks) == (1, (6, 1))
    assert [each.rank for each in judged.relations] == [1, 2, 3, 4, 5, 6]
    assert judged.relations[-1].receiver == NAMES[2]


def test_the_diagonal_is_judged_on_average_and_replica_by_replica():
    judged = JudgedPanel.of(panel(), [FIRST, SECOND])
    assert (judged.is_dominant, judged.dominant, judged.replicas) == (True, 1, 2)
    turned = JudgedPanel.of(panel(), [SECOND, SECOND])
    assert (turned.is_dominant, turned.dominant) == (False, 0)


@pytest.mark.parametrize(
    ("agreeing", "word"),
    [(0, "not reproduced"), (1, "partly reproduced"), (2, "reproduced")],
)
def test_the_papers_relations_agree_if_they_are_among_as_many_here(agreeing, word):
    top = [(NAMES[1], NAMES[0]), (NAMES[2], NAMES[0])]  # ranks 1 and 2 in the first table
    low = [(NAMES[1], NAMES[2]), (NAMES[0], NAMES[2])]  # ranks 6 and 5
    named = top[:agreeing] + low[: 2 - agreeing]
    judged = JudgedPanel.of(panel(strongest=named, weakest=named), [FIRST])
    assert (judged.strongest_agree, judged.weakest_agree) == (agreeing, 2 - agreeing)
    assert agreement_word(agreeing, 2) == word


def test_a_pair_of_classes_without_an_edge_has_no_rank():
    table = [[0.5, None, -0.2], [-0.3, 0.4, -0.4], [-0.5, -0.6, 0.3]]
    judged = JudgedPanel.of(panel(), [table])
    assert len(judged.relations) == 5
    assert judged.is_dominant
    assert not any(np.isnan(each.value.mean) for each in judged.relations)


def test_unknown_relations_and_tables_of_another_size_are_refused():
    with pytest.raises(DataError, match="'PubMed' has no relation from 'x' to"):
        JudgedPanel.of(panel([("x", NAMES[0])]), [FIRST])
    with pytest.raises(DataError, match="not one table of 3 by 3 classes"):
        JudgedPanel.of(panel(), [[[1.0]]])
