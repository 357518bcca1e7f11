"""The types of kernels: numbers, memory, and what is known while a kernel is translated.

They are read as annotations and, in kernels, called as conversions: `gl.f32(x)`. Python never makes an object of one.
Operators are declared for type checkers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, SupportsIndex, TypeVar, overload

from girih.language.words import outside

if TYPE_CHECKING:
    from typing import TypeAlias


if TYPE_CHECKING:
    # To type checkers the types are Python's, so that literals and numbers of kernels go together: s = 0.0; s += X[i].
    _WholeNumber: TypeAlias = int
    _RealNumber: TypeAlias = float
    _ComplexNumber: TypeAlias = complex
else:
    _WholeNumber = _RealNumber = _ComplexNumber = object


class Number:
    """The base of the number types (003 "Scalar types")."""

    def __init__(self, value: object) -> None:
        outside(f"gl.{type(self).__name__}(...)")

    def __bool__(self) -> bool:
        outside(f"a gl.{type(self).__name__}")

    def __eq__(self, other: object) -> bool:
        outside("a comparison")

    def __ne__(self, other: object) -> bool:
        outside("a comparison")

    __hash__ = object.__hash__

    def __add__(self, other: Self | complex) -> Self:
        outside("a sum")

    def __sub__(self, other: Self | complex) -> Self:
        outside("a difference")

    def __mul__(self, other: Self | complex) -> Self:
        outside("a product")

    __radd__ = __add__
    __rsub__ = __sub__
    __rmul__ = __mul__

    def __neg__(self) -> Self:
        outside("a negation")


class _Ordered(Number):
    """The numbers that have an order."""

    def __mod__(self, other: Self | float) -> Self:
        outside("a remainder")

    def __floordiv__(self, other: Self | float) -> Self:
        outside("a quotient")

    def __lt__(self, other: Self | float) -> bool:
        outside("a comparison")

    def __le__(self, other: Self | float) -> bool:
        outside("a comparison")

    def __gt__(self, other: Self | float) -> bool:
        outside("a comparison")

    def __ge__(self, other: Self | float) -> bool:
        outside("a comparison")

    def __abs__(self) -> Self:
        outside("an absolute value")

    __rmod__ = __mod__
    __rfloordiv__ = __floordiv__


class _Integer(_Ordered, _WholeNumber):
    """The integer types."""

    def __index__(self) -> int:
        outside("an index")

    def __lshift__(self, other: Self | int) -> Self:
        outside("a shift")

    def __rshift__(self, other: Self | int) -> Self:
        outside("a shift")

    def __and__(self, other: Self | int) -> Self:
        outside("a bitwise and")

    def __or__(self, other: Self | int) -> Self:
        outside("a bitwise or")

    def __xor__(self, other: Self | int) -> Self:
        outside("a bitwise exclusive or")

    def __invert__(self) -> Self:
        outside("a bitwise complement")

    __rlshift__ = __lshift__
    __rrshift__ = __rshift__
    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__


class _Floating(_Ordered, _RealNumber):
    """The floating types."""

    def __truediv__(self, other: Self | float) -> Self:
        outside("a quotient")

    def __pow__(self, other: Self | float, modulus: None = None, /) -> Self:
        outside("a power")

    def __rpow__(self, other: float, modulus: None = None, /) -> Any:
        outside("a power")

    __rtruediv__ = __truediv__


class _Complex(Number, _ComplexNumber):
    """The complex types."""

    def __truediv__(self, other: Self | complex) -> Self:
        outside("a quotient")

    __rtruediv__ = __truediv__


class bool_(_Integer):
    """A truth value; one byte in memory."""


class i8(_Integer):
    """An integer of 8 bits with a sign."""


class i16(_Integer):
    """An integer of 16 bits with a sign."""


class i32(_Integer):
    """An integer of 32 bits with a sign."""


class i64(_Integer):
    """An integer of 64 bits with a sign."""


class index(_Integer):
    """The integer of 64 bits that counts elements: what indices, sizes and loops over them have."""


class f8e4m3(_Floating):
    """A float of 8 bits, 4 of them exponent (OCP OFP8); it is stored, moved, cast and multiplied in matrices."""


class f8e5m2(_Floating):
    """A float of 8 bits, 5 of them exponent (OCP OFP8); it is stored, moved, cast and multiplied in matrices."""


class bf16(_Floating):
    """A float of 16 bits with the exponent of f32."""


class f16(_Floating):
    """A float of 16 bits (IEEE 754 binary16)."""


class f32(_Floating):
    """A float of 32 bits (IEEE 754 binary32)."""


class f64(_Floating):
    """A float of 64 bits (IEEE 754 binary64)."""


class c32(_Complex):
    """A complex number of two f32."""


class c64(_Complex):
    """A complex number of two f64."""


SCALARS: dict[str, type[Number]] = {
    "bool": bool_,
    **{t.__name__: t for t in (i8, i16, i32, i64, index, f8e4m3, f8e5m2, bf16, f16, f32, f64, c32, c64)},
}
"""The scalar types by the names that the language gives them."""

if TYPE_CHECKING:
    constant: TypeAlias = Any
else:

    class constant:
        """The annotation of a parameter that is known while the kernel is translated.

        It is a number, a truth value, a string, an element type or a tuple of these; each value makes a variant.
        """

        def __class_getitem__(cls, item: Any) -> Any:
            raise TypeError("gl.constant takes no type in brackets: its value has one; write size: gl.constant")


E = TypeVar("E", bound=Number)
R = TypeVar("R")
A_co = TypeVar("A_co", covariant=True)

Place = SupportsIndex | tuple[SupportsIndex, ...]
"""What picks out one element: an index, or one for each axis."""

Slices = slice | tuple[SupportsIndex | slice, ...]
"""What picks out a part: a slice, or an index or slice for each axis."""


class Array(Generic[E, R]):
    """An array of elements E and rank R, `gl.Array[gl.f32, Literal[3]]`, in whatever order its memory is."""

    rank: ClassVar[int | None] = None

    @property
    def shape(self) -> tuple[index, ...]:
        """The sizes of the axes."""
        outside("a shape")

    @property
    def dtype(self) -> type[E]:
        """The type of the elements: `X.dtype(0)` is a number of that type."""
        outside("a type of elements")

    @property
    def T(self) -> Self:
        """The transpose, a view whose axes are those of the array in reverse."""
        outside("a transpose")

    def __len__(self) -> int:
        outside("a length")

    def __getitem__(self, place: Place | Slices) -> Any:
        outside("an element")

    def __setitem__(self, place: Place | Slices, value: object) -> None:
        outside("a store")

    def __matmul__(self, other: Array[Any, Any] | Block[Any]) -> Block[E]:
        outside("a product of matrices")


class Scalar(Array[E, Literal[0]]):
    """An array without axes: one element in memory, `X[()]`."""

    rank = 0


class Vector(Array[E, Literal[1]]):
    """An array with one axis."""

    rank = 1

    @overload
    def __getitem__(self, place: SupportsIndex | tuple[SupportsIndex]) -> E: ...
    @overload
    def __getitem__(self, place: Place | Slices) -> Any: ...
    def __getitem__(self, place: object) -> Any:
        outside("an element")


class Matrix(Array[E, Literal[2]]):
    """An array with two axes."""

    rank = 2

    @overload
    def __getitem__(self, place: tuple[SupportsIndex, SupportsIndex]) -> E: ...
    @overload
    def __getitem__(self, place: Place | Slices) -> Any: ...
    def __getitem__(self, place: object) -> Any:
        outside("an element")


class Block(Generic[E]):
    """A matrix that the work-items of a subgroup, or of a work-group, hold together (003 "Cooperative matrix type")."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        outside("a shape")

    @property
    def T(self) -> Block[E]:
        """The transpose of an accumulator, a matrix_b (001 "coopMatTransposeNV")."""
        outside("a transpose")

    def __add__(self, other: Block[E] | Array[E, Any] | E | complex) -> Block[E]:
        outside("a sum")

    def __sub__(self, other: Block[E] | Array[E, Any] | E | complex) -> Block[E]:
        outside("a difference")

    def __mul__(self, other: Block[E] | Array[E, Any] | E | complex) -> Block[E]:
        outside("a product")

    def __truediv__(self, other: Block[E] | Array[E, Any] | E | complex) -> Block[E]:
        outside("a quotient")

    def __matmul__(self, other: Array[Any, Any] | Block[Any]) -> Block[E]:
        outside("a product of matrices")

    def __neg__(self) -> Block[E]:
        outside("a negation")

    __radd__ = __add__
    __rsub__ = __sub__
    __rmul__ = __mul__
    __rtruediv__ = __truediv__


class Group(Generic[A_co]):
    """A list of arrays, `gl.Group[gl.Matrix[gl.f32]]` (003 "Group type")."""

    def __len__(self) -> int:
        outside("a length")

    def __getitem__(self, place: SupportsIndex) -> A_co:
        outside("a member of a group")


class TensorMap(Generic[E, R]):
    """A tensor map of a tensor of rank R whose boxes are tiles (004 5.5)."""


class Im2colMap(Generic[E, R]):
    """A tensor map of a tensor of rank R whose boxes are windows of images (004 5.5.3)."""
