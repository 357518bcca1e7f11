"""Elements, slices and attributes: `X[i, j]`, `X[i:i + 32, :]`, `X.shape`, `X.T`, and what is assigned to them."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from enum import Enum

import girih.language
from girih.diagnostics import nearest
from girih.front.python.conversions import checks, literal_of
from girih.front.python.emission import described, described_value
from girih.front.python.expressions import Expressions
from girih.front.python.operands import Known, Many, MatrixProduct, Memory, Operand, Part, Runtime
from girih.front.python.reading import is_kernel
from girih.front.python.refusals import refused_callee
from girih.ir.core import Index, Value
from girih.ir.types import INDEX, CoopMatrix, GroupType, Number, Use, element_type
from girih.language.foreign import INSTEAD
from girih.language.types import SCALARS as WORDS_FOR_SCALARS
from girih.language.types import Number as WordNumber
from girih.ops.tile.coopmatrix import Checked
from girih.source import Span

Linear = tuple[dict[str, int], int]
"""A sum of expressions, by their text, each times a number, and a number."""


class Subscripts(Expressions):
    """The translator's part for what stands in brackets and behind dots."""

    # --- attributes ------------------------------------------------------------------------

    def _on_attribute(self, node: ast.Attribute) -> Operand:
        span = self.span(node)
        owner = self.set(self.expression(node.value), self.span(node.value))
        if isinstance(owner, Known):
            return self._known_attribute(owner.value, node.attr, span)
        if isinstance(owner, MatrixProduct):
            owner = self.computed(owner, span)
        if node.attr == "shape":
            return Many(tuple(self.extent(owner, axis, span) for axis in range(self._rank_of(owner, span))))
        if node.attr == "ndim":
            return Known(self._rank_of(owner, span))
        if node.attr == "dtype":
            return Known(self._element_word(owner, span))
        if node.attr == "T" and isinstance(owner, Memory | Part):
            memory = self.memory(owner, span)
            return Memory(memory.value, tuple(memory.rank - 1 - axis for axis in memory.axes), memory.checked)
        if node.attr == "dtype":
            return Known(self._element_word(owner, span))
        if node.attr == "T" and isinstance(owner, Runtime) and isinstance(owner.type, CoopMatrix):
            type = owner.type
            turned = CoopMatrix(type.component, type.columns, type.rows, Use.B, type.scope)
            (transposed,) = self.add("cooperative_matrix_transpose", turned, span=span, matrix=owner.value)
            return Runtime(transposed)
        self.fail("attribute", f"{described(owner)} has no attribute `{node.attr}` in a kernel", span,
                  _attribute_hint(owner, node.attr))  # fmt: skip

    def _known_attribute(self, owner: object, name: str, span: Span) -> Operand:
        """An attribute of a module, a class or an enumeration; other objects may compute theirs."""
        if inspect.ismodule(owner) or isinstance(owner, type | Enum):
            try:
                value = getattr(owner, name)
            except AttributeError:
                own = owner is girih.language
                close = nearest(name, dir(owner), cutoff=0.8 if own else 0.6)
                whose = owner.__name__ if inspect.ismodule(owner) or isinstance(owner, type) else str(owner)
                hint = f"did you mean `{close}`?" if close else None
                if own:
                    other = name if name in INSTEAD else None if hint else nearest(name, INSTEAD, cutoff=0.75)
                    hint = f"write {INSTEAD[other]}" if other else hint or "dir(gl) lists its names"
                self.fail("name", f"{whose} has no `{name}`", span, hint)
            self._capturable(value, name, span)
            return Known(value)
        self.fail("attribute", f"{described_value(owner)} has no attribute `{name}` in a kernel", span)

    def _element_word(self, owner: Operand, span: Span) -> type[WordNumber]:
        """The element type of memory, or the type of a number or of a matrix's components, as a word."""
        memory = owner.memory if isinstance(owner, Part) else owner
        value = memory.value if isinstance(memory, Memory | Runtime) else None
        scalar = element_type(value.type) if value is not None else None
        if scalar is None:
            self.fail("attribute", f"{described(owner)} has no type of elements", span)
        return WORDS_FOR_SCALARS[str(scalar)]

    def _rank_of(self, operand: Operand, span: Span) -> int:
        match operand:
            case Memory() as memory:
                return memory.rank
            case Part(dropped=dropped):
                return dropped.count(False)
            case Runtime(value) if isinstance(value.type, CoopMatrix):
                return 2
            case _:
                group = isinstance(operand, Runtime) and isinstance(operand.type, GroupType)
                hint = "an array has a shape, and an annotation such as gl.Vector[gl.f32]"
                hint = "len(G) is the number of its members, G[i].shape the shape of one" if group else hint
                self.fail("attribute", f"{described(operand)} has no shape", span, hint)

    def extent(self, operand: Operand, axis: int, span: Span) -> Operand:
        """The size of an axis: a literal where it is known while translating. Raises `PythonFault`."""
        if isinstance(operand, Runtime) and isinstance(operand.type, CoopMatrix):
            return Known(operand.type.shape[axis])
        if isinstance(operand, Part):
            kept = [k for k, dropped in enumerate(operand.dropped) if not dropped]
            known = operand.sizes[kept[axis]]
            if known is not None:
                return Known(known)
            written, extent = self._rest(operand, kept[axis])
            if extent is not None:
                return Known(extent)
            return Runtime(written, natural=True) if isinstance(written, Value) else Known(written)
        memory = self.memory(operand, span)
        known = memory.sizes[axis]
        return Known(known) if known is not None else Runtime(self.size(memory, axis, span), natural=True)

    # --- reading ---------------------------------------------------------------------------

    def _on_subscript(self, node: ast.Subscript) -> Operand:
        span = self.span(node)
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            size = self._size_of(node.value, node.slice)
            if size is not None:
                return size
        owner = self.set(self.expression(node.value), self.span(node.value))
        if isinstance(owner, Many | Known):
            return self._item(owner, node)
        if isinstance(owner, Runtime) and isinstance(owner.type, GroupType):
            return self._member(owner.value, owner.type, node)
        return self.picked(owner, node, span)

    def picked(self, owner: Operand, node: ast.Subscript, span: Span) -> Operand:
        """An element or a part of memory. Raises `PythonFault`."""
        part = self.slice_of(owner, node)
        if all(part.dropped):
            return self._element(part, node)
        return part

    def _element(self, part: Part, node: ast.Subscript) -> Operand:
        memory = part.memory
        uses = {"tensor": (self.span(node.value),), "indices": (self.span(node.slice),) * memory.rank}
        (value,) = self.add("load", memory.type.element, span=part.span, uses=uses, tensor=memory.value,
                            indices=self._indices(part))  # fmt: skip
        return Runtime(value)

    def _indices(self, part: Part) -> tuple[Value, ...]:
        values = [self.constant(o, INDEX, part.span) if isinstance(o, int) else o for o in part.offsets]
        return part.memory.in_modes(tuple(values))

    def _size_of(self, owner: ast.Attribute, place: ast.expr) -> Operand | None:
        """`X.shape[k]`, for which no other size is computed; None where X is no array."""
        found = self.set(self.expression(owner.value), self.span(owner.value))
        if not isinstance(found, Memory | Part):
            return None if isinstance(found, Known) else self._shape_item(found, owner, place)
        return self._shape_item(found, owner, place)

    def _shape_item(self, owner: Operand, node: ast.Attribute, place: ast.expr) -> Operand:
        owner = self.computed(owner, self.span(node)) if isinstance(owner, MatrixProduct) else owner
        rank = self._rank_of(owner, self.span(node))
        axis = self.known_integer(self.expression(place), "the number of an axis", self.span(place))
        if not -rank <= axis < rank:
            self.fail("index", f"there are {rank} axes, found number {axis}", self.span(place),
                      f"the last one has number {rank - 1}")  # fmt: skip
        return self.extent(owner, axis % rank, self.span(node))

    def _item(self, owner: Many | Known, node: ast.Subscript) -> Operand:
        items = owner.items if isinstance(owner, Many) else owner.value
        if isinstance(owner, Known) and is_kernel(owner.value):
            refused = refused_callee(owner.value, ast.unparse(node.value))
            assert refused is not None
            self.fail("call", refused[0], self.span(node.value), refused[1])
        if not isinstance(items, tuple):
            self.fail("index", f"{described(owner)} has no elements", self.span(node),
                      "arrays, groups and tuples have elements")  # fmt: skip
        if isinstance(node.slice, ast.Slice):
            self.fail("slice", "a tuple is taken apart by its items", self.span(node.slice), "write (t[0], t[1])")
        which = self.expression(node.slice)
        if isinstance(which, Runtime):
            self.fail("constant", f"the place in a tuple must be known while the kernel is translated, found "
                      f"{described(which)}", self.span(node.slice),
                      "an array has elements at numbers of run time: gl.local(shape, dtype)")  # fmt: skip
        place = self.known_integer(which, "the place in a tuple", self.span(node.slice))
        if not -len(items) <= place < len(items):
            self.fail("index", f"the tuple has {len(items)} items, found place {place}", self.span(node.slice))
        found = items[place]
        return found if isinstance(owner, Many) else Known(found)

    def _member(self, group: Value, type: GroupType, node: ast.Subscript) -> Operand:
        if isinstance(node.slice, ast.Tuple | ast.Slice):
            self.fail("index", "a group has one index, the number of a member", self.span(node.slice),
                      "write A[i][j]: the member, then its element")  # fmt: skip
        place = self.index(self.expression(node.slice), self.span(node.slice), "the number of a member")
        uses = {"tensor": (self.span(node.value),), "indices": (self.span(node.slice),)}
        (member,) = self.add("load", type.memref, span=self.span(node), uses=uses, tensor=group, indices=(place,))
        return Memory(member, self.axes_of_members(group))

    @abstractmethod
    def axes_of_members(self, group: Value) -> tuple[int, ...]:
        """The axes of the modes of a group's members."""

    # --- slices ----------------------------------------------------------------------------

    def slice_of(self, owner: Operand, node: ast.Subscript) -> Part:
        """What stands in brackets behind memory, or behind a slice of it. Raises `PythonFault`."""
        span = self.span(node)
        if not isinstance(owner, Memory | Part):
            why = "is no memory" if isinstance(owner, Many) else "has no elements that can be picked out"
            self.fail("index", f"{described(owner)} {why}", span,
                      self._no_elements_hint(owner, node.value))  # fmt: skip
        base = self.part(owner, span)
        kept = [axis for axis, dropped in enumerate(base.dropped) if not dropped]
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for place in places:
            if isinstance(place, ast.Constant) and place.value is None:
                self.fail("index", "a new axis has no meaning in a kernel", self.span(place),
                          "write gl.expand(X, axis, (1, n)) for a view with an axis of size 1")  # fmt: skip
        if len(places) > len(kept):
            axes = f"{len(kept)} {'axis' if len(kept) == 1 else 'axes'}"
            self.fail("index", f"the array has {axes}, found {len(places)} indices", self.span(node.slice),
                      "write one index or slice for each axis, or annotate the parameter with its rank")  # fmt: skip
        found = [self._place(base, axis, place, node.value) for axis, place in zip(kept, places, strict=False)]
        if any(_may_leave(base, axis, *place) for axis, place in zip(kept, found, strict=False)):
            base = self.part(self._view_of(base), base.span)
            kept = list(range(len(kept)))
        offsets, sizes, dropped = list(base.offsets), list(base.sizes), list(base.dropped)
        for axis, place, (offset, size, dropped[axis]) in zip(kept, places, found, strict=False):
            offsets[axis] = self._shifted(base.offsets[axis], offset, self.span(place))
            sizes[axis] = size
        return Part(base.memory, tuple(offsets), tuple(sizes), tuple(dropped), span)

    def _view_of(self, part: Part) -> Memory:
        """The subview of a slice, one for all its uses that follow in a region."""
        key = ("view", part.memory.value, part.offsets, part.sizes, part.dropped)
        value = self.once(key, lambda: (self.subview(part).value,))
        return Memory(value, _left_of(part))

    def _no_elements_hint(self, owner: Operand, node: ast.expr) -> str | None:
        if isinstance(owner, Runtime) and isinstance(owner.type, CoopMatrix):
            return "a matrix is held by many work-items: use gl.apply, or memory, gl.local(shape, dtype)"
        if isinstance(owner, Many):
            return "a tuple stays as it is, and is picked from by constants; memory is gl.local(shape, dtype)"
        if isinstance(owner, Runtime):
            return f"`{ast.unparse(node)}` is one number: an array has an annotation such as gl.Vector[gl.f32]"
        return None

    def _shifted(self, first: Index, second: Index, span: Span) -> Index:
        if first == 0:
            return second
        if isinstance(first, int) and isinstance(second, int):
            return first + second
        if second == 0 and isinstance(second, int):
            return first
        a, b = (self.constant(x, INDEX, span) if isinstance(x, int) else x for x in (first, second))
        (both,) = self.add("add", INDEX, span=span, a=a, b=b)
        return both

    def _place(self, base: Part, axis: int, node: ast.expr, owner: ast.expr) -> tuple[Index, int | None, bool]:
        """Offset, size and whether the axis is dropped, for what stands in brackets for it."""
        span = self.span(node)
        if isinstance(node, ast.Slice):
            offset, size = self._range(base, axis, node, owner)
            return offset, size, False
        if isinstance(node, ast.Constant) and node.value is ...:
            self.fail("index", "`...` has no meaning in a kernel", span, "write `:` for each axis: X[:, :]")
        operand = self.expression(node)
        value = self.literal(operand)
        size_known = base.sizes[axis]
        if isinstance(value, int) and not isinstance(value, bool) and value < 0:
            last = (
                f"{size_known + value}" if size_known is not None else f"{ast.unparse(owner)}.shape[{axis}] - {-value}"
            )
            self.fail("index", f"an index counts from 0, found {value}", span, f"the last elements are at {last}")
        self._integer(operand, span)
        return self.position(operand, span), None, True

    def _integer(self, operand: Operand, span: Span) -> None:
        value = literal_of(operand.value) if isinstance(operand, Known) else 0
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail("index", f"an index is an integer, found {described(operand)}", span,
                      "divide with `//`, which gives an integer" if isinstance(value, float) else None)  # fmt: skip

    def _range(self, base: Part, axis: int, node: ast.Slice, owner: ast.expr) -> tuple[Index, int | None]:
        """Offset and size of a slice; a size of None is the rest of the axis."""
        span = self.span(node)
        step = 1 if node.step is None else literal_of(self.known(self.expression(node.step), "a step", span))
        if step != 1 or isinstance(step, bool):
            self.fail("slice", f"the step of a slice is 1, found {ast.unparse(node.step or node)}", span,
                      "take more elements than are needed, or loop")  # fmt: skip
        offset: Index = 0
        for end, what in ((node.lower, "begin"), (node.upper, "end")):
            number = None if end is None else self._literal_integer(end)
            if end is not None and number is not None and number < 0:
                self.fail("index", f"the {what} of a slice counts from 0, found {number}", self.span(end),
                          _from_the_end(ast.unparse(owner), axis, what, -number))  # fmt: skip
        if node.lower is not None:
            lower = self.expression(node.lower)
            self._integer(lower, self.span(node.lower))
            offset = self.position(lower, self.span(node.lower), "the begin of a slice")
        if node.upper is None:
            return offset, self._rest_of(base, axis, offset)
        length = self._length(node.lower, node.upper)
        if length is None:
            self.fail("slice", "the length of a slice is a constant", span,
                      "write the begin and a number: X[i:i + 32]; for a length that is known at run time only, "
                      "gl.subview(X, i, n)")  # fmt: skip
        if length < 0:
            self.fail("slice", f"a slice does not end before it begins, found a length of {length}", span,
                      "write the smaller number first: X[begin:end]")  # fmt: skip
        return offset, length

    def _rest_of(self, base: Part, axis: int, offset: Index) -> int | None:
        """The size of what lies behind an offset in a slice; None for all that is left of the memory's axis."""
        size = base.sizes[axis]
        if size is not None and isinstance(offset, int):
            return max(size - offset, 0)
        if size is None or (base.offsets[axis] == 0 and size == base.memory.sizes[axis]):
            return None
        self.fail("slice", "the length of a slice is a constant", base.span)

    def _length(self, lower: ast.expr | None, upper: ast.expr) -> int | None:
        """The length of a slice: the difference of its ends, where that is known."""
        first = ({}, 0) if lower is None else self._linear(lower)
        last = self._linear(upper)
        if first is None or last is None:
            return None
        terms = {key: last[0].get(key, 0) - first[0].get(key, 0) for key in (*first[0], *last[0])}
        return last[1] - first[1] if not any(terms.values()) else None

    def _linear(self, node: ast.expr) -> Linear | None:
        """An index as a sum of other expressions and a number; None where it is too large."""
        value = self._literal_integer(node)
        if value is not None:
            return {}, value
        if isinstance(node, ast.BinOp):
            a, b = self._linear(node.left), self._linear(node.right)
            if a is None or b is None:
                return None
            if isinstance(node.op, ast.Add | ast.Sub):
                sign = 1 if isinstance(node.op, ast.Add) else -1
                terms = {key: a[0].get(key, 0) + sign * b[0].get(key, 0) for key in (*a[0], *b[0])}
                return terms, a[1] + sign * b[1]
            if isinstance(node.op, ast.Mult) and (not a[0] or not b[0]):
                factor, other = (a[1], b) if not a[0] else (b[1], a)
                return {key: factor * count for key, count in other[0].items()}, factor * other[1]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._linear(node.operand)
            return None if inner is None else ({k: -n for k, n in inner[0].items()}, -inner[1])
        return {ast.dump(node): 1}, 0

    def _literal_integer(self, node: ast.expr) -> int | None:
        """The integer that a literal, or a name of one, stands for."""
        if isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.BinOp | ast.UnaryOp | ast.Subscript):
            operand = self.known_only(node)
            value = literal_of(operand.value) if isinstance(operand, Known) and not operand.varies else None
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    def known_only(self, node: ast.expr) -> Operand | None:
        """What an expression of literals and names stands for, without adding an instruction; None where it would."""
        if any(not isinstance(n, _PLAIN) for n in ast.walk(node)):
            return None
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        if not all(isinstance(self.scope.lookup(n.id), Known) for n in names):
            return None
        return self.expression(node)

    # --- writing ---------------------------------------------------------------------------

    def store(self, node: ast.Subscript, operand: Operand, at: Span, span: Span) -> None:
        """What an assignment to elements does. Raises `PythonFault`."""
        owner = self.set(self.expression(node.value), self.span(node.value))
        part = self.slice_of(owner, node)
        self.store_in(part, node, operand, at, span)

    def store_in(self, part: Part, node: ast.Subscript, operand: Operand, at: Span, span: Span) -> None:
        """Store a number to an element, or a matrix to a tile. Raises `PythonFault`."""
        memory = part.memory
        if all(part.dropped):
            value = self.value(operand, memory.type.element, at)
            uses = {"value": (at,), "tensor": (self.span(node.value),),
                    "indices": (self.span(node.slice),) * memory.rank}  # fmt: skip
            self.add("store", span=span, uses=uses, value=value, tensor=memory.value, indices=self._indices(part))
            return
        operand = self.set(operand, at)
        if isinstance(operand, Known) or (isinstance(operand, Runtime) and not isinstance(operand.type, CoopMatrix)):
            self.fail("assignment", f"a view takes a matrix, found {described(operand)}", at,
                      "fill a tile with gl.full(shape, value, type), or loop over the elements")  # fmt: skip
        if isinstance(operand, Memory | Part) and self.is_collective:
            self.fail("assignment", "the work-group copies an array with a word", at,
                      "write gl.axpby(1.0, source, 0.0, target)")  # fmt: skip
        matrix = self.matrix(operand, at)
        self.stored(part, matrix, at, span)

    def stored(self, part: Part, matrix: Value, at: Span, span: Span, check: Checked | None = None) -> None:
        """Store a matrix to a tile of its shape; `check` is as for loads. Raises `PythonFault`."""
        type = matrix.type
        assert isinstance(type, CoopMatrix)
        place, (rows, columns), memory = self.tile(part, part.span, "stored to as a matrix")
        if type.shape != (rows, columns):
            self.fail("types", f"the view is {rows} x {columns}, the matrix {type.rows} x {type.columns}",
                      span, None, ((part.span, "the view"), (at, "the matrix")))  # fmt: skip
        self.add("cooperative_matrix_store", span=span, uses={"matrix": (at,), "memory": (part.span,)}, matrix=matrix,
                 checked=check or checks(memory), **place)  # fmt: skip


