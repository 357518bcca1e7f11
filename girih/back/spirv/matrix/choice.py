"""Which matrices of a function the device has; the others are arrays of each work-item.

Guarantees: matrices that meet in an instruction, a loop or a branch are all of one kind; a matrix is the device's where
its type is listed (or a multiple of what is listed, where dimensions are flexible), every product that it takes part in
is listed as a whole, and each instruction that it meets can be said with what the profile has. Otherwise there is one
reason in words, with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from girih.back.llvm.lower.one_lane.matrix.meetings import SoftwareMatrices, own_matrices
from girih.back.spirv.matrix.lines import TileAccess, is_aligned
from girih.back.spirv.matrix.multiples import Multiples
from girih.back.spirv.profiles.profile import MatrixShape, Profile
from girih.facts.accumulators import product_accumulator
from girih.ir.core import Function, Op, Value
from girih.ir.types import BF16, F16, F32, CoopMatrix, MemRef, Number, Use
from girih.ir.uses import free_values
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.control import For, If, Yield
from girih.ops.tile.coopmatrix import (
    AtomicAccess,
    Checked,
    CooperativeMatrixConstruct,
    CooperativeMatrixExtract,
    CooperativeMatrixInsert,
    CooperativeMatrixLoad,
    CooperativeMatrixMulAdd,
    CooperativeMatrixPrefetch,
    CooperativeMatrixScale,
    CooperativeMatrixStore,
    CooperativeMatrixTranspose,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import (
    BlockedAccess,
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixLoadTensor,
    CooperativeMatrixStoreBlockedInterleaved,
    CooperativeMatrixStoreTensor,
)
from girih.ops.tile.tensor_layout import (
    TensorLayoutCreate,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
)

NATIVE = frozenset({"add", "sub", "mul"})
"""The instructions on two matrices that a device has for each component, rounded once."""

SUMS = frozenset({F32, F16})
"""The component types that 001 reduces."""

BLOCKED_STRIDES = (1, 2, 4)
"""How many blocks may be interleaved (SPV_ARM_cooperative_matrix_layouts, revision 2)."""

LARGEST_DIMENSION = 1024
"""Rows and columns beyond which no device is asked."""


@dataclass(frozen=True, slots=True)
class MatrixChoice:
    """The matrices of a function that the device has, and why it has not the others, in program order."""

    device: frozenset[Value]
    software: tuple[SoftwareMatrices, ...] = ()
    moved: frozenset[Value] = frozenset()
    """Those of the device that are only stored, multiplied, or given another use: no other numbers come from theirs."""


@dataclass(frozen=True, slots=True)
class MatrixSizes:
    """The sizes that matrices of a kernel depend on, in work-items; `device_subgroup` is that of the device."""

    work_group: int
    subgroup: int
    device_subgroup: int


NO_MATRICES = MatrixChoice(frozenset())
"""The choice where the device has no matrix."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The device as it is asked about a function."""

    function: Function
    profile: Profile
    sizes: MatrixSizes
    checks: bool
    constants: dict[Value, int]
    multiples: Multiples

    # --- types and products --------------------------------------------------------------

    def shapes(self, scope: str) -> Iterator[MatrixShape]:
        """The products of the device that work-items of a scope compute in work-groups of this size."""
        for shape in self.profile.matrices:
            if shape.scope == scope and (not shape.work_items or self.sizes.work_group in shape.work_items):
                yield shape

    def lists(self, type: CoopMatrix) -> bool:
        """Whether a type is listed."""
        return any(fits(shape, type) for shape in self.shapes(type.scope.value))

    def multiplies(self, a: CoopMatrix, b: CoopMatrix, c: CoopMatrix) -> bool:
        """Whether a product is listed."""
        return any(all(fits(shape, type) for type in (a, b, c)) for shape in self.shapes(a.scope.value))

    def listed(self, scope: str) -> str:
        """The products of a scope in words."""
        words = dict.fromkeys(_shape_words(shape) for shape in self.shapes(scope))
        of = "a work-group of this size" if scope == "work_group" else "a subgroup"
        return f"for {of} it has {', '.join(words)}" if words else f"it has none for {of}"

    def against(self, type: CoopMatrix) -> str | None:
        """Why the device has no matrices of a type; None if it has."""
        if not type.of_work_group and self.sizes.subgroup != self.sizes.device_subgroup:
            return f"subgroups of {self.sizes.subgroup} work-items are a part of those that hold the device's matrices"
        if max(type.shape) <= LARGEST_DIMENSION and self.lists(type):
            return None
        return f"{self.profile.name} has no {type}: {self.listed(type.scope.value)}"

    # --- what instructions ask -----------------------------------------------------------

    def lacks(self, feature: str, what: str) -> str | None:
        """Why something cannot be said without a feature; None where the device has it."""
        return None if self.profile.has(feature) else f"{self.profile.name} has no {what}"

    def finds(self, op: Op) -> bool:
        """Whether the region of an instruction may find something, which a function of elements cannot report."""
        return self.checks and any(_may_find(inner) for region in op.regions for inner in region.walk())


