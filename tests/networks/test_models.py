"""AGNN, GLN and GCN: what they hold, and the formulas they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Propagation, SparseFeatures, View
from agnn.kernels import Dropout, DropoutAt
from agnn.networks._layers import Beta
from built_models import AGNN, GCN, GLN, MLP
from properties import CPU_BACKENDS, as_matrix, assert_close, assert_same_bits, dense_attention
from zoo import ZOO, zoo_graph

ANIMAL, GRAPH = ZOO["random"], zoo_graph("random")
_SOURCE = np.random.default_rng(1)
X = _SOURCE.random((200, 40)) * (_SOURCE.random((200, 40)) < 0.2)
FEATURES = SparseFeatures.from_scipy(sparse.csr_array(X))
BETAS = (Beta(0.0, learned=False), Beta(2.0), Beta())


def agnn(seeds=(0,), backend="auto", betas=BETAS) -> AGNN:
    return AGNN(40, 5, seeds, betas=betas, hidden=16, backend=backend)


def whole(hops: int) -> View:
    return View.whole(FEATURES, GRAPH, hops)


def test_agnn_names_its_parameters_with_the_replica_first():
    model = agnn(seeds=(4, 5))
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    assert shapes == {
        "first.weight": (2, 40, 16), "first.bias": (2, 16), "layers.1.beta": (2,),
        "layers.2.beta": (2,), "last.weight": (2, 16, 5), "last.bias": (2, 5),
    }  # fmt: skip
    assert model.hops == 3
    assert model.replicas == 2


@pytest.mark.parametrize("kind", [GCN, GLN])
def test_gcn_and_gln_have_two_weights_and_no_bias(kind):
    model = kind(40, 5, (4, 5), hidden=16)
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    assert shapes == {"first.weight": (2, 40, 16), "last.weight": (2, 16, 5)}


def test_a_fixed_beta_is_saved_and_moved_but_no_parameter():
    model = agnn()
    assert "layers.0.beta" in model.state_dict()
    assert "layers.0.beta" in dict(model.named_buffers())
    assert "layers.0.beta" not in dict(model.named_parameters())
    assert model.double().layers[0].beta.dtype == torch.float64
    other = agnn(betas=(Beta(9.0, learned=False), *BETAS[1:]))
    other.load_state_dict(agnn().state_dict())
    assert other.betas[0, 0] == 0.0


def test_betas_start_where_they_are_told():
    assert agnn(seeds=(1, 2)).betas.tolist() == [[0.0, 2.0, 1.0]] * 2
    assert AGNN(40, 5).betas.tolist() == [[1.0, 1.0]]


def reference_logits(model: AGNN, r: int) -> Tensor:
    """Eq. (4) to (6), dense, in float64."""
    p = {name: value[r].double() for name, value in model.state_dict().items()}
    h = torch.relu(torch.tensor(X) @ p["first.weight"] + p["first.bias"])
    for t in range(model.hops):
        h = dense_attention(ANIMAL.neighbourhoods(), h, p[f"layers.{t}.beta"]) @ h
    return h @ p["last.weight"] + p["last.bias"]


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("betas", [BETAS[:1], BETAS])
def test_agnn_is_the_formula_of_the_paper(backend, betas):
    model = agnn((3, 4), backend, betas)
    for name, p in model.named_parameters():  # biases start at zero; move them
        if name.endswith("bias"):
            p.data = torch.randn(p.shape, generator=torch.Generator().manual_seed(0))
    out = model(whole(len(betas)))
    assert out.shape == (2, 200, 5)
    for r in range(2):
        assert_close(out[r], reference_logits(model, r), 1e-5)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize(("kind", "activation"), [(GCN, torch.relu), (GLN, lambda h: h)])
def test_gcn_and_gln_are_the_formulas_of_the_paper(backend, kind, activation):
    model = kind(40, 5, (3, 4), hidden=7, backend=backend)
    weights = Propagation.symmetric(GRAPH, torch.float64)
    P = torch.diag(weights.loop_weights)
    P[GRAPH.receivers, GRAPH.senders] = weights.edge_weights
    for r, out in enumerate(model(whole(2))):
        first, last = model.first.weight[r].double(), model.last.weight[r].double()
        assert_close(out, P @ activation(P @ torch.tensor(X) @ first) @ last, 1e-5)


def test_attentions_are_what_forward_averages_by():
    model = agnn((3, 4)).double()
    features = SparseFeatures.from_scipy(sparse.csr_array(X), torch.float64)
    view = View.whole(features, GRAPH, 3)
    layers = model.attentions(view)
    assert len(layers) == 3
    h = torch.relu(torch.tensor(X) @ model.first.weight + model.first.bias[:, None])
    for attention in layers:
        h = as_matrix(GRAPH, attention) @ h
    assert_close(h @ model.last.weight + model.last.bias[:, None], model(view), 1e-12)


def test_attentions_of_a_pruned_view_are_those_of_the_whole():
    model, view = agnn((3,)), View.around(FEATURES, GRAPH, torch.tensor([8, 100]), 3)
    for part, all_of_it, rows in zip(
        model.attentions(view), model.attentions(whole(3)), view.field.sizes[-2::-1], strict=True
    ):
        nodes, edges = view.field.nodes[:rows], view.field.edge_ids[: part.edges.shape[1]]
        assert part.loops.shape == (1, rows)
        assert_close(part.loops, all_of_it.loops[:, nodes], 1e-6)
        assert_close(part.edges, all_of_it.edges[:, edges], 1e-6)


@pytest.mark.parametrize("make", [agnn, lambda: GCN(40, 5), lambda: GLN(40, 5)])
def test_dropout_acts_only_when_it_is_given_and_moves_with_the_epoch(make):
    model, stream = make(), Dropout([0], [0.5])
    view = whole(model.hops)
    assert_same_bits(model(view), model(view))
    dropped = model(view, stream)
    assert_same_bits(model(view, stream), dropped)
    assert not torch.equal(dropped, model(view))
    stream.epoch += 1
    assert not torch.equal(model(view, stream), dropped)


class Recorder(Dropout):
    """A dropout that notes which places are asked for."""

    def at(self, place: int, **options: Any) -> DropoutAt:
        self.asked = [*getattr(self, "asked", []), place]
        return super().at(place, **options)


@pytest.mark.parametrize("make", [agnn, lambda: GCN(40, 5), lambda: GLN(40, 5)])
def test_dropout_acts_at_two_places_whose_numbers_belong_to_the_seed(make):
    model, stream = make(), Recorder([0], [0.5])
    model(whole(model.hops), stream)
    assert stream.asked == [0, 1]


def test_the_second_dropout_acts_on_the_states_before_the_output_layer_and_not_on_logits():
    model, stream = MLP(40, 5), Dropout([0], [0.5])
    empty = View.whole(SparseFeatures.from_scipy(sparse.csr_array(np.zeros((200, 40)))), GRAPH, 0)
    model.first.bias.data += 1.0  # X = 0 leaves nothing to the first: every state is 1
    assert len(model(empty)[0].unique(dim=0)) == 1
    assert len(model(empty, stream)[0].unique(dim=0)) > 100
    model.last.bias.data += 100.0  # no logit is ever zero, so none was dropped
    assert (model(empty, stream) > 50).all()


@pytest.mark.parametrize(("kind", "hops"), [(agnn, 3), (lambda: GCN(40, 5), 2)])
def test_a_view_of_another_depth_is_refused(kind, hops):
    with pytest.raises(InputError, match=f"{hops} propagation layers, the view is 1 deep"):
        kind()(whole(1))