def _left_of(part: Part) -> tuple[int, ...]:
    """The axes of the subview of a slice, by modes."""
    kept = [axis for axis in part.memory.axes if not part.dropped[axis]]
    return tuple(sorted(kept).index(axis) for axis in kept)


def _may_leave(base: Part, axis: int, offset: Index, size: int | None, is_index: bool) -> bool:
    """Whether an index or a slice of an axis may lie outside of a slice, and yet in its memory.

    What `gl.checked` memory has outside is for tiles to reach over, also from a slice.
    """
    limit, memory = base.sizes[axis], base.memory
    if memory.checked or (base.offsets[axis] == 0 and limit == memory.sizes[axis]):
        return False
    if not isinstance(offset, int):
        return True
    return limit is not None and offset + (1 if is_index else size or 0) > limit


def _from_the_end(name: str, axis: int, what: str, distance: int) -> str:
    """What to write for an end of a slice that is counted from the end."""
    place = f"{name}.shape[{axis}] - {distance}"
    if what == "begin":
        return f"count from the end with the size: {place}"
    return f"for a length that is known at run time only, write gl.subview({name}, 0, {place})"


def _attribute_hint(owner: Operand, name: str) -> str | None:
    """What to write in place of an attribute that values of kernels have not got."""
    if name == "size":
        return "multiply the entries of X.shape"
    if name in ("real", "imag"):
        scalar = element_type(owner.type) if isinstance(owner, Runtime) else None
        if not (isinstance(scalar, Number) and scalar.family == "complex"):
            return "complex numbers have parts: gl.real(z), gl.imag(z)"
        return f"write gl.{name}(z)"
    close = nearest(name, ("shape", "ndim", "dtype", "T"))
    return f"did you mean `{close}`?" if close else method_hint(owner, name)


