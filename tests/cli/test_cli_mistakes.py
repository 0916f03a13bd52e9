"""Every mistake gets one clear line, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agnn.runs import load_run


def tree(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def refused(agnn: Any, here: Path, line: str) -> str:
    """The message without its `error: `, after all that holds for every mistake."""
    before = tree(here)
    answer = agnn(line)
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert answer.err.endswith("\n")
    assert tree(here) == before
    message: str = answer.err.removeprefix("error: ").rstrip()
    return message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("coora", "unknown dataset 'coora'; did you mean 'cora'?"),
        ("cora --name x", "--name is for your own data; 'cora' has its name"),
        ("no/such/folder", "'no/such/folder' is not a graph that agnn reads; give"),
        ("cora --method agn", "unknown method 'agn'; did you mean 'agnn'?"),
        ("cora --split fixd", "unknown split 'fixd'; did you mean 'fixed'?"),
        ("cora --split none.json", "'none.json': No such file"),
        (
            "cora --split 1-fold",
            "`folds` must be at least 2 and at most the number of labelled nodes, 2708; got 1.",
        ),
        ("cora --replicas 0", "`replicas` must be at least 1; got 0."),
        ("cora --replicas 1000000000", "`replicas` must be at most 100,000; got 1000000000."),
        (f"cora --replicas {10**30}", "`replicas` must be at most 100,000; got 1"),
        (
            "cora --class-weight Theory=1 --class-weight Theory=2",
            "--class-weight is given twice for class 'Theory'; leave one out.",
        ),
        ("cora --replicas many", "'--replicas': Input should be a valid integer"),
        ("cora --seed -1", "`seed` must not be negative; got -1."),
        ("cora --epochs 0", "--epochs must be at least 1; got 0."),
        ("cora --layers 0", "--layers must be at least 1; got 0."),
        ("cora --method gcn --hidden 0", "--hidden must be at least 1; got 0."),
        ("cora --dropout 1.0", "`dropout` must be at least 0 and below 1; got 1.0."),
        ("cora --dropout -0.1", "`dropout` must be a number from 0 up; got -0.1."),
        ("cora --learning-rate nan", "--learning-rate must be a finite number; got nan."),
        ("cora --weight-decay inf", "--weight-decay must be a finite number; got inf."),
        ("cora --method gcn --layers 3", "gcn has no --layers; it takes --epochs, --hidden"),
        ("cora --method t_svm --epochs 3", "t_svm has no --epochs; it takes none of them."),
        ("cora --tuned", "agnn has no grid to tune over."),
        (
            "cora --method multilayer_perceptron --tuned --hidden 8",
            "--hidden is chosen by --tuned; leave one of them out.",
        ),
        ("cora --device gpu", "unknown device 'gpu'"),
        ("cora --backend numbaa", "unknown backend 'numbaa'; did you mean 'numba'?"),
        ("cora --threads 0", "`threads` must be from 1 to 1024; got 0."),
        ("cora --epoch 3", "no such option: --epoch"),
        ("cora pubmed", "unexpected extra argument"),
        ("", "missing argument 'dataset'"),
    ],
)
def test_a_wrong_argument_is_named(agnn: Any, here: Path, options: str, said: str) -> None:
    assert said in refused(agnn, here, f"train {options}")


@pytest.mark.parametrize(
    "options",
    ["--edges -1", "--hidden 0", "--nodes 0", "--features 0", "--classes 1", "--replicas 0",
     "--layers -1", f"--edges {10**30}"],
)  # fmt: skip
def test_a_size_that_no_graph_has_is_refused(agnn: Any, here: Path, options: str) -> None:
    message = refused(agnn, here, f"doctor --nodes 10 {options}")
    assert f"'{options.split()[0]}'" in message


def test_json_leaves_standard_output_empty_on_a_mistake(agnn: Any, here: Path) -> None:
    assert "unknown dataset" in refused(agnn, here, "train coora --json")


def test_an_unknown_verb_offers_the_nearest(agnn: Any, here: Path) -> None:
    assert refused(agnn, here, "trian cora").startswith("no such command 'trian'. Did you mean")


def test_cuda_is_refused_where_there_is_none(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    message = refused(agnn, here, "train cora --device cuda")
    assert message.startswith("device 'cuda' is not available")
    assert message.endswith("Use 'cpu'.")


def test_a_backend_that_is_not_there_is_refused_with_the_reason(agnn: Any, here: Path) -> None:
    from agnn.kernels import obstacle

    if obstacle("triton") is None:
        pytest.skip("triton runs here")
    assert "backend 'triton' cannot run: " in refused(agnn, here, "train cora --backend triton")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"test": [1, 3]}, "node 1 is in both `train` and `test`"),
        ({"test": [2708]}, "`test` names node 2708, which does not exist: 'cora' has 2708 nodes"),
        ({"test": [-1]}, "`test` names node -1; node indices start at 0."),
        ({"test": [3, 3]}, "`test` names node 3 more than once."),
        ({"test": [2.5]}, "whole numbers"),
        ({"test": []}, "has no test nodes to score on"),
        ({"validation": []}, "has no validation nodes"),
        ({"format": "other"}, "must have 'format': 'agnn-split-1'"),
    ],
)
def test_a_bad_split_file_is_refused(
    agnn: Any, here: Path, parts: dict[str, Any], said: str
) -> None:
    good = {"format": "agnn-split-1", "name": "mine", "seed": None}
    lists = {"train": [0, 1], "validation": [2], "test": [3]}
    (here / "bad.json").write_text(json.dumps({**good, **lists, **parts}))
    assert said in refused(agnn, here, "train cora --split bad.json --epochs 1 --replicas 1")


def test_raw_planetoid_files_are_refused_with_what_to_do(agnn: Any, here: Path) -> None:
    (here / "raw").mkdir()
    (here / "raw" / "ind.cora.graph").write_bytes(b"")
    message = refused(agnn, here, "train raw")
    assert "'raw' holds raw Planetoid files, which are pickles and are not read" in message
    assert message.endswith("scripts/planetoid.py of agnn's repository, then give the .npz file.")


def test_a_folder_that_is_no_graph_says_what_is_expected(agnn: Any, here: Path) -> None:
    (here / "empty").mkdir()
    assert "'empty' is not a graph that agnn reads; give a .graphml, .gexf or .npz file" in refused(
        agnn, here, "train empty"
    )


@pytest.mark.parametrize("verb", ["train cora", "demo"])
def test_an_output_folder_is_checked_before_the_work(
    agnn: Any, here: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("trained before the folder was checked")

    monkeypatch.setattr("agnn.runs.Plan.train", never)
    (here / "there").mkdir()
    (here / "file").write_text("")
    assert "'there' exists" in refused(agnn, here, f"{verb} --out there")
    assert "'file' exists" in refused(agnn, here, f"{verb} --out file")
    assert "cannot be created" in refused(agnn, here, f"{verb} --out file/below")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "not writable" in refused(agnn, here, f"{verb} --out new")


@pytest.mark.usefixtures("ring")
def test_a_full_disk_is_one_line_and_leaves_no_folder(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "weights")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    answer = agnn("train ring.npz --epochs 1 --replicas 1 --out run --quiet")
    assert answer.code == 2
    assert "test accuracy" in answer.out
    assert answer.err.count("\n") == 1
    assert "could not be written to 'run' (No space left on device), nor to" in answer.err
    assert not (here / "run").exists()


@pytest.mark.usefixtures("ring")
def test_a_run_that_finds_the_disk_full_is_kept_elsewhere(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    def full(tensors: Any, path: Path, **more: Any) -> None:
        if here in Path(path).parents:
            raise SafetensorError("I/O error: No space left on device (os error 28)")
        save_file(tensors, path, **more)

    monkeypatch.setattr("safetensors.torch.save_file", full)
    answer = agnn("train ring.npz --epochs 1 --replicas 2 --out run --quiet")
    assert answer.code == 2
    assert "damaged" not in answer.err
    (kept,) = re.findall(r"\(No space left on device\); it is kept in '(.+?)'", answer.err)
    assert load_run(kept).replicas == 2
    assert not (here / "run").exists()


@pytest.mark.usefixtures("ring")
def test_too_little_space_is_said_before_the_training(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    monkeypatch.setattr("agnn.runs.Plan.train", never)
    message = refused(agnn, here, "train ring.npz --replicas 3 --out run")
    assert re.search(r"'run' needs about 0\.\d MB, but its disk has 0\.0 MB left", message)


def never(*_: object, **__: object) -> None:
    raise AssertionError("it was trained")


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("you: can't allocate memory")])
def test_too_little_memory_is_one_line(
    agnn: Any, here: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("agnn.runs.Plan.train", fail)
    assert "try fewer --replicas" in refused(agnn, here, "train cora")
