"""Trained models as PyG modules: the run's scores, and PyG's and Captum's explainers on them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from agnn.errors import InputError
from agnn.pyg import AGNNConv, pyg_data
from agnn.runs import Run, evaluate
from properties import assert_close

from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer  # isort: skip

CONFIG = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}


@pytest.fixture(scope="module")
def run(toy) -> Run:
    return evaluate("agnn", toy, "fixed", (0, 1), changes={"epochs": 30})


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("agnn", {}), ("agnn_plus", {}), ("agnn_plus", {"relu_after_hops": True}), ("gcn", {}),
        ("gln", {}), ("appnp", {}), ("gcnii", {"layers": 3}), ("multilayer_perceptron", {}),
        ("sgc", {}),
    ],
)  # fmt: skip
def test_the_module_gives_the_scores_of_its_replica(name, changes, is_weighted, toy):
    drawn = np.random.default_rng(0).lognormal(size=toy.edges.shape[1]).astype(np.float32)
    data = replace(toy, edge_weights=drawn) if is_weighted else toy
    found = evaluate(name, data, "fixed", (0, 1), changes={"epochs": 3} | changes)
    given = pyg_data(found)
    for replica in range(2):
        module = found.to_pyg(replica)
        logits = module(given.x, given.edge_index, given.edge_weight)
        assert_close(logits.softmax(1), found.scores[replica], 1e-5)


def test_the_data_has_the_runs_graph_labels_and_split(run):
    data = pyg_data(run)
    assert data.num_nodes == run.data.nodes
    assert data.is_undirected()
    assert data.edge_index.shape[1] == 2 * run.data.edges.shape[1]
    assert np.array_equal(data.y.numpy(), run.data.labels)
    assert data.train_mask.nonzero().flatten().tolist() == sorted(run.splits[0].train.tolist())
    assert "edge_weight" not in data


def test_the_module_is_made_of_our_layers_and_of_copies(run):
    module = run.to_pyg()
    assert sum(isinstance(each, AGNNConv) for each in module.modules()) == run.network.hops
    before = run.network.first.weight.clone()
    with torch.no_grad():
        module.layers[0].weight.zero_()
    assert torch.equal(run.network.first.weight, before)
    assert not module.training


def test_what_has_no_form_as_a_module_is_refused(run, toy):
    with pytest.raises(InputError, match="`replica` must be from 0 to 1; got 2"):
        run.to_pyg(2)
    gat = evaluate("gat", toy, "fixed", (0,), changes={"epochs": 1})
    with pytest.raises(InputError, match="its link AdditiveAttention has none"):
        gat.to_pyg()
    with pytest.raises(InputError, match="LP"):
        evaluate("label_propagation", toy, "fixed", (0,)).to_pyg()


def explained(run: Run, algorithm: object, node: int, **options: object) -> object:
    data = pyg_data(run)
    explainer = Explainer(
        model=run.to_pyg(), algorithm=algorithm, explanation_type="model",
        node_mask_type="attributes", edge_mask_type="object", model_config=CONFIG, **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a peer warns of is not our concern
        return explainer(data.x, data.edge_index, index=node)


def near(run: Run, node: int) -> torch.Tensor:
    """Which edges can matter for a node: those into nodes within reach of it."""
    data, seen = pyg_data(run), {node}
    for _ in range(run.network.hops - 1):
        senders, receivers = data.edge_index.tolist()
        seen |= {i for i, j in zip(senders, receivers, strict=True) if j in seen}
    return torch.tensor([int(j) in seen for j in data.edge_index[1]])


@pytest.mark.parametrize("name", ["gnnexplainer", "captum"])
def test_explainers_of_others_run_on_it(name, run):
    if name == "captum":
        pytest.importorskip("captum")
        algorithm: object = CaptumExplainer("IntegratedGradients", n_steps=8)
    else:
        algorithm = GNNExplainer(epochs=20)
    node = int(np.bincount(run.data.edges.ravel()).argmax())
    found = explained(run, algorithm, node)
    assert found.edge_mask.shape == (2 * run.data.edges.shape[1],)
    assert torch.isfinite(found.edge_mask).all()
    assert (found.edge_mask[near(run, node)] != 0).any()
    assert (found.edge_mask[~near(run, node)] == 0).all()
    assert (found.node_mask[node] != 0).any()


def test_captums_attributions_of_features_add_up_to_the_change_of_the_logit(run):
    """Integrated gradients are complete, through the kernels as well."""
    attr = pytest.importorskip("captum.attr")
    module, data = run.to_pyg(), pyg_data(run)
    node = int(np.bincount(run.data.edges.ravel()).argmax())

    def logits(x: torch.Tensor) -> torch.Tensor:
        return module(x[0], data.edge_index)[node][None]

    with torch.no_grad():
        whole, nothing = logits(data.x[None]), logits(torch.zeros_like(data.x)[None])
    target = int(whole.argmax())
    method = attr.IntegratedGradients(logits)
    found = method.attribute(data.x[None], target=target, n_steps=256, internal_batch_size=1)
    change = float(whole[0, target] - nothing[0, target])
    assert float(found.detach().sum()) == pytest.approx(change, abs=0.02 * (1 + abs(change)))
