import json
import os
import time

import pytest
import torch
from benchmarks.cases import CEILINGS, DUELS, GROUPS, WORDS, Goal
from benchmarks.graphs import edge_index, edge_index_with_loops, graph_of
from benchmarks.pairs import Pair
from benchmarks.peer_sparse import FORMATS, SparseInput
from benchmarks.runner import duel_row, verdict
from benchmarks.timing import compare, fastest

from agnn.data import load_dataset
from agnn.graph import Graph, SparseFeatures, View
from agnn.kernels import cosine_attention
from agnn.methods import get_method
from benchmarks import __main__ as program, families, gate, others, ours, peer, report, threads


class Machine:
    """A clock that moves only when work is done, and runs at half speed from some moment on."""

    def __init__(self, slow_from=float("inf")):
        self.now, self.slow_from, self.calls = 0.0, slow_from, []

    def clock(self):
        return self.now

    def work(self, name, seconds):
        def action():
            self.now += seconds * (2 if self.now >= self.slow_from else 1)
            self.calls.append(name)

        return action


def timed(machine, ours_seconds=0.001, peer_seconds=0.05, **options):
    actions = machine.work("ours", ours_seconds), machine.work("peer", peer_seconds)
    return compare(*actions, clock=machine.clock, **options)


def test_the_ratio_is_the_peers_time_over_ours():
    timing = timed(Machine(), rounds=4)
    assert timing.ours == pytest.approx([0.001] * 4)
    assert timing.peer == pytest.approx([0.05] * 4)
    assert timing.ratio == pytest.approx(50)
    assert timing.ratio_of_medians == pytest.approx(50)
    assert timing.ratio_range == pytest.approx((50, 50))


def test_a_machine_that_slows_down_leaves_the_rounds_ratios():
    timing = timed(Machine(slow_from=0.5), rounds=9)
    assert max(timing.peer) == pytest.approx(2 * min(timing.peer))
    assert timing.ratio == pytest.approx(50)


def test_a_call_for_many_replicas_counts_for_each():
    timing = timed(Machine(), ours_seconds=0.1, rounds=2, units=100)
    assert timing.ours == pytest.approx([0.001] * 2)
    assert timing.ratio == pytest.approx(50)


def test_bursts_alternate_and_last_as_long_as_asked():
    machine = Machine()
    timed(machine, rounds=2, fill=0.03)
    # 0.001 s a call, 0.05 s a call: 30 or 31 calls fill a burst of ours, one that of the peer.
    bursts = "".join(call[0] for call in machine.calls).split("p")
    assert [len(burst) in (30, 31) for burst in bursts[-3:]] == [True, True, False]
    assert bursts[-1] == ""


def test_the_fastest_of_some_actions_is_named():
    machine = Machine()
    actions = {"slow": machine.work("slow", 0.2), "fast": machine.work("fast", 0.1)}
    assert fastest(actions, rounds=3, clock=machine.clock) == "fast"


@pytest.fixture
def graph():
    source = torch.Generator().manual_seed(3)
    return Graph.from_edges(torch.randint(40, (2, 120), generator=source), 41)  # node 40: alone


@pytest.mark.parametrize("beta", [0.0, 1.0, -2.5])
def test_ours_and_the_peers_layer_give_the_same_states_and_gradients(graph, beta):
    h = torch.randn(graph.nodes, 16, requires_grad=True)
    gradient = torch.randn(graph.nodes, 16)
    conv = peer.AGNNConv(add_self_loops=False)
    conv.beta.data.fill_(beta)
    theirs = conv(h, edge_index_with_loops(graph))
    scalar = torch.full((1,), beta, requires_grad=True)
    mine = cosine_attention(graph, h[None], scalar)[0]
    torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(mine, (h, scalar), gradient),
        torch.autograd.grad(theirs, (h, conv.beta), gradient),
        rtol=1e-4,
        atol=1e-5,
    )


def test_loops_given_and_loops_added_by_the_peer_are_the_same(graph):
    h = torch.randn(graph.nodes, 16)
    given = peer.AGNNConv(add_self_loops=False)(h, edge_index_with_loops(graph))
    torch.testing.assert_close(given, peer.AGNNConv()(h, edge_index(graph)))


