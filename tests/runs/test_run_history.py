"""The epochs of a run: kept with it, to the bit."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from agnn.errors import DataError
from agnn.methods import get_method
from agnn.runs import evaluate, load_run, save_run
from properties import assert_same_bits


@pytest.fixture(scope="module")
def run(toy):
    return evaluate(get_method("agnn")(epochs=6, layers=3, first_beta=0.0), toy, seeds=(0, 1))


def test_every_epoch_comes_back_to_the_bit(run, tmp_path):
    save_run(run, tmp_path / "run")
    back = load_run(tmp_path / "run").history
    for field in fields(back):
        assert_same_bits(getattr(back, field.name), getattr(run.history, field.name))


def test_the_betas_of_the_chosen_epoch_are_those_of_the_model(run):
    betas, chosen = run.history.betas, run.history.selected_epochs
    assert betas.shape == (6, 2, 3)
    at_choice = torch.stack([betas[epoch - 1, r] for r, epoch in enumerate(chosen.tolist())])
    assert_same_bits(at_choice, run.model.betas)
    assert (betas[:, :, 0] == 0).all(), "the first is held"
    assert (betas[1:, :, 1:] != betas[:-1, :, 1:]).all(), "the others are learned"


def test_a_model_without_attention_has_epochs_without_betas(toy, tmp_path):
    save_run(evaluate(get_method("gcn")(epochs=3), toy), tmp_path / "run")
    assert load_run(tmp_path / "run").history.betas is None


def test_a_method_without_epochs_and_an_older_folder_have_no_history(toy, tmp_path):
    save_run(evaluate(get_method("label_propagation")(), toy), tmp_path / "run")
    assert not (tmp_path / "run" / "history.safetensors").exists()
    assert load_run(tmp_path / "run").history is None


def test_a_damaged_history_is_one_clear_line(run, tmp_path):
    save_run(run, tmp_path / "run")
    (tmp_path / "run" / "history.safetensors").write_bytes(b"noise")
    with pytest.raises(DataError, match="changed after it was written"):
        load_run(tmp_path / "run")
