"""Vectors of 16 and of 4 lanes inside numba: values that LLVM keeps in registers.

numba's own loop vectoriser does not see a dot product of one row of 16 numbers as one vector
instruction. These intrinsics say so explicitly. They work for float32 and float64 arrays; a
machine with narrower registers gets each vector split by LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from agnn.kernels._runtime.code_cache import code_cache_of

LANES = 16

# No value here is NaN or infinite on purpose. Sums keep their order: with reassociation a zero more
# or less in a row, as pruning makes it, would change how the others are grouped. Only inside a dot
# product's last step, whose grouping the vector length fixes, is the order free.
_IN_ORDER = ("nnan", "ninf", "nsz", "arcp", "contract", "afn")
_ANY_ORDER = ("fast",)
OPTIONS: dict[str, Any] = {
    "fastmath": set(_IN_ORDER),
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    # Not needed here, and it takes time to compile.
    "no_rewrites": True,
    "no_cfunc_wrapper": True,
}
# Inlined by LLVM: numba would copy all of the caller for every call. Without the wrapper, which
# vectors cannot have, these are for compiled code only: Python must not call them.
inline: Callable[..., Any] = njit(forceinline=True, no_cpython_wrapper=True, **OPTIONS)


def jit(function: Callable[..., Any]) -> Any:
    """Let `function` be compiled on its first call, and keep the code on disk."""
    dispatcher = njit(**OPTIONS)(function)
    dispatcher._cache = code_cache_of(dispatcher.py_func)  # in place of numba's own
    return dispatcher


_intrinsic: Callable[..., Any] = intrinsic  # typed: what it decorates is called from compiled code


class Vector(types.Type):  # type: ignore[misc]
    """The numba type of 16 or 4 numbers of one element type."""

    def __init__(self, element: Any, lanes: int = LANES) -> None:
        self.element = element
        self.lanes = lanes
        super().__init__(name=f"agnn_vector({element}x{lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, _llvm_vector(vector.element, vector.lanes))


def _llvm_scalar(element: Any) -> Any:
    return ir.FloatType() if element == types.float32 else ir.DoubleType()


def _llvm_vector(element: Any, lanes: int = LANES) -> Any:
    return ir.VectorType(_llvm_scalar(element), lanes)


def _element(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [offset])


def _address(
    context: Any, builder: Any, array_type: Any, array: Any, offset: Any, lanes: int = LANES
) -> Any:
    pointer = _element(context, builder, array_type, array, offset)
    return builder.bitcast(pointer, _llvm_vector(array_type.dtype, lanes).as_pointer())


def _shuffle(builder: Any, left: Any, right: Any, order: Sequence[int]) -> Any:
    """The lanes `order` of both vectors one after the other."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), list(order))
    return builder.shuffle_vector(left, right, mask)


def _broadcast(builder: Any, scalar: Any, lanes: int = LANES) -> Any:
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, first, undefined, [0] * lanes)


@_intrinsic
def load(typing: Any, array: Any, offset: Any) -> Any:
    """`array[offset : offset + 16]` of a flat array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments)
        vector = builder.load(pointer)
        vector.align = array.dtype.bitwidth // 8
        return vector

    return Vector(array.dtype)(array, types.uint64), generate


@_intrinsic
def store(typing: Any, array: Any, offset: Any, vector: Any) -> Any:
    """Write the numbers of a vector to `array` from `offset` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(
            context, builder, signature.args[0], arguments[0], arguments[1], vector.lanes
        )
        builder.store(arguments[2], pointer).align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, vector), generate


@_intrinsic
def splat(typing: Any, scalar: Any) -> Any:
    """The same number in all 16 lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _broadcast(builder, arguments[0])

    return Vector(scalar)(scalar), generate


@_intrinsic
def fma(typing: Any, scalar: Any, vector: Any, addend: Any) -> Any:
    """`scalar * vector + addend`, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factor = _broadcast(builder, arguments[0])
        product = builder.fmul(factor, arguments[1], flags=_IN_ORDER)
        return builder.fadd(product, arguments[2], flags=_IN_ORDER)

    return vector(vector.element, vector, vector), generate


