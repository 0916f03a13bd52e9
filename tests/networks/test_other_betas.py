"""A copy of a model with other betas."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError
from agnn.explanation import Changes, changed_run
from agnn.methods import get_method
from agnn.runs import evaluate
from explore_runs import explored_data


def test_beta_0_averages_evenly_and_the_model_itself_stays() -> None:
    run = evaluate(get_method("agnn")(epochs=5, layers=2), explored_data(), "fixed", seeds=range(2))
    before = run.network.betas.clone()
    even = changed_run(run, Changes(betas=(0.0, 0.0)))
    weights = even.network.attentions(even.whole_view())  # type: ignore[operator]
    share = 1.0 / (run.graph.degrees[run.graph.receivers] + 1)
    for each in weights:
        torch.testing.assert_close(each.edges, share.float().expand(2, -1))
    assert torch.equal(run.network.betas, before)
    assert even.temperature == run.temperature


def test_what_cannot_be_is_refused() -> None:
    run = evaluate(get_method("gcn")(epochs=2), explored_data(), "fixed", seeds=range(1))
    with pytest.raises(InputError, match="GCN has no betas"):
        changed_run(run, Changes(betas=(1.0, 1.0)))
    run = evaluate(get_method("agnn")(epochs=2, layers=2), explored_data(), "fixed", seeds=range(1))
    with pytest.raises(InputError, match="must have 2 numbers; got 1"):
        changed_run(run, Changes(betas=(1.0,)))
    with pytest.raises(InputError, match="must be from -1000 to 1000; got nan"):
        changed_run(run, Changes(betas=(1.0, float("nan"))))