@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_ours_and_the_peers_model_give_the_same_log_probabilities(form):
    data, method = load_dataset("cora"), ours.preset("cora")
    x = SparseFeatures.from_scipy(data.scaled_features("sum"))
    mine = method.build(data.feature_count, data.classes, [0], "auto")
    W = mine.first.weight.data[0]
    if form == "dense":
        first = peer.DenseInput(data)
        first.linear.weight.data, first.linear.bias.data = W.T, mine.first.bias.data[0]
    else:
        first = SparseInput(data, form)
        first.weight.data, first.bias.data = W, mine.first.bias.data[0]
    theirs = peer.Example(first, data.classes, [False, True], add_loops=True).eval()
    theirs.last.weight.data = mine.last.weight.data[0].T
    theirs.last.bias.data = mine.last.bias.data[0]
    for layer, beta in zip(theirs.layers, mine.betas[0], strict=True):
        layer.beta.data.fill_(beta)
    logits = mine(View.whole(x, graph_of("cora"), method.layers))[0]
    torch.testing.assert_close(
        logits.log_softmax(1), theirs(edge_index(graph_of("cora"))), rtol=1e-4, atol=1e-5
    )


def test_the_peers_example_learns():
    data = load_dataset("cora")
    torch.manual_seed(0)
    model = peer.Example(SparseInput(data, "csr"), data.classes, [False, True], add_loops=True)
    training = peer.Training(model, edge_index(graph_of("cora")), data)
    for _ in range(30):
        training.epoch()
    assert training.look()[2] > 0.6


def test_the_gate_lets_nothing_through_but_passing_tests(tmp_path):
    assert not gate.kernels_are_right(tmp_path)  # no tests
    file = tmp_path / "test_kernel.py"
    file.write_text("def test_right(): pass\n")
    assert gate.kernels_are_right(tmp_path)
    file.write_text("def test_wrong(): assert 1 == 2\n")
    assert not gate.kernels_are_right(tmp_path)


def fake_run(_groups, rounds, _announce):
    row = {
        "id": "layer/cora/1", "group": "layer", "what": WORDS["layer"], "graph": "cora",
        "threads": 1, "rounds": rounds, "ours_ms": 0.1, "peer_ms": 2.5, "ratio": 25.0,
        "ratio_10_90": [9.0, 26.0], "must": 10, "aim": 20, "reached": "aim", "others_cores": 0.0,
    }  # fmt: skip
    return [row], []


def test_no_figures_are_reported_while_the_kernels_tests_fail(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gate, "kernels_are_right", lambda: False)
    monkeypatch.setattr(program, "run", lambda *_: pytest.fail("it was timed all the same"))
    assert program.main(["--out", str(tmp_path / "out")]) == 1
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "tests fail" in seen.err
    assert not (tmp_path / "out").exists()


