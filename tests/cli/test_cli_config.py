"""Options from a TOML file: the same keys, checked with their path, written back and described."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

RUN = """
dataset = "ring.npz"
method = "gat"
replicas = 2
epochs = 3
learning_rate = 0.02
json = true
quiet = true

[set]
heads = 2
watched = "validation"
"""


def written(text: str, path: Path) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_the_options_and_the_command_line_wins(agnn: Any, ring: Path) -> None:
    written(RUN, ring.parent / "run.toml")
    found = json.loads(agnn("train --config run.toml --epochs 2").out)
    assert found["method"] == "gat"
    assert found["seeds"] == [0, 1]
    fields = found["hyper_parameters"]
    assert (fields["heads"], fields["learning_rate"], fields["epochs"]) == (2, 0.02, 2)
    by_words = agnn(
        "train ring.npz --method gat --replicas 2 --epochs 2 --learning-rate 0.02 --json --quiet "
        "--set heads=2 --set watched=validation"
    )
    assert found["accuracy"] == json.loads(by_words.out)["accuracy"]


def test_what_is_saved_repeats_the_run(agnn: Any, ring: Path) -> None:
    line = "train ring.npz --method gat --replicas 2 --epochs 2 --json --quiet --set heads=2"
    first = json.loads(agnn(f"{line} --class-weight balanced --save-config kept.toml").out)
    kept = tomllib.loads((ring.parent / "kept.toml").read_text(encoding="utf-8"))
    assert kept == {
        "dataset": "ring.npz", "method": "gat", "replicas": 2, "epochs": 2, "json": True,
        "quiet": True,
        "set": {"heads": 2}, "class-weight": "balanced",
    }  # fmt: skip
    again = json.loads(agnn("train --config kept.toml").out)
    assert again["accuracy"] == first["accuracy"]
    assert again["hyper_parameters"] == first["hyper_parameters"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("learning_rat = 0.1", "unknown key in 'run.toml': 'learning_rat'; did you mean 'learning"),
        ("replicas = 'many'", "key `replicas`: `replicas` must be a whole number; got 'many'."),
        ("replicas = true", "key `replicas`: `replicas` must be a whole number; got True."),
        ("[set]\nheads = [[1]]", "key `set.heads.0`: `set` must be a table of hyper-parameters"),
        ("text = ['a', 3]", "key `text.1`: `text` must be a list of texts"),
        ("[class-weight]\nx = 'much'", "key `class-weight.x`: `class-weight` must be 'balanced'"),
        ("replicas =", "'run.toml' is not a TOML file: "),
        (
            "[set]\nhedas = 4",
            "'run.toml', key `set.hedas`: unknown hyper-parameter of agnn 'hedas'",
        ),
        ("[set]\nlayers = 'x'", "'run.toml', key `set.layers`: `layers` of agnn must be a whole"),
    ],
)
def test_a_wrong_key_is_one_line_with_its_path(
    agnn: Any, here: Path, text: str, words: str
) -> None:
    written(text, here / "run.toml")
    answer = agnn("train cora --config run.toml")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert words in answer.err


def test_a_wrong_setting_of_the_command_line_is_not_blamed_on_the_file(
    agnn: Any, here: Path
) -> None:
    written("[set]\nlayers = 3", here / "run.toml")
    answer = agnn("train cora --config run.toml --set layer=2")
    assert answer.err == "error: unknown hyper-parameter of agnn 'layer'; did you mean 'layers'?\n"


def test_a_file_that_is_not_there_or_would_be_overwritten_is_refused(agnn: Any, ring: Path) -> None:
    answer = agnn("train ring.npz --config none.toml")
    assert (answer.code, answer.err) == (
        2, "error: cannot read 'none.toml': No such file or directory.\n"
    )  # fmt: skip
    kept = written("precious", ring.parent / "kept.toml")
    answer = agnn("train ring.npz --epochs 1 --save-config kept.toml --quiet")
    assert answer.code == 2
    assert "kept.toml" in answer.err
    assert kept.read_text(encoding="utf-8") == "precious"


def test_the_schema_has_every_option_and_refuses_others(agnn: Any) -> None:
    schema = json.loads(agnn("train --config-schema").out)
    assert schema["additionalProperties"] is False
    options = schema["properties"]
    assert {"dataset", "method", "learning-rate", "set", "class-weight", "label", "id"} <= set(
        options
    )
    assert options["replicas"]["type"] == "integer"
    assert options["text"]["type"] == "array"
    assert options["set"]["type"] == "object"
    assert all(option["description"] for option in options.values())
    assert "config" not in options


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epochs = " + "9" * 5_000, "'odd.toml' is not a TOML file: Exceeds the limit"),
        ("set = " + "[" * 5_000, "'odd.toml' is not a TOML file: it is nested too deeply."),
        (
            "[" + ".".join(["epochs"] * 3_000) + "]",
            "`epochs` must be a whole number; got {'epochs'",
        ),
        ("name = [" + "3, " * 4_000 + "]", "`name` must be a text; got [3, 3"),
        ("seed = 0x" + "f" * 4_000, "'odd.toml' has a whole number of more than 64 bits."),
        ("set = [[9223372036854775808]]", "'odd.toml' has a whole number of more than 64 bits."),
    ],
    ids=["digits", "brackets", "tables", "a long value", "hexadecimal digits", "65 bits"],
)
def test_absurd_values_are_one_short_line(text: str, words: str, agnn: Any, here: Path) -> None:
    written(text, here / "odd.toml")
    answer = agnn("train --config odd.toml")
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 300


def test_a_pipe_is_no_configuration(agnn: Any, here: Path) -> None:
    os.mkfifo(here / "odd.toml")
    answer = agnn("train --config odd.toml")
    assert answer.code == 2
    assert answer.err == "error: 'odd.toml' is not a TOML file: odd.toml is not a plain file.\n"
