"""Runs are pushed and pulled: a local folder, and an endpoint that speaks the hub's protocol."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.cli import main
from agnn.data import NodeData
from agnn.errors import AgnnError, DataError, InputError, UnavailableError
from agnn.hub import pull, push
from agnn.networks import GCN
from agnn.runs import evaluate, load_run

TOKEN = "hf_" + "secret" * 5
COMMIT = "a" * 40


@pytest.fixture
def saved(toy: NodeData, tmp_path: Path) -> Path:
    evaluate(GCN(epochs=3), toy, "fixed", (0, 1)).save(tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine", encoding="utf-8")
    return tmp_path / "run"


def test_a_local_folder_holds_the_run_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "shared" / "toy"
    assert push(saved, str(place)) == str(place)
    assert not (place / "notes.txt").exists()
    again = pull(str(place), tmp_path / "copy")
    np.testing.assert_array_equal(again.scores, load_run(saved).scores)
    with pytest.raises(AgnnError, match="toy"):
        push(saved, str(place))  # never over something else


def test_a_folder_that_exists_is_left_alone(saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    with pytest.raises(InputError, match=r"mine' exists already; push to a new folder\."):
        push(saved, str(place))
    assert not list(place.iterdir())


def test_a_damaged_run_is_neither_pushed_nor_pulled(saved: Path, tmp_path: Path) -> None:
    push(saved, str(tmp_path / "shared"))
    for folder in (saved, tmp_path / "shared"):
        (folder / "splits.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"splits\.json was changed"):
        push(saved, str(tmp_path / "other"))
    with pytest.raises(DataError, match=r"splits\.json was changed"):
        pull(str(tmp_path / "shared"), tmp_path / "copy")
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "copy").exists()


def test_the_card_has_the_metadata_of_the_hub(saved: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="pip install agnn[test]")
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\n")
    facts = yaml.safe_load(card.split("---\n")[1])
    assert (facts["library_name"], facts["pipeline_tag"]) == ("agnn", "graph-ml")
    (found,) = facts["model-index"][0]["results"]
    assert found["metrics"][0]["value"] == pytest.approx(load_run(saved).accuracy.mean, abs=0.01)


class _Hub(BaseHTTPRequestHandler):
    """The few requests that pushing and pulling a small repository make."""

    files: dict[str, bytes]
    requests: list[tuple[str, str, str]]

    def log_message(self, *words: Any) -> None:
        """Nothing."""

    def _answer(self, value: Any, headers: dict[str, str] | None = None) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _noted(self) -> None:
        self.requests.append((self.command, self.path, self.headers.get("authorization", "")))

    def do_POST(self) -> None:
        self._noted()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/repos/create":
            self._answer({"url": f"{self.server.address}/me/toy", "name": "me/toy"})
        elif self.path == "/api/validate-yaml":
            self._answer({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            wanted = [each["path"] for each in json.loads(body)["files"]]
            found = [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in wanted]
            self._answer({"files": found})
        elif self.path.endswith("/commit/main"):
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    content = base64.b64decode(entry["value"]["content"])
                    self.files[entry["value"]["path"]] = content
            url = f"{self.server.address}/me/toy/commit/{COMMIT}"
            self._answer({"commitUrl": url, "commitOid": COMMIT, "success": True})
        else:
            self.send_error(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self._noted()
        name = self.path.partition("/resolve/")[2].partition("/")[2]
        if self.path.startswith("/api/models/me/toy"):
            siblings = [{"rfilename": each} for each in self.files]
            self._answer({"id": "me/toy", "sha": COMMIT, "siblings": siblings, "private": True})
        elif name in self.files:
            content = self.files[name]
            etag = f'"{hashlib.sha1(content).hexdigest()}"'  # noqa: S324 (as the hub does)
            self._answer(content, {"ETag": etag, "X-Repo-Commit": COMMIT})
        else:
            self.send_error(404)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[_Hub]]:
    """The hub's endpoint on this machine."""
    pytest.importorskip("huggingface_hub", reason="pip install agnn[hub]")
    from huggingface_hub import constants

    class Own(_Hub):
        files, requests = {}, []

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    server.address = address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE",
        address + "/{repo_id}/resolve/{revision}/{filename}",
    )  # fmt: skip
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    yield Own
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore")  # what the package warns of is not our concern
def test_a_repository_gives_back_the_run_and_the_token_is_in_no_message(
    saved: Path, tmp_path: Path, hub: type[_Hub], caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    assert "me/toy" in push(saved, "me/toy")
    assert "notes.txt" not in hub.files
    assert {"README.md", "config.json", "model.safetensors"} <= set(hub.files)
    again = pull("me/toy", tmp_path / "copy")
    np.testing.assert_array_equal(again.scores, load_run(saved).scores)
    assert not (tmp_path / "copy" / ".cache").exists()
    assert any(TOKEN in token for *_, token in hub.requests), "the token went to the hub"
    said = caplog.text + "".join(capsys.readouterr())
    assert TOKEN not in said


@pytest.mark.filterwarnings("ignore")
def test_a_repository_that_is_missing_or_holds_something_else_is_one_line(
    saved: Path, tmp_path: Path, hub: type[_Hub]
) -> None:
    with pytest.raises(UnavailableError, match="'me/toy' was not pulled: ") as caught:
        pull("me/toy", tmp_path / "copy")
    assert TOKEN not in str(caught.value)
    push(saved, "me/toy")
    hub.files["model.safetensors"] += b"more"
    with pytest.raises(DataError, match=r"model\.safetensors was changed"):
        pull("me/toy", tmp_path / "copy")
    hub.files["config.json"] = json.dumps({"format": 1, "sha256": {"files": {"../x": ""}}}).encode()
    with pytest.raises(DataError, match=r"names a file outside the folder, '../x'"):
        pull("me/toy", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / "x").exists()


def test_names_are_owner_and_name_and_the_package_is_an_extra(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UnavailableError, match=r"pip install 'agnn\[hub\]'"):
        push(saved, "me/toy")
    monkeypatch.delitem(sys.modules, "huggingface_hub")
    pytest.importorskip("huggingface_hub", reason="pip install agnn[hub]")
    for name in ("toy", "a/b/c", "me/"):
        with pytest.raises(InputError, match="a repository is written OWNER/NAME"):
            push(saved, name)


def test_the_commands_push_and_pull(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(saved.parent)
    assert main(["push", "run", "./shared/toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repository"] == "./shared/toy"
    assert main(["pull", "./shared/toy"]) == 0
    assert "GCN" in capsys.readouterr().out
    assert load_run("toy").accuracy == load_run("run").accuracy
    assert main(["pull", "./shared/toy"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
