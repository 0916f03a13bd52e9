"""Compiled code on disk: used again, in any environment, and never for another source."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.codegen import CodeLibrary

from agnn.kernels._cpu.simd import OPTIONS
from agnn.kernels._cross_entropy.numba_cpu import _replicas
from agnn.kernels._runtime import code_cache
from agnn.kernels._runtime.code_cache import CodeCache, code_cache_of, compiled_folder

LOGITS = np.array([[[1.0, 2.0, 0.5]]], np.float32)


def loss(dispatcher, dtype=np.float32) -> float:
    """The loss of one node by a compiled cross-entropy."""
    found, slopes = np.empty(1, dtype), np.empty((1, 1, 3), dtype)
    labels, weights = np.ones((1, 1), np.int64), np.ones((1, 1), dtype)
    targets = (labels, weights)
    dispatcher(LOGITS.astype(dtype), targets, found, slopes, np.zeros(1, bool), 0, 1)
    return float(found[0])


def in_another_process(folder: Path):
    """The function as a new process has it: nothing compiled yet."""
    dispatcher = njit(**OPTIONS)(_replicas.py_func)
    dispatcher._cache = CodeCache(_replicas.py_func, folder)
    return dispatcher


def compilations(dispatcher) -> int:
    """How often it had to be compiled."""
    return sum(dispatcher.stats.cache_misses.values())


def test_code_is_compiled_once_per_signature(tmp_path):
    first = in_another_process(tmp_path)
    expected = loss(first)
    assert expected == pytest.approx(np.log(np.exp(LOGITS).sum()) - 2.0, abs=1e-6)
    second = in_another_process(tmp_path)
    assert loss(second) == expected
    assert (compilations(first), compilations(second)) == (1, 0)
    loss(second, np.float64)
    assert compilations(second) == 1
    assert len(list(tmp_path.iterdir())) == 2  # a file each, nothing else


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:-1] + b"?"])
def test_a_damaged_file_is_compiled_again_and_replaced(damage, tmp_path):
    expected = loss(in_another_process(tmp_path))
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    again = in_another_process(tmp_path)
    assert loss(again) == expected
    assert compilations(again) == 1
    third = in_another_process(tmp_path)
    assert loss(third) == expected
    assert compilations(third) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_llvm_hands_the_code_over_interrupts(tmp_path, monkeypatch):
    def interrupt(_, code):
        if code is not None:
            raise KeyboardInterrupt

    handover = property(lambda _: None, interrupt)
    monkeypatch.setattr(CodeLibrary, "_compiled_object", handover, raising=False)
    with pytest.raises(KeyboardInterrupt):
        loss(in_another_process(tmp_path))


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert np.isfinite(loss(in_another_process(tmp_path / "file" / "folder")))
    monkeypatch.setattr(code_cache, "_bases", lambda: [tmp_path / "file"])
    assert compiled_folder.__wrapped__() is None


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A copy of the kernels at another place, with its own compiled code."""
    copy = tmp_path / "site-packages" / "kernels"
    shutil.copytree(code_cache._KERNELS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code_cache, "_bases", lambda: [tmp_path / "compiled"])
    return copy


def test_the_same_source_elsewhere_has_the_same_folder(environment, monkeypatch):
    here = compiled_folder.__wrapped__()
    monkeypatch.setattr(code_cache, "_KERNELS", environment)
    assert compiled_folder.__wrapped__() == here


@pytest.mark.parametrize(
    "changed", ["_cpu/simd.py", "_cosine_attention/numba_rows.py", "_adam/__init__.py"]
)
def test_a_change_in_any_file_that_is_inlined_leaves_the_old_code_behind(
    changed, environment, monkeypatch
):
    monkeypatch.setattr(code_cache, "_KERNELS", environment)
    before = compiled_folder.__wrapped__()
    file = environment / changed
    file.write_text(file.read_text() + "\n")
    assert compiled_folder.__wrapped__() != before


def test_only_code_of_other_sources_that_nobody_uses_is_thrown_away(environment):
    base = environment.parents[1] / "compiled"
    long_ago = time.time() - 2 * code_cache._UNUSED
    for name in ("a" * 24, "b" * 24, "mine"):
        (base / name).mkdir(parents=True)
        (base / name / "file").write_text("")
    for name in ("a" * 24, "mine"):
        os.utime(base / name, (long_ago, long_ago))
    used = compiled_folder.__wrapped__()
    assert used is not None
    assert {each.name for each in base.iterdir()} == {"b" * 24, "mine", used.name}


def test_functions_of_other_packages_are_not_kept():
    assert code_cache_of(loss).cache_path is None


def test_numbas_own_setting_moves_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(code_cache.config, "CACHE_DIR", str(tmp_path))
    folder = compiled_folder.__wrapped__()
    assert folder is not None
    assert folder.parent == tmp_path / "agnn-compiled"


def test_without_a_home_the_folder_is_beside_the_source(monkeypatch):
    monkeypatch.setattr(code_cache.config, "CACHE_DIR", "")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert code_cache._bases() == [code_cache._KERNELS / "__pycache__" / "compiled"]
