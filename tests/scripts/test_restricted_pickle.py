"""A pickle that asks for more than arrays and lists is refused by name, and nothing of it runs."""

from __future__ import annotations

import collections
import functools
import os
import pickle
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planetoid import array_in, csr_in, load_planetoid, neighbour_lists_in
from scipy import sparse

from agnn.data import NodeData
from agnn.errors import DataError


class Calling:
    """Pickles into a call of anything."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def attacks(trace: Path) -> dict[str, tuple[Any, str]]:
    touch = f"open({str(trace)!r}, 'w').close()"
    system = Calling(os.system, f"touch {trace}")
    # Where two names are given, the protocol decides which of them comes first.
    return {
        "shell": (system, r"(posix|nt)\.system"),
        "eval": (Calling(eval, touch), r"(builtins|__builtin__)\.eval"),
        "exec": (Calling(exec, touch), r"(builtins|__builtin__)\.exec"),
        "open": (Calling(open, str(trace), "w"), r"_?io\.open"),
        "getattr": (Calling(getattr, "text", "upper"), r"(builtins|__builtin__)\.getattr"),
        "in a list": ({0: [system]}, r"(posix|nt)\.system"),
        "as a factory": (defaultdict(functools.partial(os.system, "x")), r"functools\.partial"),
        "in an object array": (
            np.array([system], dtype=object),
            r"(arrays of 'O8'|_codecs\.encode)",
        ),
        "numpy.load": (Calling(np.load, str(trace)), r"numpy\.load"),
        "remove tree": (Calling(shutil.rmtree, str(trace.parent)), r"shutil\.rmtree"),
        "ordered": (collections.OrderedDict(), r"collections\.OrderedDict"),
        "csc": (sparse.csc_matrix(np.eye(2)), r"(_csc\.csc_matrix|copy_reg\._reconstructor)"),
    }


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("attack", attacks(Path("/nowhere")))
@pytest.mark.parametrize("part", ["graph", "x", "ally"])
def test_any_other_global_is_refused_by_name_and_nothing_runs(
    planetoid, tiny: NodeData, tmp_path: Path, attack: str, protocol: int, part: str
) -> None:
    trace = tmp_path / "trace"
    value, message = attacks(trace)[attack]
    planetoid.write(tiny)
    planetoid.put("tiny", part, pickle.dumps(value, protocol=protocol))
    with pytest.raises(DataError, match=rf"ind\.tiny\.{part}' .*{message}"):
        load_planetoid(planetoid.folder, "tiny")
    assert not trace.exists()
    assert (planetoid.folder / "ind.tiny.x").exists()


READERS = [array_in, csr_in, neighbour_lists_in]
OBJECT_DTYPE = b"\x80\x02cnumpy\ndtype\n(U\x02O8K\x00K\x01tR."
NDARRAY_CALL = b"\x80\x02cnumpy\nndarray\n(K\x05\x85tR."
CLASS_STATE = b"\x80\x02cnumpy\ndtype\n}U\x04codeU\x02O8sb."
LIST_STATE = b"\x80\x02c__builtin__\nlist\n}U\x06appendNsb."
FACTORY = b"\x80\x02ccollections\ndefaultdict\ncnumpy.core.multiarray\n_reconstruct\n\x85R."
BYTE_ORDER = b"\x80\x02cnumpy\ndtype\n(U\x02i8K\x00K\x01tR(K\x03U\x02O,NNNK\x01K\x01K\x00tb."
BARE_CSR = b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81."
EXTENSION = b"\x80\x02\x82\x01."
PERSISTENT = b"\x80\x02K\x01Q."


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "crafted",
    [
        *(OBJECT_DTYPE, NDARRAY_CALL, CLASS_STATE, LIST_STATE, BYTE_ORDER),
        *(BARE_CSR, EXTENSION, PERSISTENT, b"", b".", b"\x80\xff.", b"\x80\x02N."),
    ],
)
def test_crafted_states_of_the_allowed_names_are_refused(read, crafted: bytes) -> None:
    with pytest.raises(DataError, match=r"is damaged|must hold|holds a broken"):
        read(crafted)


def test_a_default_factory_from_the_file_does_not_survive() -> None:
    assert type(neighbour_lists_in(FACTORY)) is dict


def claimed(**changes: Any) -> bytes:
    """A CSR matrix [2, 3] with one entry, some of whose parts lie."""
    matrix = sparse.csr_matrix(np.array([[0, 7.0, 0], [0, 0, 0]]))
    vars(matrix).update(changes)
    return pickle.dumps(matrix, protocol=4)


@pytest.mark.parametrize(
    "lie",
    [
        {"indices": np.array([3], dtype=np.int32)},
        {"indices": np.array([-1], dtype=np.int32)},
        {"indices": np.array([1.0])},
        {"indptr": np.array([0, 1, 1000], dtype=np.int32)},
        {"indptr": np.array([0, 5, 1], dtype=np.int32)},
        {"indptr": np.array([0, 1], dtype=np.int32)},
        {"data": np.ones((1, 1))},
        {"data": [1.0]},
        {"_shape": (10**12, 3)},
        {"_shape": (-2, 3)},
        {"_shape": "wide"},
    ],
)
def test_a_matrix_whose_parts_do_not_fit_is_refused_before_it_is_used(lie: dict[str, Any]) -> None:
    assert csr_in(claimed()).toarray().tolist() == [[0, 7, 0], [0, 0, 0]]
    with pytest.raises(DataError, match=r"holds a broken CSR matrix|is damaged"):
        csr_in(claimed(**lie))


def test_an_array_that_claims_more_than_it_brings_is_refused() -> None:
    honest = pickle.dumps(np.zeros((3, 5), dtype=np.int8), protocol=3)
    for shape in (b"K\x03K\x06\x86", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"):
        with pytest.raises(DataError, match=r"an array of shape \(.*\) with 15 values"):
            array_in(honest.replace(b"K\x03K\x05\x86", shape))


def test_one_list_in_a_million_places_is_refused_before_it_fills_the_memory() -> None:
    neighbours = list(range(3000))
    bomb = pickle.dumps(dict.fromkeys(range(3000), neighbours), protocol=2)
    with pytest.raises(DataError, match="claims more neighbours than it has bytes"):
        neighbour_lists_in(bomb)


@pytest.mark.parametrize("dtype", ["b1", "<i4", ">i4", "<f8", ">f8", "u1", "<u8", "<f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numbers_come_out_as_they_went_in(dtype: str, order: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype, order=order)
    found = array_in(pickle.dumps(array, protocol=4))
    assert found.tolist() == array.tolist()
    assert found.dtype == array.dtype.newbyteorder("=")
