"""`agnn train`: what it prints, what it writes and what it takes from its options."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from agnn import NodeData, get_method, load_run, method_names
from agnn.cli._arguments import typed_value
from agnn.metrics import MEASURES
from agnn.runs import _training, evaluate, preset_method

KEYS = {
    "dataset", "method", "split", "accuracy", "betas", "selected_epochs", "seconds",
    "seconds_per_replica_epoch", "device", "backend", "seeds", "versions", "machine",
    "hyper_parameters", "configuration", "confidence", "baselines", "warnings", "diverged_epochs",
    "metric", "measures", "unseen", "result",
}  # fmt: skip
SHORT = "--epochs 5 --replicas 2 --json --quiet"


def record(answer: Any) -> dict[str, Any]:
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.count("\n") == 1, "one line, one object"
    found: dict[str, Any] = json.loads(answer.out)
    return found


def test_json_is_one_object_with_every_promised_key(agnn: Any) -> None:
    found = record(agnn(f"train cora {SHORT}"))
    assert set(found) == KEYS
    assert set(found["accuracy"]) == {"mean", "standard_error", "deviation", "n", "values"}
    assert (found["dataset"], found["method"], found["split"]) == ("cora", "agnn", "fixed")
    assert len(found["accuracy"]["values"]) == found["accuracy"]["n"] == 2
    assert all(0 < value <= 100 for value in found["accuracy"]["values"])
    assert [len(betas) for betas in found["betas"]] == [2, 2]
    assert all(1 <= epoch <= 5 for epoch in found["selected_epochs"])
    assert found["seconds_per_replica_epoch"] == pytest.approx(found["seconds"] / 10)
    assert (found["device"], found["seeds"]) == ("cpu", [0, 1])
    assert {"python", "agnn", "torch"} <= set(found["versions"])


def test_unset_hyper_parameters_come_from_the_preset_and_set_ones_do_not(agnn: Any) -> None:
    found = record(agnn(f"train pubmed --layers 1 --hidden 3 {SHORT}"))["hyper_parameters"]
    assert (found["layers"], found["hidden"], found["epochs"]) == (1, 3, 5)
    assert (found["learning_rate"], found["weight_decay"]) == (0.008, 1e-3)


@pytest.mark.usefixtures("ring")
def test_replica_seeds_count_on_from_the_given_one(agnn: Any) -> None:
    both = record(agnn(f"train ring.npz --seed 7 {SHORT}"))
    second = record(agnn("train ring.npz --seed 8 --epochs 5 --replicas 1 --json --quiet"))
    assert both["seeds"] == [7, 8]
    assert second["betas"] == both["betas"][1:]
    assert both["betas"][0] != both["betas"][1]


@pytest.mark.usefixtures("ring")
def test_a_method_without_betas_says_null(agnn: Any) -> None:
    found = record(agnn(f"train ring.npz --method gcn {SHORT}"))
    assert found["betas"] is None
    assert found["hyper_parameters"]["epochs"] == 5


@pytest.mark.usefixtures("ring")
def test_tuned_chooses_on_validation_nodes_and_says_what(agnn: Any, here: Path) -> None:
    line = "train ring.npz --method single_layer_perceptron --tuned --replicas 2"
    found = record(agnn(f"{line} --out run --json --quiet"))
    assert (found["configuration"], len(found["chosen"])) == ("tuned", 2)
    assert (
        set(found["chosen"][0])
        == set(found["hyper_parameters"])
        == {"penalty_inverse", "has_unit_rows"}
    )
    assert load_run(here / "run").method.configuration == "tuned"
    assert "split fixed, tuned" in agnn(f"{line} --quiet").out


@pytest.mark.usefixtures("ring")
def test_a_method_without_epochs_trains_too(agnn: Any) -> None:
    found = record(agnn("train ring.npz --method label_propagation --replicas 2 --json"))
    assert (found["configuration"], found["selected_epochs"]) == (None, None)  # nobody's paper
    assert found["hyper_parameters"]["max_steps"] == 10_000


@pytest.mark.usefixtures("ring")
def test_one_replica_has_no_standard_error(agnn: Any) -> None:
    found = record(agnn("train ring.npz --epochs 2 --replicas 1 --json --quiet"))
    assert found["accuracy"]["standard_error"] is None
    answer = agnn("train ring.npz --epochs 2 --replicas 1 --quiet")
    shown = " ".join(answer.out.split())
    assert re.search(r"\(one replica; 95 % interval [\d.]+ to [\d.]+ for \d+ test nodes\)", shown)


@pytest.mark.usefixtures("ring")
def test_a_method_without_randomness_is_trained_once_on_a_fixed_split(agnn: Any) -> None:
    """Its copies would have a deviation of 0.00."""
    line = "train ring.npz --method ridge --split fixed --replicas 3 --quiet"
    found = record(agnn(f"{line} --json"))
    assert (found["seeds"], found["accuracy"]["standard_error"]) == ([0], None)
    assert "± 0.00" not in agnn(line).out
    drawn = record(
        agnn("train ring.npz --method ridge --split stratified --replicas 3 --quiet --json")
    )
    assert len(drawn["seeds"]) == 3  # each with nodes of its own


@pytest.mark.usefixtures("ring")
def test_out_is_a_run_folder_that_loads_back(agnn: Any, here: Path) -> None:
    found = record(agnn(f"train ring.npz --out deep/run {SHORT}"))
    saved = load_run(here / "deep" / "run")
    assert found["out"] == str(Path("deep/run"))
    assert saved.accuracy.to_dict() == found["accuracy"]
    assert list(saved.seeds) == found["seeds"]
    assert saved.model is not None
    assert saved.model.betas.tolist() == found["betas"]


@pytest.mark.usefixtures("ring")
def test_folds_give_one_value_a_trial_and_a_warning(agnn: Any) -> None:
    found = record(agnn(f"train ring.npz --split 3-fold {SHORT}"))
    assert found["accuracy"]["n"] == 2
    assert len(found["seeds"]) == len(found["betas"]) == 6
    assert "optimistic" in found["note"]
    answer = agnn("train ring.npz --split 3-fold --epochs 2 --replicas 2 --quiet")
    assert "standard error over 2 trials of 3 folds" in " ".join(answer.out.split())
    assert "cross-validated" in answer.out
    assert "optimistic" in answer.out


def test_a_trial_is_the_mean_of_its_folds(toy: NodeData) -> None:
    data = toy
    method = preset_method("agnn", "4-fold", "toy").with_fields(epochs=4)
    run = evaluate(method, data, "4-fold", (0, 1))
    labels = torch.tensor(data.labels)
    shares = [
        float((scores.argmax(-1) == labels)[split.test.tolist()].double().mean())
        for scores, split in zip(run.scores, run.splits, strict=True)
    ]
    means = [100 * sum(shares[:4]) / 4, 100 * sum(shares[4:]) / 4]
    assert len({round(share, 6) for share in shares[:4]}) > 1, "folds that differ, or no test"
    assert run.accuracy.values == pytest.approx(means)


@pytest.mark.usefixtures("ring")
def test_people_get_mean_error_time_and_place(agnn: Any) -> None:
    answer = agnn("train ring.npz --epochs 5 --replicas 2 --out run --quiet")
    assert answer.code == 0
    for words in ("± ", "over 2 replicas", "deviation", "ms", "cpu", "run"):
        assert words in " ".join(answer.out.split())
    assert "note" not in answer.out


@pytest.mark.usefixtures("ring")
def test_progress_goes_to_standard_error_and_quiet_silences_it(agnn: Any) -> None:
    line = "train ring.npz --epochs 3 --replicas 1 --json"
    told = agnn(line)
    assert told.err == "Training AGNN+ on ring, up to 3 epochs\n"
    assert json.loads(told.out)["dataset"] == "ring"
    assert agnn(f"{line} --quiet").err == ""


@pytest.mark.usefixtures("ring")
def test_threads_are_torch_s(agnn: Any) -> None:
    wanted = 3 - torch.get_num_threads()  # the tests have one or two
    assert agnn(f"train ring.npz --epochs 1 --replicas 1 --threads {wanted} --quiet").code == 0
    assert torch.get_num_threads() == wanted


def test_a_bundled_name_wins_over_a_folder_of_that_name(agnn: Any, here: Path) -> None:
    (here / "cora").mkdir()
    assert record(agnn("train cora --epochs 1 --replicas 1 --json --quiet"))["dataset"] == "cora"


@pytest.mark.usefixtures("ring")
def test_a_split_file_is_the_split(agnn: Any) -> None:
    split = {"train": [0, 1], "validation": [2, 3], "test": [4]}
    text = json.dumps({"format": "agnn-split-1", "name": "mine", "seed": None, **split})
    Path("mine.json").write_text(text)
    values = record(agnn(f"train ring.npz --split mine.json {SHORT}"))["accuracy"]["values"]
    assert set(values) <= {0.0, 100.0}, "one test node is right or wrong"


@pytest.mark.usefixtures("ring")
def test_a_training_that_diverges_is_one_line_and_writes_nothing(agnn: Any, here: Path) -> None:
    answer = agnn(f"train ring.npz --learning-rate 1e38 {SHORT} --out run")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: training diverged")
    assert answer.err.count("\n") == 1
    assert not (here / "run").exists()


@pytest.mark.usefixtures("ring")
def test_every_hyper_parameter_can_be_set(agnn: Any) -> None:
    line = "train ring.npz --method gat --set heads=2 --set output_heads=1 --set watched=validation"
    found = record(agnn(f"{line} {SHORT}"))["hyper_parameters"]
    assert (found["heads"], found["output_heads"], found["watched"]) == (2, 1, "validation")
    assert found["epochs"] == 5


@pytest.mark.parametrize("name", method_names())
def test_a_method_s_own_defaults_can_be_written_out(name: str) -> None:
    method = get_method(name)
    for field in fields(method):
        if field.default is None:
            continue
        parts = field.default if isinstance(field.default, tuple) else (field.default,)
        text = ",".join(map(str, parts))
        assert typed_value(method, field.name, text) == field.default


@pytest.mark.usefixtures("ring")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--set hedas=4", "unknown hyper-parameter of gat 'hedas'; did you mean 'heads'?"),
        ("--set heads=many", "`heads` of gat must be a whole number; got 'many'."),
        ("--set heads=2.5", "`heads` of gat must be a whole number; got '2.5'."),
        ("--set heads=none", "`heads` of gat must be a whole number; got 'none'."),
        ("--set batch=few", "`batch` of gat must be a whole number or none; got 'few'."),
        ("--set heads", "--set takes NAME=VALUE, such as --set heads=4; got 'heads'."),
        ("--set dropout=nan", "`dropout` must be a finite number; got nan."),
        ("--set watched=tset", "`watched` of gat must be one of validation, test; got 'tset'."),
        ("--set epochs=3", "`epochs` is set twice; leave one out."),
        ("--set heads=2 --set heads=3", "`heads` is set twice; leave one out."),
    ],
)
def test_a_setting_that_does_not_fit_is_one_line(agnn: Any, options: str, said: str) -> None:
    answer = agnn(f"train ring.npz --method gat {options} {SHORT}")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"error: {said}\n"


def test_batches_and_fanouts_are_options(agnn: Any) -> None:
    found = record(agnn(f"train cora --method gcn --batch 70 --fanout 5,3 {SHORT}"))
    fields_of = found["hyper_parameters"]
    assert (fields_of["batch"], fields_of["fanout"]) == (70, [5, 3])
    default = record(agnn(f"train cora --batch 70 --fanout 5 {SHORT}"))
    assert (default["method"], default["hyper_parameters"]["fanout"]) == ("agnn", [5])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--method gcn --batch 70 --fanout 5,x", "values separated by commas, each a whole number"),
        ("--method gcn --batch 70 --fanout 5,0", "at least 1 for every hop; got 0"),
        ("--method gcn --batch 0 --fanout 5", "--batch must be at least 1; got 0"),
        ("--method gcn --batch 70", "`batch` needs `fanout`"),
        ("--method gcn --fanout 5", "`fanout` needs `batch`"),
        ("--method gcn --batch 70 --fanout 5,5,5", "3 numbers, and gcn here 2 propagation layers"),
        ("--method gat --batch 70 --fanout 5", "gat cannot train on sampled neighbourhoods"),
        ("--method agnn_plus --batch 70 --fanout 5", "strength=0 only (--set strength=0)"),
        ("--method label_propagation --batch 70", "label_propagation has no --batch"),
    ],
)
def test_samples_that_cannot_be_are_one_line(agnn: Any, options: str, said: str) -> None:
    answer = agnn(f"train cora {options} --quiet")
    assert (answer.code, answer.out) == (2, "")
    assert said in " ".join(answer.err.split())
    assert "Traceback" not in answer.err


def test_a_metric_chooses_the_epoch_and_all_measures_are_shown(agnn: Any) -> None:
    found = record(agnn(f"train cora --metric log_loss {SHORT}"))
    assert found["metric"] == "log_loss"
    assert set(found["measures"]) == set(MEASURES)
    assert found["measures"]["accuracy"] == found["accuracy"]
    shown = agnn("train cora --metric log_loss --epochs 5 --replicas 2 --quiet").out
    titles = [measure.title for measure in MEASURES.values()]
    assert all(title in shown for title in titles)
    assert "(chosen by)" in next(line for line in shown.splitlines() if line.startswith("log loss"))


def test_an_unknown_metric_is_one_line_with_the_nearest_name(agnn: Any) -> None:
    answer = agnn("train cora --metric acuracy")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "error: unknown metric 'acuracy'; did you mean 'accuracy'?\n"


@pytest.mark.usefixtures("ring")
def test_auto_says_what_was_tried_what_won_and_by_how_much(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = (("label_propagation", {}), ("ridge", {}))
    monkeypatch.setattr("agnn.choosing._halving.CANDIDATES", few)
    monkeypatch.setattr("agnn.choosing._halving._ROUNDS", (2, 4))
    answer = agnn("train ring.npz --method auto --time 2m --replicas 2 --split uniform --nested")
    assert answer.code == 0
    assert re.search(
        r"tried Ridge regression: accuracy [\d.]+ %, the mean over \d sets of held-out labels;",
        answer.err,
    )
    words = " ".join(answer.out.split())
    assert "was chosen from 2 settings of 2 methods" in words
    assert "behind." in words
    assert "of the whole choice on 3 splits" in words
    found = record(agnn("train ring.npz --method auto --replicas 2 --json --quiet"))
    assert found["choice"]["winner"]["method"] == found["method"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--method auto --hidden 4", "chooses the settings; leave out `hidden` (--hidden)."),
        ("--method auto --set hidden=4", "chooses the settings; leave out `hidden` (--hidden)."),
        ("--method auto --time soon", "--time takes a duration such as 30s, 5m or 2h; got 'soon'."),
        ("--method auto --resume", "(--resume) does not go with the method auto, which would"),
        ("--time 5m", "`time_limit` (--time) goes with the method auto (--method auto)."),
        ("--nested", "`nested` (--nested) goes with the method auto (--method auto)."),
        ("--stop-on score", "`stop_on` (--stop-on) goes with `stop_after` (--stop-after), the"),
    ],
)
def test_a_mistake_with_auto_is_one_line(agnn: Any, options: str, words: str) -> None:
    answer = agnn(f"train cora {options}")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert words in answer.err


@pytest.mark.usefixtures("ring")
def test_splits_class_weights_and_device_are_found_once(
    agnn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Counter[str]()

    def counted(name: str) -> Any:
        own = getattr(_training, name)

        def call(*given: Any) -> Any:
            calls[name] += 1
            return own(*given)

        return call

    for name in ("make_splits", "class_weights", "find_device"):
        monkeypatch.setattr(_training, name, counted(name))
    assert agnn(f"train ring.npz {SHORT}").code == 0
    assert calls == {"make_splits": 1, "class_weights": 1, "find_device": 1}