def fits(shape: MatrixShape, type: CoopMatrix) -> bool:
    """Whether a matrix type is that of a factor, an addend or a result of a listed product."""
    component = type.component.name
    wanted, rows, columns = {
        Use.A: ((shape.a,), shape.m, shape.k),
        Use.B: ((shape.b,), shape.k, shape.n),
        Use.ACC: ((shape.c, shape.result), shape.m, shape.n),
    }[type.use]
    if component not in wanted:
        return False
    if shape.flexible:
        return type.rows % rows == 0 and type.columns % columns == 0
    return type.shape == (rows, columns)


def _shape_words(shape: MatrixShape) -> str:
    many = "multiples of " if shape.flexible else ""
    return f"{many}{shape.m}x{shape.n}x{shape.k} {shape.a} into {shape.result}"


# --- instructions ------------------------------------------------------------------------------

_Objection = Callable[[_Asked, Op], str | None]
_PER_ELEMENT = "functions of the elements of a matrix"


def _nothing(asked: _Asked, op: Op) -> str | None:
    return None


def _by_element(asked: _Asked, op: Op) -> str | None:
    return asked.lacks("matrix_per_element", _PER_ELEMENT)


def _binary(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op.results[0].type, CoopMatrix)
    type, mnemonic = op.results[0].type.component, op.spec.mnemonic
    if mnemonic in NATIVE and type != BF16:
        return None
    if type.family == "integer" and mnemonic in ("div", "rem", "shl", "shr") and asked.checks:
        return f"`{mnemonic}` of integers is checked component by component"
    return _by_element(asked, op)


def _scale(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op.results[0].type, CoopMatrix)
    return _by_element(asked, op) if op.results[0].type.component == BF16 else None


def _cast(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op, Cast)
    source, target = op.a.type, op.result.type
    assert isinstance(source, CoopMatrix) and isinstance(target, CoopMatrix)
    if source.use is not target.use:
        if source.use is not Use.ACC:
            return f"a matrix of use {source.use.value} is not converted to another use"
        refused = asked.lacks("matrix_conversions", "conversions of matrices to another use")
        if refused:
            return refused
    if not is_converted(source.component, target.component):
        return f"no instruction converts components of {source.component} to {target.component} as the language asks"
    return _rounding(asked, op, source.component, target.component)


def _rounding(asked: _Asked, op: Op, source: Number, target: Number) -> str | None:
    """Why a conversion cannot round as the language asks."""
    if target == BF16 != source or (rounds_to_half(source, target) and asked.profile.has("folds_narrowing")):
        return _by_element(asked, op)
    if rounds_to_half(source, target):
        return asked.lacks("round16", "rounding to nearest even of f16 on demand")
    return None


def is_converted(source: Number, target: Number) -> bool:
    """Whether components are converted as the language asks: exactly, or with one rounding to nearest."""
    if source == target:
        return True
    if source.family == target.family == "floating":
        return {source, target} <= {F16, BF16, F32} and F32 in (source, target)
    return source.family == target.family == "integer" or (source.family == "integer" and target == F32)


def rounds_to_half(source: Number, target: Number) -> bool:
    """Whether a conversion rounds to f16."""
    return target == F16 and source != F16


def _mul_add(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op, CooperativeMatrixMulAdd)
    a, b, c, result = (one.type for one in (op.a, op.b, op.c, op.result))
    assert isinstance(a, CoopMatrix) and isinstance(b, CoopMatrix)
    assert isinstance(c, CoopMatrix) and isinstance(result, CoopMatrix)
    sums = sums_of(c, result)
    if not asked.multiplies(a, b, sums):
        return (
            f"{asked.profile.name} has no product of {a} and {b} with sums of {sums.component}: "
            f"{asked.listed(a.scope.value)}"
        )
    for source, target in ((c, sums), (sums, result)):
        if not is_converted(source.component, target.component):
            return f"no instruction converts sums of {source.component} to {target.component} as the language asks"
        refused = _rounding(asked, op, source.component, target.component)
        if refused is not None:
            return refused
    return None