def test_results_are_written_with_what_they_depend_on(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gate, "kernels_are_right", lambda: True)
    monkeypatch.setattr(program, "run", fake_run)
    assert program.main(["--quick", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "cpu.json").read_text())
    assert results["tests"] == "passed"
    assert results["duels"][0]["ratio"] == 25.0
    assert {"torch", "torch_geometric", "numba"} <= set(results["versions"])
    written = (tmp_path / "cpu.md").read_text()
    # The committed figures stand between ours and PyG's.
    assert "| layer | cora | 1 | 0.1 ms | " in written
    assert " | 2.5 ms | 25x (9.0x to 26x) | 10x | 20x | aim |" in written
    assert "layer" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--skip-tests"], ["--quick"], ["--cases", "layer"]], ids=lambda each: each[0]
)
def test_untested_quick_and_partial_runs_leave_the_published_results(
    options, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(gate, "kernels_are_right", lambda: True)
    monkeypatch.setattr(program, "run", fake_run)
    monkeypatch.setattr(program, "RESULTS", tmp_path / "results")
    assert program.main(options) == 0
    assert not (tmp_path / "results").exists()
    assert "Nothing is written" in capsys.readouterr().err
    assert program.main([]) == 0
    assert (tmp_path / "results" / "cpu.json").exists()


def test_a_busy_machine_is_told():
    (row,), _ = fake_run((), 3, None)
    about = {"machine": {"cores": 2}, "ceilings": []}
    assert report.disturbance(about | {"duels": [row]}) is None
    busy = row | {"others_cores": 1.5}
    assert "up to 1.5 of its 2 cores" in report.disturbance(about | {"duels": [row, busy]})


def test_skipped_tests_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr(gate, "kernels_are_right", lambda: pytest.fail("they ran"))
    monkeypatch.setattr(program, "run", fake_run)
    assert program.main(["--skip-tests", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "cpu.json").read_text())["tests"] == "skipped"


def test_an_unknown_case_is_answered_with_the_nearest_name(capsys):
    assert program.main(["--cases", "step-sparce"]) == 2
    assert "did you mean 'step-sparse'?" in capsys.readouterr().err


def test_every_case_has_its_own_name_and_words():
    assert len({duel.id for duel in DUELS}) == len(DUELS)
    assert {duel.group for duel in DUELS} == set(WORDS)
    assert {*WORDS, *(ceiling.group for ceiling in CEILINGS)} == set(GROUPS)
    assert all(set(ceiling.below) <= set(ceiling.words) for ceiling in CEILINGS)


def test_a_goal_says_which_of_its_numbers_is_reached():
    assert [Goal(10, 20).verdict(ratio) for ratio in (9.9, 10, 20)] == ["no", "must", "aim"]


def test_nothing_is_claimed_for_threads_that_shared_their_cores():
    goal, duels = Goal(10, 20), {duel.threads: duel for duel in DUELS if duel.group == "layer"}
    assert verdict(duels[2], goal, 900.0, others_cores=1.0) == "disturbed"
    assert verdict(duels[2], goal, 25.0, others_cores=0.0) == "aim"
    assert verdict(duels[1], goal, 12.0, others_cores=1.0) == "must"


def test_a_peer_that_cannot_run_is_noted_unless_a_goal_depends_on_it():
    def broken(_graph):
        raise RuntimeError("no compiler\nand more")

    with_goal = DUELS[0]
    without = next(duel for duel in DUELS if duel.goal is None)
    row = duel_row(type(without)("step-compiled", "cora", 1, broken), rounds=1)
    assert row["error"] == "RuntimeError: no compiler"
    assert "no compiler" in report.duel_cells(row)[6]
    with pytest.raises(RuntimeError, match="no compiler"):
        duel_row(type(without)("step", "cora", 1, broken, with_goal.goal), rounds=1)


def test_own_work_is_not_taken_for_that_of_others(monkeypatch):
    # Two seconds pass; the cores are busy for 3.5, of which this process had 2.
    marks = iter([(100.0, 5.0, 30.0), (103.5, 7.0, 32.0)])
    monkeypatch.setattr(others, "_marks", lambda: next(marks))
    with others.Others() as counted:
        pass
    assert counted.cores == pytest.approx(0.75)


def test_the_machine_tells_what_others_did():
    with others.Others() as counted:
        time.sleep(0.05)
    assert 0 <= counted.cores < 2 * os.cpu_count()


def test_a_duel_runs_on_its_threads_and_puts_the_number_back():
    before, seen = torch.get_num_threads(), set()
    note = lambda: seen.add(torch.get_num_threads())  # noqa: E731
    machine_pair = Pair(lambda: (note(), sum(range(2000))), lambda: (note(), sum(range(4000))))
    duel_row(type(DUELS[0])("layer", "cora", 1, lambda _: machine_pair), rounds=1)
    assert seen == {1}
    assert torch.get_num_threads() == before


def test_committed_figures_stand_beside_the_new_ones():
    duel = {
        "id": "layer/cora/1", "group": "layer", "what": "", "graph": "cora", "threads": 1,
        "ours_ms": 0.5, "peer_ms": 5.0, "ratio": 10.0, "ratio_10_90": [9.0, 11.0], "must": 10,
        "aim": 20, "reached": "must",
    }  # fmt: skip
    ceiling = {"id": "memory/peak", "what": "", "value": 2.0, "unit": "GiB", "below": None}
    ceiling["reached"] = None
    new = {"machine": {"cpu": "new"}, "duels": [duel], "ceilings": [ceiling]}
    old = {
        "machine": {"cpu": "old"}, "date": "2026-01-02T03:04:05",
        "duels": [duel | {"ours_ms": 1.0}], "ceilings": [],
    }  # fmt: skip
    both = report.with_previous(new, old)
    assert report.duel_cells(both["duels"][0])[3:6] == ["0.5 ms", "1 ms", "2.00x"]
    assert report.ceiling_cells(both["ceilings"][0])[1:4] == ["2.00 GiB", "-", "-"]
    assert "2026-01-02, old; now: new. Another processor" in report.comparison(both)
    assert report.comparison(report.with_previous(new, None)) is None


def test_every_family_has_a_method_with_the_fields_that_shorten_it():
    for name, changes in families.FAMILIES.values():
        method = get_method(name)
        assert all(hasattr(method, field) for field in changes), name


def test_scaling_is_measured_against_one_thread():
    before, seen = torch.get_num_threads(), []
    found = threads.scaling(lambda: seen.append(torch.get_num_threads()), [1, 2], rounds=2)
    assert set(seen) == {1, 2}
    assert found["factor"][1] == 1.0
    assert torch.get_num_threads() == before
    assert [threads.counts(most) for most in (1, 2, 6)] == [[1], [1, 2], [1, 2, 4, 6]]
    assert "| layer | " in threads.table({"layer": found}, [1, 2])
