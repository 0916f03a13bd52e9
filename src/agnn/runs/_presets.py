"""What a training begins with: the method with its hyper-parameters, and a seed per replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agnn.choosing import Tuned
from agnn.data import NodeData, SplitSpec
from agnn.data.store import preset_name
from agnn.errors import InputError
from agnn.methods import Method, get_method

_MOST_REPLICAS: Final = 100_000
_LARGEST_SEED: Final = 2**62


def replica_seeds(seed: int, replicas: int) -> tuple[int, ...]:
    """Return the seeds of `replicas` replicas: `seed` and the numbers after it."""
    if replicas < 1:
        raise InputError(f"`replicas` must be at least 1; got {replicas}.")
    if replicas > _MOST_REPLICAS:
        raise InputError(f"`replicas` must be at most {_MOST_REPLICAS:,}; got {replicas}.")
    if seed < 0:
        raise InputError(f"`seed` must not be negative; got {seed}.")
    if seed > _LARGEST_SEED:
        raise InputError(f"`seed` must be at most 2^62; got {seed}.")
    return tuple(range(seed, seed + replicas))


def preset_method(name: str, split_spec: str, dataset: str) -> Method:
    """Return the method as published for this kind of split and this dataset.

    Presets for cross-validation choose the epoch on the evaluated fold, as the paper does. If the
    split has validation nodes, those are used instead.
    """
    spec = SplitSpec.parse(split_spec)
    method = get_method(name).preset(spec.setting, dataset)
    if spec.has_validation and getattr(method, "watched", None) == "test":
        return method.with_fields(watched="validation")
    return method


def suited_method(name: str, split_spec: str, data: NodeData) -> Method:
    """Return the method with the hyper-parameters for this kind of split and this data.

    A dataset that comes with the package has the method's preset. Any other graph, whatever its
    name, has the defaults, with the feature scaling that suits its features.
    """
    known_as = preset_name(data)
    method = preset_method(name, split_spec, known_as)
    return method if known_as != "*" else method.for_data(data)


def default_name(data: NodeData) -> str:
    """Return the name of the default method: the paper's on its datasets."""
    return "agnn" if preset_name(data) != "*" else "agnn_plus"


def prepare(
    name: str,
    data: NodeData,
    split: str,
    changes: Mapping[str, Any] | None = None,
    *,
    is_tuned: bool = False,
) -> Method:
    """Return the method of this name, ready to train on `data`.

    Its hyper-parameters are those of `suited_method`, with the `changes` that are not None. If
    `is_tuned`, the rest of the method's grid is chosen on validation nodes.
    """
    method = suited_method(name, split, data)
    settings = {field: value for field, value in (changes or {}).items() if value is not None}
    for field in settings:
        if is_tuned and field in method.grid:
            raise InputError(f"`{field}` is chosen by tuning; do not set it.")
    method = method.with_fields(**settings)
    method.check()
    return Tuned(method) if is_tuned else method


def seeds_of_replicas(seeds: Sequence[int], folds: int) -> tuple[int, ...]:
    """Return every replica's own seed for weights and dropout: the folds of one trial differ."""
    return tuple(seed * folds + k for seed in seeds for k in range(folds))