def method_hint(owner: Operand, name: str) -> str | None:
    """What to write in place of a method of NumPy's arrays."""
    in_memory = isinstance(owner, Memory | Part)
    if in_memory and name in _OF_ARRAYS:
        return _OF_ARRAYS[name]
    if callable(getattr(girih.language, name, None)):
        return f"write gl.{name}(...)"
    return f"write {INSTEAD[name]}" if name in INSTEAD else None


_OF_ARRAYS = {
    "sum": "add in a loop, s += X[i]; of a tile gl.sum(m, axis=1); by the work-group gl.sum(1.0, X, 0.0, result)",
    "mean": "add in a loop, and divide by the size: s / gl.f32(X.shape[0])",
    "max": "compare in a loop, m = max(m, X[i]); of a tile gl.max(m, axis=1)",
    "min": "compare in a loop, m = min(m, X[i]); of a tile gl.min(m, axis=1)",
    "fill": "store in a loop, or a tile: X[i:i + 16, j:j + 16] = gl.full((16, 16), 0.0, gl.f32)",
    "copy": "gl.axpby(1.0, source, 0.0, target) copies an array; a tile that is kept is gl.load(X[...])",
    "transpose": "write X.T",
    "item": "write the index: X[0]",
    "tolist": "store to an array",
    "dot": "write a @ b of tiles, or gl.gemm(alpha, A, B, beta, C)",
    "astype": "convert each element, gl.f32(X[i]), or a tile: gl.cast(m, gl.f32)",
}
"""What to write in place of methods of NumPy's arrays."""

_PLAIN = (
    ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context,
    ast.Subscript, ast.Tuple,
)  # fmt: skip