def sums_of(c: CoopMatrix, result: CoopMatrix) -> CoopMatrix:
    """The type in which a product is summed up."""
    return CoopMatrix(product_accumulator(c.component, result.component), *c.shape, Use.ACC, c.scope)


def _load_or_store(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op, TileAccess)
    if asked.profile.has("matrix_per_element"):
        return None
    if op.checked is not Checked.NONE:
        return f"elements outside are left out, for which {asked.profile.name} has no {_PER_ELEMENT}"
    if is_aligned(asked.multiples, op):
        return None
    return (
        f"lines of `{op.memory.name}` are not known to begin at multiples of 16 bytes, as `stride_gcd` of a parameter "
        f"could promise, and {asked.profile.name} has no {_PER_ELEMENT}"
    )


def _tensor(asked: _Asked, op: Op) -> str | None:
    refused = asked.lacks("matrix_tensors", "loads and stores through tensor layouts")
    if refused or not isinstance(op, CooperativeMatrixLoadTensor | CooperativeMatrixStoreTensor):
        return refused
    if asked.finds(op):
        return "the function that decodes a block is checked, and cannot end the launch"
    # An H200 with driver 580 reads other elements where the innermost stride is not 1.
    for one in asked.function.walk():
        if isinstance(one, TensorLayoutSetStride) and _number(asked, one.numbers[-1]) != 1:
            return "the innermost stride of a layout is not known to be 1"
    if isinstance(op, CooperativeMatrixStoreTensor) and _may_have_blocks(asked, op.layout):
        return "a layout with blocks may be stored through"
    if isinstance(op, CooperativeMatrixLoadTensor) and op.body is not None:
        return asked.lacks("matrix_blocks", "functions that decode blocks")
    return None


def _may_have_blocks(asked: _Asked, layout: Value) -> bool:
    """Whether a block size may have been set on the way to a layout; one that comes out of a branch may have any."""
    made = {value: one for one in asked.function.walk() for value in one.results}
    while True:
        one = made.get(layout)
        match one:
            case TensorLayoutCreate():
                return False
            case (
                TensorLayoutSetDimension() | TensorLayoutSetStride() | TensorLayoutSlice() | TensorLayoutSetClampValue()
            ):
                layout = one.layout
            case _:
                return True


def _number(asked: _Asked, operand: Value | int) -> int | None:
    return operand if isinstance(operand, int) else asked.constants.get(operand)


def _blocked(asked: _Asked, op: Op) -> str | None:
    if asked.checks:
        return "checks look at the place of each component"
    blocked = CooperativeMatrixLoadBlockedInterleaved | CooperativeMatrixStoreBlockedInterleaved
    if isinstance(op, blocked) and op.stride not in BLOCKED_STRIDES:
        return f"groups of blocks have 1, 2 or 4 of them, not {op.stride}"
    return asked.lacks("matrix_blocked_layouts", "blocked-interleaved layouts")


def _apply(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op, CooperativeMatrixApply)
    if any(matrix.type != op.result.type for matrix in op.matrices):
        return "single rows or columns are repeated in every row or column"
    if any(isinstance(value.type, CoopMatrix | MemRef) for value in free_values(op)):
        return "the function of the elements reads memory"
    if any(not tuple(inner.operands) and not isinstance(inner, Constant) for inner in op.body.walk()):
        return "the function of the elements asks where it is"
    return _of_region(asked, op, "matrix_per_element", _PER_ELEMENT)


def _combine(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op, CooperativeMatrixCombine)
    assert isinstance(op.result.type, CoopMatrix)
    if op.result.type.component not in SUMS:
        return f"001 combines components of f16 and f32 only, not of {op.result.type.component}"
    return _of_region(asked, op, "matrix_reductions", "reductions of matrices")


def _of_region(asked: _Asked, op: Op, feature: str, what: str) -> str | None:
    if asked.finds(op):
        return "the function of the elements is checked, and cannot end the launch"
    return asked.lacks(feature, what)


def _transpose(asked: _Asked, op: Op) -> str | None:
    assert isinstance(op, CooperativeMatrixTranspose)
    source, target = op.matrix.type, op.result.type
    assert isinstance(source, CoopMatrix) and isinstance(target, CoopMatrix)
    if source.component != target.component:
        return "the transpose has components of another type"
    return asked.lacks("matrix_conversions", "transposes of matrices")


