"""The presets are the paper's table of hyper-parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agnn.cli._arguments import hyper_parameters
from agnn.errors import InputError
from agnn.networks import AGNN, GCN, GLN
from agnn.runs import prepare
from agnn.training import HighestAccuracy, WindowStop

# Appendix C, "Hyper-parameters for AGNN model", row by row as printed:
# setting, dataset, propagation layers, hidden, learning rate, weight decay, dropout, epochs
PAPER = [
    ("fixed", "citeseer", 4, 16, 0.005, 0.0005, 0.5, 1000),
    ("fixed", "cora", 2, 16, 0.01, 0.0005, 0.5, 1000),
    ("fixed", "pubmed", 4, 16, 0.008, 0.001, 0.5, 400),
    ("random", "citeseer", 4, 16, 0.01, 0.0005, 0.5, 1000),
    ("random", "cora", 3, 16, 0.01, 0.0005, 0.5, 1000),
    ("random", "pubmed", 4, 16, 0.008, 0.001, 0.5, 1000),
    ("cross-validation", "cora", 3, 16, 0.04, 0.0005, 0.25, 500),
]


@pytest.mark.parametrize("row", PAPER, ids=lambda row: f"{row[0]}-{row[1]}")
def test_agnn_has_the_papers_hyper_parameters(row):
    setting, dataset, *printed = row
    m = AGNN.preset(setting, dataset)
    held = [m.layers, m.hidden, m.learning_rate, m.weight_decay, m.dropout, m.epochs]
    assert held == printed


@pytest.mark.parametrize("row", PAPER, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_recipe_and_the_model_follow_the_preset(row):
    setting, dataset, layers, hidden, rate, decay, dropout, epochs = row
    method = AGNN.preset(setting, dataset)
    recipe, model = method.recipe(), method.build(50, 3, (0, 1), "auto")
    assert (recipe.learning_rate, recipe.weight_decay) == (rate, decay)
    assert (recipe.dropout, recipe.epochs) == (dropout, epochs)
    assert model.hops == layers
    assert model.first.weight.shape == (2, 50, hidden)
    # Cora's first layer averages plainly; every other beta starts at 1 and is learned.
    first = [0.0] if dataset == "cora" else [1.0]
    assert model.betas.tolist() == [first + [1.0] * (layers - 1)] * 2
    learned = [name for name, _ in model.named_parameters() if "beta" in name]
    assert len(learned) == layers - (dataset == "cora")
    # L2 on the linear layers, not on beta.
    names = [name for name, _ in model.named_parameters()]
    assert [n for n in names if recipe.is_decayed(n)] == [n for n in names if "beta" not in n]


@pytest.mark.parametrize("row", PAPER, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_epoch_is_chosen_as_the_paper_says(row):
    """The mean of 4 validation accuracies; in cross-validation the best epoch on the fold."""
    folds = row[0] == "cross-validation"
    rule = HighestAccuracy(1, on="test") if folds else HighestAccuracy(4, on="validation")
    assert AGNN.preset(row[0], row[1]).recipe().selection == rule


@pytest.mark.parametrize("method", [GCN, GLN])
@pytest.mark.parametrize("setting", ["fixed", "random", "cross-validation"])
@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed", "my own"])
def test_gcn_and_gln_have_kipf_and_wellings_settings_everywhere(method, setting, dataset):
    m = method.preset(setting, dataset)
    held = (m.hidden, m.learning_rate, m.weight_decay, m.dropout, m.epochs, m.window)
    assert held == (16, 0.01, 5e-4, 0.5, 200, 10)
    on = "test" if setting == "cross-validation" else "validation"
    assert m.recipe().selection == WindowStop(10, on=on)
    model = m.build(9, 3, (0,), "auto")
    assert model.title == method.title
    assert [m.recipe().is_decayed(name) for name, _ in model.named_parameters()] == [True, False]


@pytest.mark.parametrize("method", [AGNN, GCN, GLN])
def test_a_dataset_without_a_preset_has_the_defaults(method):
    assert method.preset("fixed", "my own") == method()
    assert method.preset("cross-validation", "my own").watched == "test"


def test_some_fields_can_be_changed_and_none_changes_nothing():
    method = AGNN.preset("fixed", "pubmed")
    changed = method.with_fields(epochs=7, layers=None)
    assert (changed.epochs, changed.layers, changed.weight_decay) == (7, 4, 1e-3)
    assert method.epochs == 400


def test_an_unknown_field_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="of agnn 'layer'; did you mean 'layers'"):
        AGNN().with_fields(layer=3)


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"layers": 0}, "`layers` must be at least 1"), ({"hidden": 0}, "`hidden` must be")],
)
def test_a_network_without_size_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        AGNN(**fields)


def test_a_preset_is_undone_by_the_text_none(cora):
    preset = prepare("agnn", cora, "fixed")
    assert preset.first_beta == 0.0
    assert prepare("agnn", cora, "fixed", {"first_beta": None}) == preset
    free = prepare("agnn", cora, "fixed", {"first_beta": "none"})
    assert free == replace(preset, first_beta=None)
    assert all(beta.learned for beta in free.betas)
    changes = hyper_parameters("agnn", {}, ["first_beta=none"])
    assert prepare("agnn", cora, "fixed", changes) == free