@_intrinsic
def scale(typing: Any, scalar: Any, vector: Any) -> Any:
    """`scalar * vector`, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(_broadcast(builder, arguments[0]), arguments[1], flags=_IN_ORDER)

    return vector(vector.element, vector), generate


@_intrinsic
def multiply_add(typing: Any, left: Any, right: Any, addend: Any) -> Any:
    """`left * right + addend`, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.fmul(arguments[0], arguments[1], flags=_IN_ORDER)
        return builder.fadd(product, arguments[2], flags=_IN_ORDER)

    return left(left, left, left), generate


def _lane_by_lane(operation: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """An intrinsic of two vectors from a function of LLVM's builder and their values."""

    def define(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return operation(builder, *arguments)

        return left(left, left), generate

    return _intrinsic(define)  # type: ignore[no-any-return]


add = _lane_by_lane(lambda builder, a, b: builder.fadd(a, b, flags=_IN_ORDER))
subtract = _lane_by_lane(lambda builder, a, b: builder.fsub(a, b, flags=_IN_ORDER))
multiply = _lane_by_lane(lambda builder, a, b: builder.fmul(a, b, flags=_IN_ORDER))
divide = _lane_by_lane(lambda builder, a, b: builder.fdiv(a, b, flags=_IN_ORDER))
larger = _lane_by_lane(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))


@_intrinsic
def trailing_zeros(typing: Any, word: Any) -> Any:
    """The place of the lowest bit that is set in a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate


@_intrinsic
def bits_of(typing: Any, flags: Any) -> Any:
    """The first 64 flags of an array of bytes as the bits of a word, the first as the lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), 64)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = builder.load(builder.bitcast(data, kind.as_pointer()))
        vector.align = 1
        is_set = builder.icmp_unsigned("!=", vector, ir.Constant(kind, [0] * 64))
        return builder.bitcast(is_set, ir.IntType(64))

    return types.uint64(flags), generate


