"""Only what is missing is run, each run is what it would be alone, and nothing is done twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_tables import SMALL, small_table

import agnn.studies._batches as batches
import agnn.studies._executor as executor
from agnn.errors import InputError
from agnn.methods import get_method
from agnn.metrics import Summary
from agnn.runs import evaluate
from agnn.studies import Store, reproduce
from agnn.studies._batches import round_betas
from agnn.studies._claims import claim
from agnn.studies._executor import execute
from agnn.studies._selection import Choice
from agnn.studies._works import works_of

ONLY_CORA = Choice(datasets=frozenset({"cora"}))
FOLDS = SMALL.replace('dataset = "cora"', 'dataset = "cora"\nsplit = "3-fold"', 1)


@pytest.fixture
def calls(monkeypatch):
    """The seeds of every call of `evaluate`."""
    seen = []

    def watched(method, data, split, seeds, **options):
        seen.append((data.name, tuple(seeds)))
        return evaluate(method, data, split, seeds, **options)

    monkeypatch.setattr(batches, "evaluate", watched)
    return seen


def test_every_run_is_stored_with_all_it_depends_on(small, store):
    (work,) = works_of(ONLY_CORA.narrow(small))
    assert execute([work], store).new == 3
    alone = evaluate(work.method, work.data, "fixed", (2,))
    stored = store.runs(work.key)
    assert [run.seed for run in stored] == [0, 1, 2]
    run = stored[2]
    assert (run.accuracy, run.selected_epochs) == (alone.accuracy.mean, alone.selected_epochs)
    assert run.betas == [[pytest.approx(beta, rel=1e-5) for beta in alone.betas[0]]]
    assert (run.experiment, run.method, run.dataset, run.split) == (
        "small",
        "agnn",
        "cora",
        "fixed",
    )
    assert (run.data, run.device, run.backend) == (work.data.fingerprint, "cpu", alone.backend)
    assert run.versions == alone.versions
    assert run.seconds > 0


def test_a_run_of_folds_is_a_trial(store):
    table = Choice(datasets=frozenset({"cora"}), seeds=2).narrow(small_table(FOLDS))
    (work,) = works_of(table)
    execute([work], store)
    whole = evaluate(work.method, work.data, "3-fold", (0, 1))
    stored = store.runs(work.key)
    assert [run.accuracy for run in stored] == list(whole.accuracy.values)
    assert stored[1].selected_epochs == whole.selected_epochs[3:]
    assert stored[1].betas == [round_betas(betas) for betas in whole.betas[3:]]
    assert stored[0].betas != stored[1].betas


def test_a_run_without_usable_weights_is_not_stored_and_is_a_failure(small, store, monkeypatch):
    def broken(*given, **options):
        run = evaluate(*given, **options)
        selected = torch.where(torch.arange(3) == 1, 0, run.history.selected_epochs)
        diverged = torch.tensor([0, 2, 0])
        return replace(
            run,
            history=replace(run.history, selected_epochs=selected, diverged_epochs=diverged),
            accuracy=Summary(run.accuracy.values[::2]),
        )

    monkeypatch.setattr(batches, "evaluate", broken)
    (work,) = works_of(ONLY_CORA.narrow(small))
    done = execute([work], store)
    (failure,) = done.failures.values()
    assert failure.endswith("training diverged without usable weights, seeds 1.")
    stored = store.runs(work.key)
    expected = evaluate(work.method, work.data, "fixed", (0, 2)).accuracy.values
    assert [(run.seed, run.accuracy) for run in stored] == list(zip((0, 2), expected, strict=True))


def test_only_missing_seeds_are_run(small, store, calls):
    works = works_of(Choice(datasets=frozenset({"cora"}), seeds=1).narrow(small))
    assert execute(works, store).new == 1
    assert execute(works_of(ONLY_CORA.narrow(small)), store).new == 2
    assert execute(works_of(ONLY_CORA.narrow(small)), store).new == 0
    assert calls == [("cora", (0,)), ("cora", (1, 2))]


def test_batches_change_no_result(small, monkeypatch):
    found = []
    for size in (1, 2, 25):
        monkeypatch.setattr(executor, "_MOST", size)
        monkeypatch.setattr(executor, "_LEAST", 1)
        store = Store.in_memory()
        execute(works_of(ONLY_CORA.narrow(small)), store)
        found.append([(run.seed, run.accuracy, run.betas) for run in store.runs()])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("method", "device", "size"),
    [("agnn", "cuda", 3), ("planetoid", "cuda", 3), ("planetoid", "cpu", 1), ("ica", "cuda", 1)],
)
def test_a_gpu_has_all_seeds_at_once_of_a_method_that_fills_it(small, method, device, size):
    (work,) = works_of(ONLY_CORA.narrow(small))
    assert executor._batch_size(work, get_method(method)(), device) == size


def test_an_edited_table_does_not_reuse_old_runs(small, store, calls):
    execute(works_of(ONLY_CORA.narrow(small)), store)
    edited = small_table(SMALL.replace("epochs = 3", "epochs = 4"))
    assert execute(works_of(ONLY_CORA.narrow(edited)), store).new == 3
    renoted = small_table(SMALL.replace("83.1 ± 0.08", "12.3").replace("Small", "Renamed"))
    assert execute(works_of(ONLY_CORA.narrow(renoted)), store).new == 0
    assert len(calls) == 2


def test_a_failing_work_leaves_the_others_to_be_done(small, store, monkeypatch):
    def fail_on_cora(method, data, *rest, **options):
        if data.name == "cora":
            raise InputError("no luck")
        return evaluate(method, data, *rest, **options)

    monkeypatch.setattr(batches, "evaluate", fail_on_cora)
    works = works_of(small)
    done = execute(works, store)
    assert done.new == 3
    (failing,) = [work for work in works if work.data.name == "cora"]
    assert done.failures == {failing.key: "no luck"}
    again = reproduce([small], store=store)
    assert again.failures == ("small: AGNN on cora, fixed: no luck",)


def test_claims_are_given_up_at_the_end_and_after_an_error(small, store, monkeypatch):
    works = works_of(ONLY_CORA.narrow(small))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(batches, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        execute(works, store)
    assert store.connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_a_finished_run_cannot_be_claimed(small, store):
    (work,) = works_of(ONLY_CORA.narrow(small))
    execute([work], store)
    assert claim(store, work.key, (0, 1, 2, 3)) == (3,)


def test_progress_counts_runs_up_to_the_end(small, store):
    seen = []
    execute(works_of(small), store, tell=seen.append)
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert (done[-1], seen[-1].total) == (6, 6)
    assert seen[-1].seconds_left == pytest.approx(0)
    assert (seen[0].label, seen[0].seconds_left) == ("small: AGNN on cora, fixed", None)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_tables_that_share_runs_have_the_longer_list_made_once(small, store, calls, order):
    few = Choice(datasets=frozenset({"cora"}), seeds=2).narrow(small)
    tables = (few, ONLY_CORA.narrow(small))
    works = works_of(*(tables[k] for k in order))
    seen = []
    assert execute(works, store, tell=seen.append).new == 3
    assert calls == [("cora", (0, 1, 2))]
    assert (seen[-1].finished, seen[-1].total) == (3, 3)
