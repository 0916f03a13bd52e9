import pytest
import torch
from benchmarks.graphs import edge_index, graph_of
from benchmarks.peer_gcn import GCN
from benchmarks.whole_table import Estimate, estimates, table
from rich.console import Console

from agnn.data import load_dataset
from benchmarks import whole_table


def test_the_whole_is_epochs_times_an_epoch_and_says_that_it_is_extrapolated():
    console = Console(record=True, width=120, quiet=True)
    console.quiet = False
    with console.capture() as seen:
        console.print(table([Estimate("AGNN", "cora", 100_000, 0.0012, 0.06)], 100))
    text = seen.get()
    assert "Extrapolated" in text
    assert "about 2.0 min" in text
    assert text.count("about 100 min") == 2  # a line and the sum
    assert "50x" in text


def test_every_method_and_dataset_is_timed_for_all_its_epochs(monkeypatch):
    class Timing:
        ours, peer = (0.001, 0.003, 0.002), (0.5, 0.4, 0.6)

    monkeypatch.setattr(whole_table, "compare", lambda *_, **__: Timing)
    monkeypatch.setattr(whole_table, "fastest", lambda actions, **_: next(iter(actions)))
    found = estimates(100, 3, ("cora",))
    assert [each.epochs for each in found] == [100_000, 100_000, 20_000]
    assert {(each.ours, each.peer, each.ratio) for each in found} == {(0.002, 0.5, 250.0)}


def test_the_peers_gcn_is_the_formula():
    data, graph = load_dataset("cora"), graph_of("cora")
    model = GCN(data).eval()
    adjacency = torch.eye(graph.nodes, dtype=torch.float64)
    adjacency[graph.receivers, graph.senders] = 1.0
    root = adjacency.sum(1).rsqrt()
    P = root[:, None] * adjacency * root
    x = model.x.double()
    hidden = (P @ (x @ model.first.lin.weight.T.double()) + model.first.bias).relu()
    logits = P @ (hidden @ model.second.lin.weight.T.double()) + model.second.bias
    found = model(edge_index(graph)).detach()
    assert (found.double() - logits.log_softmax(1)).abs().max() < 1e-5
    assert pytest.approx(1.0, abs=1e-5) == float(found.exp().sum(1).min())
