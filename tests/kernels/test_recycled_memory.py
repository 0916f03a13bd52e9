"""Memory that is used again: never while anything reads it, never more than is needed at once."""

from __future__ import annotations

import resource
import sys
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from agnn import get_method
from agnn.data import NodeData
from agnn.kernels import ReLU, recycled_memory, run_chain
from agnn.kernels._cpu import threads
from agnn.kernels._runtime import memory
from agnn.kernels._runtime.memory import LARGE, buffer_like, contiguous_copy, new_tensor
from agnn.methods import Task

F32 = torch.float32


@pytest.fixture
def inside() -> Iterator[None]:
    with recycled_memory():
        yield


def large(times: int = 1) -> torch.Tensor:
    return new_tensor(times, LARGE, dtype=torch.float32)


@pytest.mark.usefixtures("inside")
def test_a_freed_tensor_leaves_its_memory_to_the_next() -> None:
    first = large()
    place = first.data_ptr()
    assert place % 64 == 0, "it starts at a cache line"
    del first
    second = new_tensor(2, LARGE // 2, dtype=torch.float32)
    assert second.data_ptr() == place
    assert (second.shape, second.dtype, second.is_contiguous()) == (
        (2, LARGE // 2), torch.float32, True,
    )  # fmt: skip
    del second
    twice = new_tensor(LARGE, dtype=torch.float64)  # the block is too small for it
    assert twice.untyped_storage().nbytes() == 8 * LARGE


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    "part",
    [
        lambda x: x,
        lambda x: x[:, 7:],
        lambda x: x.view(-1)[5],
        lambda x: x.numpy(),
        lambda x: x.T,
        lambda x: x.numpy().reshape(2, -1)[1:],
    ],
)
def test_memory_that_anything_reads_is_not_reused(part: object) -> None:
    first = large()
    first.fill_(3.0)
    held = part(first)  # type: ignore[operator]
    place = first.data_ptr()
    del first
    others = [large() for _ in range(3)]
    for each in others:
        assert each.data_ptr() != place
        each.fill_(-1.0)
    assert float(held.sum()) == 3.0 * (held.size if isinstance(held, np.ndarray) else held.numel())
    del held
    assert large().data_ptr() == place


@pytest.mark.usefixtures("inside")
def test_what_a_backward_pass_will_read_is_not_reused() -> None:
    source = torch.randn(2, LARGE, requires_grad=True)
    out = run_chain([ReLU()], source)
    summed = out.sum()
    del out  # torch's node alone holds it
    for _ in range(3):
        large(2).fill_(-1.0)
    summed.backward()
    assert torch.equal(source.grad, (source > 0).float())


def test_blocks_serve_smaller_tensors_but_not_much_smaller_ones() -> None:
    pool = memory._Pool()
    place = pool.allocate((8 * LARGE,), F32).data_ptr()
    assert pool.allocate((2 * LARGE,), F32).data_ptr() == place
    assert pool.allocate((LARGE,), F32).data_ptr() != place


def test_sizes_that_grow_take_no_more_than_the_largest() -> None:
    pool = memory._Pool()
    for size in range(LARGE, 2 * LARGE, LARGE // 16):
        pool.allocate((size,), F32)
    assert [each.nbytes for each in pool._blocks.values()] == [4 * size]


def test_all_free_memory_is_given_back_at_the_end() -> None:
    with recycled_memory():
        kept, freed = large(), large()
        pool = weakref.ref(memory._local.pool)
        blocks = [weakref.ref(each) for each in pool()._blocks.values()]
        del freed
    assert pool() is None
    assert [each() is None for each in blocks] == [False, True]
    kept.fill_(1.0)
    assert float(kept.sum()) == LARGE
    assert buffer_like(kept) is None
    del kept
    assert blocks[0]() is None


def test_a_training_inside_another_shares_its_memory_and_another_thread_does_not() -> None:
    seen = []
    with recycled_memory():
        own = memory._local.pool
        with recycled_memory():
            assert memory._local.pool is own
        thread = threading.Thread(target=lambda: seen.append(getattr(memory._local, "pool", None)))
        thread.start()
        thread.join()
        assert memory._local.pool is own
    assert seen == [None]


def test_an_error_ends_it() -> None:
    def fails() -> None:
        with recycled_memory():
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fails()
    assert memory._local.pool is None


@pytest.mark.usefixtures("inside")
def test_copies_are_contiguous() -> None:
    source = torch.randn(LARGE, 2).T
    found = contiguous_copy(source)
    assert torch.equal(found, source)
    assert found.is_contiguous()
    assert found.data_ptr() != source.data_ptr()
    assert new_tensor(LARGE, dtype=torch.int64).dtype == torch.int64


@pytest.mark.parametrize(
    "name", ["agnn", "agnn_plus", "gcn", "appnp", "gcnii", "gat", "monet", "separated", "grand"]
)
def test_training_gives_the_same_bits(
    name: str, toy: NodeData, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"epochs": 12} | ({"tries_candidates": False} if name == "separated" else {})
    method = get_method(name)().with_fields(**changes)
    task = Task(toy, (toy.splits["fixed"],) * 3, (0, 1, 2))
    usual = method.run(task)
    monkeypatch.setattr(memory, "LARGE", 1)
    monkeypatch.setattr(threads, "LARGE", 1)
    allocated = []
    allocate = memory._Pool.allocate
    monkeypatch.setattr(
        memory._Pool, "allocate", lambda *given: allocated.append(0) or allocate(*given)
    )
    recycled = method.run(task)
    assert len(allocated) > 12
    assert torch.equal(recycled.scores, usual.scores)
    assert recycled.history is not None
    assert usual.history is not None
    assert torch.equal(recycled.history.training_loss, usual.history.training_loss)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts pages as Linux does")
def test_an_epoch_takes_no_new_pages_from_the_system(larger_toy: NodeData) -> None:
    data, split = larger_toy, larger_toy.splits["fixed"]
    faults = []

    def look(*_: int) -> None:
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)

    get_method("agnn_plus")(epochs=12).run(Task(data, (split,) * 2, (0, 1), progress=look))
    state = 2 * 2 * data.nodes * 64 * 4  # bytes of a layer's states
    assert (faults[-1] - faults[2]) / 9 < state / resource.getpagesize(), "not even one layer's"
