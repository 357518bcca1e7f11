"""Loops: over a range, with the names that they change carried along; over points that are shared out; unrolled."""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from girih.diagnostics import nearest, plural
from girih.front.python.branches import Branches, place_of
from girih.front.python.codes import PythonFault
from girih.front.python.conversions import default_type
from girih.front.python.emission import described
from girih.front.python.operands import Known, Many, MatrixProduct, Memory, Operand, Part, Runtime, Unset
from girih.front.python.scopes import assigned
from girih.ir.core import EMPTY, Dictionary, Entry, RegionKind, Value, is_name
from girih.ir.hints import LOOP_HINTS
from girih.ir.types import INDEX, Boolean, CoopMatrix, Number, Type
from girih.language.words import WORD
from girih.lazy_dataclass import dataclass
from girih.source import Span

RANGE_HINTS = ("unroll", *LOOP_HINTS)
"""The keywords of `gl.range`."""

MOST_UNROLLED = 4096
"""A loop that is unrolled has at most as many iterations."""


@dataclass(frozen=True, slots=True)
class _Guess:
    """The type that a loop gives to a literal; not `certain` where it is that by default; `unchanged` by the loop."""

    type: Type
    certain: bool
    unchanged: bool


class Loops(Branches):
    """The translator's part for loops."""

    defaulted_names: frozenset[str] = frozenset()
    """The names of the loop at hand whose literals nothing gives a type to."""
    carried_types: dict[tuple[object, ...], Type]
    """The types that were found for literals that a loop carries, by the loop, its callers and the name."""

    def loop(self, node: ast.For) -> None:
        """A `for` statement. Raises `PythonFault`."""
        span = self.span(node.iter)
        if node.orelse:
            self.fail("statement", "`else` of a loop has no meaning in a kernel", self.span(node.orelse[0]),
                      "write what follows behind the loop")  # fmt: skip
        if not isinstance(node.iter, ast.Call):
            return self._unrolled(node, self._items(self.expression(node.iter), span))
        callee = self.expression(node.iter.func)
        function = callee.value if isinstance(callee, Known) else None
        word = getattr(function, WORD, None)
        if function is builtins.range or word == "range":
            hints = self._hints(node.iter) if word == "range" else EMPTY
            return self._range_loop(node, *self._range_of(node.iter, hints), hints)
        if word == "unroll":
            return self._unrolled(node, self._unrolled_items(node.iter))
        if word == "foreach":
            return self._foreach(node, node.iter)
        if word == "foreach_tile":
            return self._foreach_tile(node, node.iter)
        found = self.expression(node.iter)
        return self._unrolled(node, self._items(found, span))

    # --- unrolled --------------------------------------------------------------------------

    def _items(self, operand: Operand, span: Span) -> Sequence[Operand]:
        operand = self.set(operand, span)
        if isinstance(operand, Many):
            return operand.items
        if isinstance(operand, Known) and isinstance(operand.value, tuple):
            return [Known(item) for item in operand.value]
        hint = "write for i in range(n), or for i, j in gl.foreach(m, n)"
        if isinstance(operand, Memory | Part):
            hint = f"write for i in range({span.text}.shape[0]), or gl.foreach, and {span.text}[i]"
        elif isinstance(operand, Runtime) or isinstance(self.literal(operand), int):
            hint = f"write for i in range({span.text})"
        self.fail("loop", f"a loop does not go through {described(operand)}", span, hint)

    def _unrolled_items(self, call: ast.Call) -> Sequence[Operand]:
        span = self.span(call)
        if len(call.args) != 1 or call.keywords:
            self.fail("arguments", "gl.unroll takes a range or a tuple", span, "write for k in gl.unroll(range(4))")
        inner = call.args[0]
        if isinstance(inner, ast.Call):
            callee = self.expression(inner.func)
            if isinstance(callee, Known) and callee.value is builtins.range:
                numbers = [self.known_integer(self.expression(a), "a range that is unrolled", self.span(a))
                           for a in inner.args]  # fmt: skip
                if not 1 <= len(numbers) <= 3 or inner.keywords:
                    self.fail("arguments", "range takes one to three numbers", self.span(inner))
                if len(numbers) == 3 and numbers[2] == 0:
                    self.fail("loop", "the step of a range is not 0", self.span(inner))
                return [Known(k) for k in self._few(range(*numbers), span)]
        return self._items(self.expression(inner), span)

    def _few(self, numbers: range, span: Span) -> range:
        if numbers and (numbers[-1] - numbers[0]) // numbers.step >= MOST_UNROLLED:
            self.fail("loop", f"at most {MOST_UNROLLED} iterations are unrolled", span, "write for i in range(n)")
        return numbers

    def _unrolled(self, node: ast.For, items: Sequence[Operand]) -> None:
        """The body once for each item, one after the other."""
        for item in items:
            before = len(self.diagnostics)
            self.assign(node.target, item, self.span(node.iter))
            self.in_loop(node.body)
            if len(self.diagnostics) > before:
                raise PythonFault(None)

    def in_loop(self, body: Sequence[ast.stmt], *, iterates: bool = True) -> None:
        """The statements of a loop or region, where no `return` stands, and in a region no `continue`."""
        may, end = self.scope.may_return, self.scope.loop_end
        self.scope.may_return = False
        self.scope.loop_end = self.scope.live.after.get(body[-1], frozenset()) if iterates else None
        try:
            self.block(body)
        finally:
            self.scope.may_return, self.scope.loop_end = may, end

    # --- over a range ----------------------------------------------------------------------

    def _hints(self, call: ast.Call) -> Dictionary:
        """The hints of `gl.range`, its keywords. Raises `PythonFault` for one that there is not."""
        entries: list[Entry] = []
        for keyword in call.keywords:
            span = self.span(keyword)
            if keyword.arg not in RANGE_HINTS:
                close = nearest(keyword.arg, RANGE_HINTS) if keyword.arg else None
                listed = f"the hints of a loop are {', '.join(RANGE_HINTS)}"
                self.fail("arguments", f"gl.range has no hint `{keyword.arg}`", span,
                          f"did you mean `{close}`?" if close else listed)  # fmt: skip
            value = self.known(self.expression(keyword.value), f"the hint `{keyword.arg}`", span)
            if not isinstance(value, bool | int):
                self.fail("arguments", f"a hint of a loop is an integer, True or False, found {value!r}", span)
            entries.append(Entry(keyword.arg, value, span=span))
        return Dictionary(tuple(entries), self.span(call))

    def _range_of(self, call: ast.Call, hints: Dictionary) -> tuple[Operand, Operand, Operand | None, tuple[Span, ...]]:
        """Start, stop and step of a range, and the places of start and stop."""
        span = self.span(call)
        if not 1 <= len(call.args) <= 3 or (call.keywords and not hints):
            count = len(call.args) + len(call.keywords)
            self.fail("arguments", f"range takes one to three numbers, found {count}", span,
                      "write range(n), range(begin, end) or range(begin, end, step)")  # fmt: skip
        operands = [self.set(self.expression(a), self.span(a)) for a in call.args]
        places = [self.span(a) for a in call.args]
        for operand, at in zip(operands, places, strict=True):
            value = self.open_literal(operand)
            integer = isinstance(value, int) and not isinstance(value, bool)
            scalar = operand.type if isinstance(operand, Runtime) else None
            if not integer and not (isinstance(scalar, Number) and scalar.family == "integer"):
                self.fail("loop", f"a range goes from integer to integer, found {described(operand)}", at,
                          self._range_hint(operand, at))  # fmt: skip
        start, at = (operands[0], places[0]) if len(operands) > 1 else (Known(0), places[0])
        stop, behind = (operands[1], places[1]) if len(operands) > 1 else (operands[0], places[0])
        step = operands[2] if len(operands) == 3 else None
        number = self.literal(step) if step is not None else 1
        if isinstance(number, int) and number <= 0:
            self.fail("loop", f"the step of a range is positive, found {number}", places[-1],
                      "go upwards, and compute what counts down: n - 1 - i")  # fmt: skip
        return start, stop, step if number != 1 else None, (at, behind, places[-1])

    def _range_hint(self, operand: Operand, at: Span) -> str | None:
        """What to write for a bound of a range that is no integer."""
        value = self.open_literal(operand)
        if isinstance(value, bool):
            return f"{at.text} is a truth value: give it an integer"
        if isinstance(value, float):
            return f"write {int(value)}" if value.is_integer() else "divide with `//`, which gives an integer"
        if isinstance(operand, Memory | Part):
            return f"write range({at.text}.shape[0])"
        return f"convert it: gl.index({at.text})" if isinstance(operand, Runtime) else "give it an integer"

    def _range_loop(
        self, node: ast.For, start: Operand, stop: Operand, step: Operand | None, places: tuple[Span, ...],
        hints: Dictionary,
    ) -> None:  # fmt: skip
        if not isinstance(node.target, ast.Name):
            self.fail("loop", "a range gives one number", self.span(node.target),
                      "write one name; points have several: for i, j in gl.foreach(m, n)")  # fmt: skip
        first, last = self.same(start, stop, (places[0], places[1]), "`range`")
        distance = self.value(step, first.type, places[2]) if step is not None else None
        carried = self._carried(node)
        natural = self._natural(start)
        types = self._types_of_carried(node, carried, first.type)
        missing = [name for name in carried if name not in types]
        same = frozenset(name for name in missing if self.open_literal(self.scope.names[name]) is not None)
        initial: list[Value] = []
        kept: list[str] = []
        for name in carried:
            if name in types:
                initial.append(self.value(self.scope.names[name], types[name], self.span(node)))
                kept.append(name)
        inner_values = [Value(name if is_name(name) else "", types[name], self.span(node)) for name in kept]
        by_default = self.defaulted_names
        self.defaulted |= {value: name for name, value in zip(kept, inner_values, strict=True) if name in by_default}
        variable = Value(node.target.id if is_name(node.target.id) else "", first.type, self.span(node.target))
        before = dict(self.scope.names)
        body = place_of(node.body, self.span, self.span(node))
        with self.region() as builder:
            self._enter(node, dict(zip(kept, inner_values, strict=True)), Runtime(variable, natural), same)
            self.in_loop(node.body)
            self._yield_carried(kept, types, before, body)
        behind = dict(self.scope.names)
        uses = {"start": (places[0],), "stop": (places[1],), "step": (places[2],)}
        head = Span(body.source, self.span(node).start, self.span(node.iter).end)
        results = self.add("for", *(types[name] for name in kept), span=head, uses=uses, variable=variable, start=first,
                           stop=last, step=distance, carried=tuple(inner_values), initial=tuple(initial),
                           body=builder.region(body), hints=hints)  # fmt: skip
        self.scope.names = before
        for name in assigned([node]) - same:
            self.scope.names[name] = self._behind(name, behind.get(name), node)
        for name, result in zip(kept, results, strict=True):
            result.name = name if is_name(name) else ""
            self.scope.names[name] = Runtime(result)
            if name in by_default:
                self.defaulted[result] = name

    def _behind(self, name: str, operand: Operand | None, node: ast.For) -> Operand:
        """What a name that a loop set, and does not carry, stands for behind it."""
        if isinstance(operand, Unset):
            return operand
        what = "the variable of a loop" if name in assigned([node.target]) else f"`{name}`"
        return Unset(
            "unset",
            f"{what} is not set behind the loop, which may have no iteration",
            f"set it before the loop: {name} = ...",
            ((self.span(node.target), "the loop"),),
        )

    def _carried(self, node: ast.For) -> list[str]:
        """The names that have a value before a loop, are set in it, and are read in a later iteration or behind it."""
        live = self.scope.live.before.get(node, frozenset()) | self.scope.live.after.get(node, frozenset())
        names = (assigned(node.body) - assigned([node.target])) & live
        return sorted(name for name in names if name in self.scope.names)

    def _enter(self, node: ast.For, carried: dict[str, Value], variable: Operand, same: frozenset[str]) -> None:
        """Set the names as an iteration finds them; literals that it does not change are what they are."""
        for name in assigned(node.body) - same:
            if name in carried:
                self.scope.names[name] = Runtime(carried[name])
            else:
                self.scope.names[name] = self._before_first(name, self.scope.names.get(name), node)
        assert isinstance(node.target, ast.Name)
        self.scope.names[node.target.id] = variable

    def _before_first(self, name: str, earlier: Operand | None, node: ast.For) -> Operand:
        """What a name that is set in a loop, and not carried, stands for at the begin of an iteration."""
        if isinstance(earlier, Unset) and not earlier.message:
            return earlier
        if earlier is None or isinstance(earlier, Unset):
            return Unset(
                "unset", f"`{name}` is not set in the first iteration", f"set it before the loop: {name} = ..."
            )
        return Unset(
            "carried",
            f"`{name}` is {described(earlier)}, which a loop does not hand on to the next iteration",
            "index memory with numbers that the loop changes",
            ((self.span(node.target), "the loop"),),
        )

    def _types_of_carried(self, node: ast.For, carried: list[str], variable: Type) -> dict[str, Type]:
        """The types of names that a loop carries; names that it cannot carry, or does not change, are missing."""
        types: dict[str, Type] = {}
        for name in carried:
            operand = self.scope.names[name]
            if isinstance(operand, MatrixProduct):
                operand = self.scope.names[name] = self.computed(operand, operand.span)
            if isinstance(operand, Runtime) and isinstance(operand.type, Number | Boolean | CoopMatrix):
                types[name] = operand.type
        waiting = [name for name in carried if self.open_literal(self.scope.names[name]) is not None]
        self.defaulted_names = frozenset()
        keys = {name: (node, *(at for *_, at in self.active), name) for name in waiting}
        types |= {name: self.carried_types[keys[name]] for name in waiting if keys[name] in self.carried_types}
        waiting = [name for name in waiting if name not in types]
        while waiting:
            found = self._tried(node, types, waiting, variable)
            # Names whose type is certain may decide the others'.
            certain = {name: guess.type for name, guess in found.items() if guess.certain}
            self.carried_types |= {keys[name]: type for name, type in certain.items()}
            by_default = {name: guess.type for name, guess in found.items() if not guess.unchanged}
            types |= certain or by_default
            self.defaulted_names = frozenset() if certain else frozenset(by_default)
            waiting = [name for name in waiting if name not in types] if certain else []
        return types

    def _tried(self, node: ast.For, types: dict[str, Type], names: list[str], variable: Type) -> dict[str, _Guess]:
        """The types that the body of a loop gives to literals; it is translated for this, and thrown away."""
        before = dict(self.scope.names)
        count, said = len(self.builder.ops), list(self.diagnostics)
        literals = {name: Known(self.open_literal(before[name]), varies=True) for name in names}
        try:
            with self.region():
                values = {name: Value("", type) for name, type in types.items()}
                self._enter(node, values, Runtime(Value("", variable)), frozenset(names))
                self.scope.names.update(literals)
                self.in_loop(node.body)
                behind = {name: self.scope.names.get(name) for name in names}
        finally:
            self.scope.names = before
            del self.builder.ops[count:]
            self.diagnostics = said
        return {name: self._guess(literals[name], behind[name]) for name in names}

    def _guess(self, literal: Known, operand: Operand | None) -> _Guess:
        if isinstance(operand, Runtime) and isinstance(operand.type, Number | Boolean | CoopMatrix):
            return _Guess(operand.type, certain=operand.value not in self.defaulted, unchanged=False)
        first = self.open_literal(literal)
        value = self.open_literal(operand) if operand is not None else None
        assert first is not None
        wider = value if isinstance(first, int) and isinstance(value, float | complex) else first
        return _Guess(default_type(wider), certain=False, unchanged=operand is literal)

    def _yield_carried(self, kept: list[str], types: dict[str, Type], before: dict[str, Operand], span: Span) -> None:
        """End an iteration with the values of the names that it hands on."""
        if not kept:
            return
        values = [self._handed_on(name, types[name], before[name], span) for name in kept]
        self.add("yield", span=span, values=tuple(values))

    def _handed_on(self, name: str, type: Type, earlier: Operand, span: Span) -> Value:
        operand = self.scope.names.get(name, Unset())
        try:
            if isinstance(operand, Runtime) and operand.type != type:
                made = operand.value.span
                first = earlier.value.span if isinstance(earlier, Runtime) else span
                labels = ((made, f"here it is {described(operand)}"), (first, f"before the loop it is {type}"))
                self.fail("two_types", f"`{name}` is {type} before the loop, {described(operand)} behind an iteration",
                          made, f"convert it: {name} = gl.{type}(...)", labels)  # fmt: skip
            return self.value(operand, type, span)
        except PythonFault as found:
            self.report(found)
            return Value("", type, span)

    # --- over points -----------------------------------------------------------------------

    def _bounds(self, operands: Sequence[ast.expr]) -> tuple[list[Value], list[Value], list[bool]]:
        """First values and ends of a box, and whether none of its points is negative."""
        starts: list[Value] = []
        stops: list[Value] = []
        natural: list[bool] = []
        for found, span in self.spread_out(operands):
            ends = found.items if isinstance(found, Many) else (Known(0), found)
            if len(ends) != 2:
                self.fail("loop", f"a bound is a size or a pair of begin and end, found {len(ends)} numbers", span,
                          "write gl.foreach(*X.shape) for all points of an array")  # fmt: skip
            for end in ends:
                self._refuse_bound(end, span)
            if all(self.literal(e) is not None for e in ends):
                first, last = (self.value(e, INDEX, span) for e in ends)
            else:
                first, last = self.same(ends[0], ends[1], (span, span), "a bound")
            starts.append(first)
            stops.append(last)
            natural.append(self._natural(ends[0]))
        return starts, stops, natural

    def _refuse_bound(self, operand: Operand, span: Span) -> None:
        """Refuse a bound of points that is no integer."""
        operand = self.set(operand, span)
        value = self.open_literal(operand)
        scalar = operand.type if isinstance(operand, Runtime) else None
        integer = isinstance(value, int) and not isinstance(value, bool)
        if not integer and not (isinstance(scalar, Number) and scalar.family == "integer"):
            self.fail("loop", f"a bound is an integer, found {described(operand)}", span,
                      self._range_hint(operand, span))  # fmt: skip

    def _targets(self, node: ast.expr, count: int) -> list[ast.Name]:
        names = node.elts if isinstance(node, ast.Tuple) else [node]
        found = [name for name in names if isinstance(name, ast.Name)]
        if len(found) != count or len(names) != count:
            self.fail(
                "loop",
                f"there is a name for each of {plural(count, 'number')} of a point, found {ast.unparse(node)}",
                self.span(node),
                f"write for {', '.join('ijklm'[:count])} in ...; gl.foreach(*X.shape) goes through all of an array",
            )
        return found

    def _foreach(self, node: ast.For, call: ast.Call) -> None:
        if not call.args or call.keywords:
            self.fail("arguments", "gl.foreach takes a size for each variable", self.span(call),
                      "write gl.foreach(m, n); begin and end are a pair: gl.foreach((begin, end))")  # fmt: skip
        starts, stops, natural = self._bounds(call.args)
        targets = self._targets(node.target, len(starts))
        variables = [
            Value(t.id if is_name(t.id) else "", s.type, self.span(t)) for t, s in zip(targets, starts, strict=True)
        ]
        names: dict[str, Operand] = {t.id: Runtime(v, n) for t, v, n in zip(targets, variables, natural, strict=True)}
        self.shared_out(node, "foreach", names, variables=tuple(variables), start=tuple(starts), stop=tuple(stops))

    def _foreach_tile(self, node: ast.For, call: ast.Call) -> None:
        """`for (i, j), (m, n) in gl.foreach_tile(M, N, tile=(32, 16))`."""
        span = self.span(call)
        if not call.args or [keyword.arg for keyword in call.keywords] != ["tile"]:
            self.fail("arguments", "gl.foreach_tile takes a size for each variable, and the shape of a tile", span,
                      "gl.foreach_tile(m, n, tile=(32, 16))")  # fmt: skip
        tile = call.keywords[0].value
        starts, stops, natural = self._bounds(call.args)
        shape = self.known(self.expression(tile), "the shape of a tile", self.span(tile))
        shape = shape if isinstance(shape, tuple) else (shape,)
        sizes = [n for n in shape if isinstance(n, int) and not isinstance(n, bool)]
        if len(sizes) != len(starts) or len(shape) != len(starts):
            self.fail("loop", f"the tile has an integer for each of {len(starts)} bounds", self.span(tile))
        if not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2:
            self.fail("loop", "a tile has a first point and sizes: for (i, j), (m, n) in ...", self.span(node.target))
        groups = [self._targets(t, len(starts)) for t in node.target.elts]
        types = [s.type for s in starts]
        made = [
            [Value(t.id if is_name(t.id) else "", k, self.span(t)) for t, k in zip(g, types, strict=True)]
            for g in groups
        ]
        names: dict[str, Operand] = {t.id: Runtime(v, n) for t, v, n in zip(groups[0], made[0], natural, strict=True)}
        names |= {t.id: Runtime(v, natural=True) for t, v in zip(groups[1], made[1], strict=True)}
        self.shared_out(node, "foreach_tile", names, variables=tuple(made[0]), start=tuple(starts), stop=tuple(stops),
                        sizes=tuple(made[1]), tile_shape=tuple(sizes))  # fmt: skip

    def shared_out(self, node: ast.For | ast.With, mnemonic: str, names: dict[str, Operand], **fields: Any) -> None:
        """A region that work-items execute, in which some names are set; what it sets is their own."""
        before = dict(self.scope.names)
        body = place_of(node.body, self.span, self.span(node))
        with self.region(RegionKind.SPMD) as builder:
            if mnemonic != "parallel":
                for name in assigned(node.body) & set(before):
                    self.scope.names[name] = self._unordered(name, before[name])
            self.scope.names.update(names)
            self.in_loop(node.body, iterates=mnemonic != "parallel")
        last = node.iter if isinstance(node, ast.For) else node.items[0].context_expr
        head = Span(body.source, self.span(node).start, self.span(last).end)
        self.add(mnemonic, span=head, body=builder.region(body), **fields)
        self.scope.names = before
        for name in assigned([node]):
            self.scope.names[name] = Unset(
                "unset",
                f"each work-item has its own `{name}`: it ends with the region that sets it",
                "store it to memory, or reduce it",
                ((head, "the region"),),
            )

    def _unordered(self, name: str, earlier: Operand) -> Operand:
        if isinstance(earlier, Unset):
            return earlier
        return Unset(
            "points",
            f"`{name}` is set at one point of a `foreach` and read at another, and points have no order",
            "add with gl.atomic_add, reduce over the work-items, or loop over a range",
        )

    @abstractmethod
    def assign(self, target: ast.expr, operand: Operand, at: Span) -> None:
        """Assign to a name, a tuple of names, or elements."""
