"""Faults found while writing the tests, each with its failing test.

When one is mended its test moves to the file of its room, named in the comment above it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from agnn import nn
from agnn.data import NodeData, Split
from agnn.errors import AgnnError, DataError, InputError
from agnn.evaluation import evaluate, load_run, save_run
from agnn.graph import FeatureMatrix, Graph
from agnn.kernels import cosine_attention, cross_entropy, dense_linear
from agnn.methods import AGNN, get_method, method_names
from agnn.training.targets import Targets
from properties import FAST_BACKENDS, assert_close, assert_same_bits
from zoo import ZOO, zoo_graph


# -> training/test_targets.py: SETS["one inside the other"]
@pytest.mark.parametrize("sets", [[[3, 7, 50], [7, 50]], [[3, 7, 50], [50]]])
def test_a_shorter_set_inside_a_longer_one_reads_its_own_rows(sets, toy):
    graph = Graph.from_edges(toy.edges, toy.nodes)
    features = FeatureMatrix.from_scipy(toy.normalised_features())
    targets = Targets.build(features, graph, toy.labels, [np.array(each) for each in sets], 1)
    every = torch.randn(2, toy.nodes, 3, generator=torch.Generator().manual_seed(0))
    losses = targets.losses(targets.pick(every[:, targets.view.field.targets]), "auto")
    for r, nodes in enumerate(sets):
        expected = F.cross_entropy(every[r, nodes], torch.tensor(toy.labels)[nodes])
        assert_close(losses[r], expected, 1e-6)


# -> training/test_targets.py
def test_equally_many_right_answers_are_the_same_accuracy_to_the_bit(
    cora, cora_graph, cora_features
):
    nodes = cora.split("fixed").validation
    targets = Targets.build(cora_features, cora_graph, cora.labels, [nodes], 1)
    seen = set()
    for seed in range(20):
        right = torch.randperm(500, generator=torch.Generator().manual_seed(seed))[:391]
        answers = (targets.labels + 1) % 7
        answers[:, right] = targets.labels[:, right]
        seen.add(float(targets.accuracies(F.one_hot(answers, 7).float())))
    assert len(seen) == 1


# -> evaluation/test_evaluate.py
def test_a_split_without_test_nodes_is_an_error_that_says_so(toy):
    blind = Split("blind", [10, 11, 12], [50, 51], [])
    data = NodeData.build(
        name="toy", features=toy.features, labels=toy.labels, edges=toy.edges,
        class_names=toy.class_names, splits={"fixed": blind},
    )  # fmt: skip
    with pytest.raises(InputError, match="test nodes"):
        evaluate(AGNN(epochs=1), data)


# -> methods/test_method_contract.py
@pytest.mark.parametrize("name", method_names())
def test_data_without_any_features_is_answered_or_refused_in_words(name, toy):
    data = NodeData.build(
        name="bare", features=np.zeros((120, 0)), labels=toy.labels, edges=toy.edges,
        class_names=toy.class_names, splits=toy.splits,
    )  # fmt: skip
    try:
        run = evaluate(get_method(name)(epochs=2), data)
    except AgnnError:
        return
    assert torch.isfinite(run.outcome.scores).all()


# -> nn/test_initialisation.py
def test_seeds_that_differ_above_32_bits_start_elsewhere():
    weight = nn.AGNN(9, 3, (1, 2**32 + 1)).first.weight
    assert not torch.equal(weight[0], weight[1])


@pytest.fixture
def saved(toy: NodeData, tmp_path: Path) -> Path:
    save_run(evaluate(AGNN(epochs=1), toy), tmp_path / "run")
    return tmp_path / "run"


# -> evaluation/test_run_folder.py: test_a_config_that_does_not_fit_is_one_clear_line
@pytest.mark.parametrize(
    "change",
    [
        {"seeds": [0, 1]},  # torch's message has many lines
        {"data": {"features": 7, "class_names": ["a", "b"]}},
        {"method": {"name": 5}},  # AttributeError
        {"method": {"name": "agnm"}},  # InputError: as if the user had asked for it
        {"method": {"name": "agnn", "layers": 0}},
        {"seeds": [-1]},
    ],
)
def test_a_config_that_does_not_fit_the_weights_is_one_line_about_the_folder(saved, change):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(DataError, match="damaged") as caught:
        load_run(saved)
    assert "\n" not in str(caught.value)


# -> evaluation/test_run_folder.py
def test_an_interrupted_write_leaves_no_new_parent_folders_behind(toy, tmp_path, monkeypatch):
    def fail(*_args: object) -> None:
        raise OSError("disk full")

    run = evaluate(AGNN(epochs=1), toy)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="disk full"):
        save_run(run, tmp_path / "new" / "run")
    assert list(tmp_path.iterdir()) == []


# -> evaluation/test_run_folder.py
def test_a_folder_may_be_given_as_text(toy, tmp_path):
    save_run(evaluate(AGNN(epochs=1), toy), str(tmp_path / "run"))
    assert load_run(str(tmp_path / "run")).seeds == (0,)


# -> kernels/test_threads.py: test_a_replica_in_a_batch_gives_the_bits_it_gives_alone
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_an_extreme_replica_does_not_change_the_bits_of_its_neighbours(backend):
    h, graph = ZOO["random"].states(2, 16, torch.float32), zoo_graph("random")
    together = cosine_attention(graph, h, torch.tensor([3.0, -60.0]), backend=backend)
    alone = cosine_attention(graph, h[:1], torch.tensor([3.0]), backend=backend)
    assert_same_bits(together[0], alone[0])


# -> nn/test_pruning.py and training/test_replicas.py: then GCN and GLN are equal to the bit too
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_the_order_of_rows_changes_no_bit_of_the_output_layers_gradients(backend):
    """As in sparse_linear: sums run in the order of `row_ids`, not in that of the view."""
    source = torch.Generator().manual_seed(0)
    h, weight = torch.randn(1, 50, 16, generator=source), torch.randn(1, 16, 7, generator=source)
    bias, g = torch.randn(1, 7, generator=source), torch.randn(1, 50, 7, generator=source)
    order = torch.randperm(50, generator=source)
    found = []
    for rows in (torch.arange(50), order):
        leaves = [each.clone().requires_grad_() for each in (weight, bias)]
        out = dense_linear(h[:, rows], *leaves, rows, backend=backend)
        found.append(torch.autograd.grad(out, leaves, g[:, rows]))
    for one, other in zip(*found, strict=True):
        assert_same_bits(one, other)


# -> kernels/test_cross_entropy.py: compiled code would read and write outside the row
@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_out_of_range_is_refused(label):
    logits, labels = torch.zeros(1, 4, 3), torch.zeros(1, 4, dtype=torch.int64)
    labels[0, 1] = label
    with pytest.raises(InputError, match="label"):
        cross_entropy(logits, labels, torch.ones(1, 4))