@_intrinsic
def where_positive(typing: Any, vector: Any, yes: Any, no: Any) -> Any:
    """`yes` in the lanes in which `vector` is above zero, `no` in the others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = _broadcast(builder, ir.Constant(_llvm_scalar(vector.element), 0.0))
        return builder.select(builder.fcmp_ordered(">", arguments[0], zeros), *arguments[1:])

    return vector(vector, vector, vector), generate


def _rotation(lanes: int) -> Callable[..., Any]:
    """An intrinsic that moves every lane by `lanes`, round the end."""

    def define(typing: Any, vector: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            order = [(k + lanes) % LANES for k in range(LANES)]
            return _shuffle(builder, arguments[0], arguments[0], order)

        return vector(vector), generate

    return _intrinsic(define)  # type: ignore[no-any-return]


rotate_1, rotate_2, rotate_4, rotate_8 = (_rotation(lanes) for lanes in (1, 2, 4, 8))


@_intrinsic
def total(typing: Any, vector: Any) -> Any:
    """The sum of the 16 lanes."""
    scalar = _llvm_scalar(vector.element)
    suffix = "f32" if vector.element == types.float32 else "f64"

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(scalar, [scalar, _llvm_vector(vector.element)])
        name = f"llvm.vector.reduce.fadd.v{LANES}{suffix}"
        reduce = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(reduce, [ir.Constant(scalar, -0.0), arguments[0]], fastmath=_ANY_ORDER)

    return vector.element(vector), generate


@_intrinsic
def totals(typing: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """The sums of four vectors' 16 lanes as a vector of 4, each in the order of `total`.

    The four are folded together: 13 instructions where one after the other takes 32.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def fold(left: Any, right: Any, width: int) -> Any:
            """Each run of 2 `width` lanes of both vectors as one of `width`: its halves' sum."""
            lower = [k for k in range(2 * LANES) if k % (2 * width) < width]
            halves = (lower, [k + width for k in lower])
            return builder.fadd(
                *(_shuffle(builder, left, right, half) for half in halves), flags=_IN_ORDER
            )

        left, right = (fold(arguments[k], arguments[k + 1], LANES // 2) for k in (0, 2))
        sums = fold(left, right, LANES // 4)  # four runs of four lanes
        for distance in (2, 1):
            other = _shuffle(builder, sums, sums, [k ^ distance for k in range(LANES)])
            sums = builder.fadd(sums, other, flags=_IN_ORDER)
        return _shuffle(builder, sums, sums, range(0, LANES, 4))

    return Vector(first.element, 4)(first, first, first, first), generate


@_intrinsic
def pick(typing: Any, array: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """The numbers at four places of a flat array as a vector of 4 lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.Constant(_llvm_vector(array.dtype, 4), ir.Undefined)
        for lane, offset in enumerate(arguments[1:]):
            pointer = _element(context, builder, signature.args[0], arguments[0], offset)
            vector = builder.insert_element(vector, builder.load(pointer), ir.IntType(32)(lane))
        return vector

    return Vector(array.dtype, 4)(array, *[types.uint64] * 4), generate


@_intrinsic
def splat_4(typing: Any, scalar: Any) -> Any:
    """The same number in 4 lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _broadcast(builder, arguments[0], 4)

    return Vector(scalar, 4)(scalar), generate


@_intrinsic
def fence(typing: Any, vector: Any) -> Any:
    """The vector itself, not as part of a fused operation."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        suffix = "f32" if vector.element == types.float32 else "f64"
        name = f"llvm.arithmetic.fence.v{vector.lanes}{suffix}"
        same = ir.FunctionType(kind, [kind])
        return builder.call(cgutils.get_or_insert_function(builder.module, same, name), arguments)

    return vector(vector), generate


@_intrinsic
def keep_loop(typing: Any) -> Any:
    """Keep the loop around it as it is written: LLVM unrolls no loop with assembler code in it.

    Rows are short, and every further loop of an unrolled one ends with a wrong guess.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)
        return context.get_dummy_value()

    return types.void(), generate


@_intrinsic
def logistic(typing: Any, vector: Any) -> Any:
    """`1 / (1 + e^-x)` of 16 float32 numbers, to about 2e-7; at the ends it stays at 0 and 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        whole = ir.VectorType(ir.IntType(32), LANES)

        def all_lanes(value: float) -> Any:
            return ir.Constant(kind, [value] * LANES)

        def call(name: str, *values: Any) -> Any:
            function_type = ir.FunctionType(kind, [kind] * len(values))
            full = f"llvm.{name}.v{LANES}f32"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, function_type, full), values
            )

        def muladd(a: Any, b: Any, c: Any) -> Any:
            return builder.fadd(builder.fmul(a, b, flags=_IN_ORDER), c, flags=_IN_ORDER)

        # e^-x with -x = k ln 2 + y, |y| <= ln 2 / 2, and its series in y, as in edge_loops.py.
        x = call(
            "minnum", call("maxnum", builder.fneg(arguments[0]), all_lanes(-87.0)), all_lanes(87.0)
        )
        k = call("floor", muladd(x, all_lanes(1.4426950408889634), all_lanes(0.5)))
        y = muladd(k, all_lanes(-0.693359375), x)
        y = muladd(k, all_lanes(2.12194440e-4), y)
        power = all_lanes(1 / 5040)
        for factorial in (720, 120, 24, 6, 2, 1, 1):
            power = muladd(power, y, all_lanes(1 / factorial))
        exponent = builder.shl(
            builder.fptosi(k, whole), ir.Constant(whole, [23] * LANES)
        )  # times 2^k, in the exponent's bits
        power = builder.bitcast(builder.add(builder.bitcast(power, whole), exponent), kind)
        one = all_lanes(1.0)
        return builder.fdiv(one, builder.fadd(one, power, flags=_IN_ORDER), flags=_IN_ORDER)

    return vector(vector), generate


@_intrinsic
def prefetch(typing: Any, array: Any, offset: Any) -> Any:
    """Ask for the cache line of `array[offset]`, some edges before it is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments)
        byte = ir.IntType(8).as_pointer()
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # read access, keep in every level of cache, data and not code
        builder.call(function, [builder.bitcast(pointer, byte), i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@_intrinsic
def pointer(typing: Any, address: Any, like: Any) -> Any:
    """The address, a number, as a pointer to elements like those of an array."""
    kind = types.CPointer(like.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(address, like), generate


# Several heads side by side in one row of states: column f K + k is feature f of head k. With
# K = 1, 2, 4, 8 or 16 every vector of 16 lanes has the heads in the same order, lane l belonging to
# head l mod K: one vector holds what an edge has for all its heads, and multiplies every vector of
# the row.


@inline
def by_head(vector: Any, heads: Any) -> Any:
    """In every lane the sum of the lanes that belong to its head."""
    if heads <= 8:
        vector = add(vector, rotate_8(vector))
    if heads <= 4:
        vector = add(vector, rotate_4(vector))
    if heads <= 2:
        vector = add(vector, rotate_2(vector))
    if heads <= 1:
        vector = add(vector, rotate_1(vector))
    return vector
