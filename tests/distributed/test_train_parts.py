"""`agnn train PARTS`: the same bits on one rank and on several, and an ordinary run."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from thread_ranks import on_ranks

from agnn.cli import main
from agnn.data import NodeData, Split, load_dataset
from agnn.distributed import (
    PartsFolder,
    partition,
)
from agnn.distributed._rows import RowsTask, train_rows
from agnn.errors import InputError
from agnn.methods import NetworkMethod, get_method, method_names
from agnn.networks import GCN
from agnn.runs import Training
from agnn.runs._parts import parts_data

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from ranks_table import PAGE, ranks_table


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "cora"
    words = ["partition", "cora", "--parts", "4", "--order", "streaming", "--out", str(folder)]
    assert main(words) == 0
    return folder


@pytest.mark.parametrize("scaling", ["sum", "length", "standard", "none"])
def test_every_scaling_is_that_of_the_whole_graph(scaling: str, parts: Path) -> None:
    folder = PartsFolder(parts)
    found = [folder.part(rank, 3, scaling).features for rank in range(3)]
    found = np.concatenate([x if isinstance(x, np.ndarray) else x.toarray() for x in found])
    expected = load_dataset("cora").scaled_features(scaling)
    expected = expected if isinstance(expected, np.ndarray) else expected.toarray()
    np.testing.assert_allclose(
        found, expected[PartsFolder(parts).positions()], rtol=1e-5, atol=1e-6
    )


def test_bits_do_not_depend_on_how_parts_are_joined(parts: Path) -> None:
    data = parts_data(parts)
    method = GCN(epochs=4)
    nodes = np.random.default_rng(0).permutation(data.nodes)
    split = Split("any", nodes[:200], nodes[200:400], nodes[400:600])
    task = RowsTask(method, data.classes, (split,), (0,))
    weights = []
    for ranks in (1, 2, 4):
        opened = [PartsFolder(parts).part(k, ranks, "sum") for k in range(ranks)]
        found = on_ranks(ranks, lambda own, o=opened: train_rows(task, o[own.rank], own))
        weights.append(torch.cat([each.flatten() for each in found[0].model.state_dict().values()]))
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])


def test_a_machine_needs_its_own_parts_and_the_files_about_all_nodes(
    parts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "parts"
    shutil.copytree(parts, alone, ignore=shutil.ignore_patterns("part-0000[023]"))
    data = parts_data(alone)
    assert {name: len(nodes) for name, nodes in data.splits["fixed"].parts.items()} == {
        "train": 140, "validation": 500, "test": 1000,
    }  # fmt: skip
    assert PartsFolder(alone).part(1, 4, "sum").rank == 1
    # Where all ranks are on this machine it needs all parts, and says so before the training.
    out = tmp_path / "run"
    assert main(["train", str(alone), "--method", "gcn", "--out", str(out)]) == 2
    assert "part 0 of" in capsys.readouterr().err
    assert not out.exists()


def test_more_ranks_than_parts_are_refused_before_a_process_is_started(parts: Path) -> None:
    training = Training(data=parts, method="gcn", split="uniform", ranks=5)
    with pytest.raises(InputError, match=r"^'.*' has 4 parts, too few for 5 ranks"):
        training.run()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--nodes", "n.csv", "--edges", "e.csv", "--label", "x"], "--nodes is for tables"),
        (["--label", "topic"], "--label is for tables and graph files"),
        (["--name", "mine"], "--name is for tables and graph files"),
        (["--search", "2"], "--search trains many models, each on a whole graph"),
        (["--method", "auto"], "--method auto trains many models, each on a whole graph"),
    ],
)
def test_what_parts_cannot_follow_is_refused(
    parts: Path, options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("n.csv", "e.csv"):
        options = [each.replace(file, str(tmp_path / file)) for each in options]
        (tmp_path / file).write_text("id,x\n1,2\n")
    assert main(["train", str(parts), *options]) == 2
    assert words in capsys.readouterr().err
    assert main(["compare", str(parts)]) == 2
    assert "is a folder of parts, for `agnn train`" in capsys.readouterr().err


def test_parts_are_not_divided_by_replicas(parts: Path) -> None:
    training = Training(data=parts, method="gcn", replicas=2, ranks=2, divide="replicas")
    with pytest.raises(InputError, match="divided by rows, not by replicas"):
        training.run()


@pytest.fixture(scope="module")
def weighted_toy(toy: NodeData) -> NodeData:
    weights = np.random.default_rng(0).uniform(0.1, 4.0, toy.edges.shape[1]).astype(np.float32)
    weights.setflags(write=False)
    return replace(toy, edge_weights=weights)


@pytest.fixture(scope="module")
def weighted_parts(weighted_toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("parts") / "weighted"
    partition(weighted_toy, folder, 2, order="given")
    return str(folder)


@pytest.fixture(scope="module")
def toy_parts(toy: NodeData, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("parts") / "toy"
    partition(toy, folder, 2, order="given")  # dropout goes by position
    return str(folder)


REFUSED = (
    r"does not train a network|cannot be divided among ranks|trains on more than the cross-entropy"
    r"|cannot be trained on a folder of parts"
)
# A new method belongs here, or to those that are refused.
ON_ROWS = ("agnn", "agnn_plus", "appnp", "gcn", "gcnii", "gln", "multilayer_perceptron", "sgc")
ON_PARTS = tuple(name for name in ON_ROWS if name != "sgc")


@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("is_on_disk", [False, True], ids=["rows", "parts"])
@pytest.mark.parametrize("name", method_names())
def test_a_divided_training_is_that_of_one_process_or_is_refused(
    name: str,
    is_on_disk: bool,
    is_weighted: bool,
    toy: NodeData,
    toy_parts: str,
    weighted_toy: NodeData,
    weighted_parts: str,
) -> None:
    method = get_method(name)()
    if isinstance(method, NetworkMethod):
        method = method.with_fields(epochs=3)
    if name == "agnn_plus":
        method = method.with_fields(strength=0.0)
    whole = weighted_toy if is_weighted else toy
    parts = weighted_parts if is_weighted else toy_parts
    data = parts if is_on_disk else whole
    divided = Training(data=data, method=method, split="fixed", ranks=1, divide="rows")
    if name not in (ON_PARTS if is_on_disk else ON_ROWS):
        with pytest.raises(InputError, match=REFUSED):
            divided.run()
        return
    run = divided.run()
    plain = Training(data=whole, method=method, split="fixed").run()
    torch.testing.assert_close(run.scores, plain.scores, rtol=1e-4, atol=1e-5)
    if method.uses_edge_weights:
        other = Training(data=toy, method=method, split="fixed").run()
        assert torch.equal(plain.scores, other.scores) != is_weighted


def test_the_table_of_the_page_is_what_the_links_say() -> None:
    assert ranks_table() in PAGE.read_text(encoding="utf-8"), "python scripts/ranks_table.py"
    listed = re.findall(r"^\| `(\w+)`.* \| yes \| (yes|refused).*\|$", ranks_table(), re.M)
    assert [name for name, _ in listed] == list(ON_ROWS)
    assert [name for name, on_parts in listed if on_parts == "yes"] == list(ON_PARTS)


def test_what_is_refused_is_refused_before_a_process_is_started(toy: NodeData) -> None:
    training = Training(data=toy, method="gat", split="fixed", ranks=2, divide="rows")
    with pytest.raises(InputError, match=r"^the rows of .* its link AdditiveAttention has no form"):
        training.run()


def test_consistency_is_not_divided_among_ranks(toy: NodeData) -> None:
    method = get_method("agnn_plus")().with_fields(epochs=3)
    message = r"trains on more .*; strength=0 \(--set\) leaves that out"
    with pytest.raises(InputError, match=message):
        Training(data=toy, method=method, split="fixed", ranks=1, divide="rows").run()


def test_features_that_depend_on_the_whole_graph_are_refused_on_parts(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", str(parts), "--method", "sgc", "--epochs", "2", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: sgc cannot be trained on a folder of parts: its features are")


def test_parts_of_a_bundled_dataset_keep_its_preset(parts: Path, toy_parts: str) -> None:
    whole, divided, other = (
        Training(data=data, method="agnn", split="fixed").plan().method
        for data in (load_dataset("cora"), parts, toy_parts)
    )
    assert divided == whole
    assert divided != other, "which has the scaling that suits its features"
    assert Training(data=parts).plan().method.name == "agnn", "the paper's method on its datasets"
    assert Training(data=toy_parts).plan().method.name == "agnn_plus"