def _own_mapping(asked: _Asked, op: Op) -> str | None:
    return "which components a work-item holds is the device's own matter"


def _unknown(asked: _Asked, op: Op) -> str | None:
    return "no device does this with matrices"


def _atomic(asked: _Asked, op: Op) -> str | None:
    return "no device updates matrices in memory atomically"


def _reduced(asked: _Asked, op: Op) -> str | None:
    return "the result is a single row or column"


_OBJECTIONS: dict[type[Op], _Objection] = {
    Constant: _nothing,
    CooperativeMatrixConstruct: _nothing,
    CooperativeMatrixPrefetch: _nothing,
    For: _nothing,
    If: _nothing,
    Yield: _nothing,
    Cast: _cast,
    CooperativeMatrixScale: _scale,
    CooperativeMatrixMulAdd: _mul_add,
    CooperativeMatrixLoad: _load_or_store,
    CooperativeMatrixStore: _load_or_store,
    CooperativeMatrixTranspose: _transpose,
    CooperativeMatrixApply: _apply,
    CooperativeMatrixCombine: _combine,
    CooperativeMatrixLoadTensor: _tensor,
    CooperativeMatrixStoreTensor: _tensor,
    CooperativeMatrixExtract: _own_mapping,
    CooperativeMatrixInsert: _own_mapping,
    **dict.fromkeys(TILE_LANGUAGE.family(Unary), _by_element),
    **dict.fromkeys(TILE_LANGUAGE.family(Binary), _binary),
    **dict.fromkeys(TILE_LANGUAGE.family(Reduce), _reduced),
    **dict.fromkeys(TILE_LANGUAGE.family(AtomicAccess), _atomic),
    **dict.fromkeys(TILE_LANGUAGE.family(BlockedAccess), _blocked),
}
"""Why an instruction on matrices cannot be the device's, by class; None where it can."""


def _may_find(op: Op) -> bool:
    """Whether an instruction of a region that computes components may find something."""
    if op.spec.reads or op.spec.writes or isinstance(op, For):
        return True
    integers = all(isinstance(value.type, Number) and value.type.family == "integer" for value in op.results)
    return integers and op.spec.mnemonic in ("div", "rem", "shl", "shr")


# --- matrices that meet ------------------------------------------------------------------------


def choose_matrices(
    function: Function, profile: Profile, sizes: MatrixSizes, constants: dict[Value, int], multiples: Multiples,
    *, checks: bool,
) -> MatrixChoice:  # fmt: skip
    """The matrices of a function that a device has; `constants` are the values that are known."""
    asked = _Asked(function, profile, sizes, checks, constants, multiples)
    device, software = own_matrices(function, lambda op, matrices: _reasons(asked, op, matrices))
    return MatrixChoice(device, software, _moved(function) & device)


def _moved(function: Function) -> frozenset[Value]:
    """The matrices with whose numbers nothing is computed but products."""
    moved: set[Value] = set()
    computed: set[Value] = set()
    # Users stand behind what they use, so that a cast to another use alone is known before its operand.
    for op in reversed(list(function.walk())):
        moved.update(value for value in op.results if value not in computed)
        kept = _unchanged(op, moved)
        computed.update(value for value in op.operands if value not in kept)
    return frozenset(moved - computed)


def _unchanged(op: Op, moved: set[Value]) -> tuple[Value, ...]:
    """The operands of an instruction with whose numbers it computes nothing but products."""
    match op:
        case CooperativeMatrixMulAdd():
            return op.a, op.b
        case CooperativeMatrixStore() | CooperativeMatrixStoreTensor():
            return (op.matrix,)
        case Cast() if _is_of_same_components(op) and op.result in moved:
            return (op.a,)
        case CooperativeMatrixTranspose() if op.result in moved:
            return (op.matrix,)
        case _:
            return ()


def _is_of_same_components(op: Cast) -> bool:
    source, target = op.a.type, op.result.type
    return isinstance(source, CoopMatrix) and isinstance(target, CoopMatrix) and source.component == target.component


def _reasons(asked: _Asked, op: Op, matrices: list[Value]) -> Iterator[str]:
    """What is against the matrices of an instruction."""
    if not asked.profile.has("matrices"):
        yield f"{asked.profile.name} has no cooperative matrices"
        return
    for matrix in matrices:
        assert isinstance(matrix.type, CoopMatrix)
        reason = asked.against(matrix.type)
        if reason is not None:
            yield reason
    objection = _OBJECTIONS.get(type(op), _unknown)(asked, op)
    if objection is not None:
        yield objection
