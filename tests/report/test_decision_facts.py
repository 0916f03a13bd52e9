"""The report's section on decisions says what the functions of `agnn.decisions` say."""

from __future__ import annotations

from agnn.decisions import audit, calibrate_sets, choose_threshold
from agnn.errors import InputError
from agnn.files import plain
from agnn.report._decision_facts import decision_facts
from agnn.report._node_facts import Absent
from decisions.made_up_runs import fixed_run, folded_run


def test_a_cross_fitted_run_has_sets_thresholds_and_an_audit() -> None:
    run = folded_run(nodes=120)
    facts = decision_facts(run)
    assert facts.sets.to_dict() == calibrate_sets(run, 0.9).to_dict()
    assert facts.audit.to_dict()["likely_wrong"] == audit(run).likely_wrong
    expected = []
    for name in run.data.class_names:
        try:
            expected.append(choose_threshold(run, name, precision=0.9).to_dict())
        except InputError:
            continue
    assert expected
    assert plain(facts)["thresholds"] == expected
    assert len(facts.threshold_table.rows) == len(expected)


def test_a_run_with_three_parts_says_why_it_has_no_sets() -> None:
    facts = decision_facts(fixed_run())
    assert isinstance(facts.sets, Absent)
    assert "--split cross-fit" in facts.sets.reason
    assert facts.thresholds == ()
    assert facts.audit.to_dict()["checked"] == 55


def test_the_features_are_not_asked_for_the_report() -> None:
    listed = decision_facts(folded_run()).audit
    assert not isinstance(listed, Absent)
    assert {label.features_prediction for label in listed.suspicious} == {None}
