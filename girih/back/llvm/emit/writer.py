"""One function of LLVM IR, written instruction by instruction.

Pure instructions are folded where their operands are constants, written once where they repeat, and written in front of
the outermost loop in which their operands do not change. What comes out needs no further clean-up by LLVM's optimiser:
there are no memory cells for values, no redundant address arithmetic, and every loop is a loop of phis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from girih.back.llvm.emit.folding import COMMUTES, COMPARES, FOLDS, combined, compared, converted, neutral
from girih.back.llvm.emit.text import ModuleText, Operand, Val, bits, integer, lanes, mangled, poison, scalar, wide

Lines = list["str | Lines"]


@dataclass(slots=True)
class _Scope:
    """Values and facts known at a place."""

    known: dict[tuple[str, ...], Val] = field(default_factory=dict)
    noted: set[tuple[str, ...]] = field(default_factory=set)


@dataclass(slots=True)
class Loop:
    """An open loop: the index and the values that go from one iteration to the next.

    Set `following` before the loop is closed; afterwards `results` are the values after the last iteration.
    """

    index: Val
    values: tuple[Val, ...]
    following: Sequence[Val] = ()
    results: tuple[Val, ...] = ()


_HOISTED = 96
"""How many instructions are written in front of a loop at most."""


class Writer:
    """A function in the making."""

    def __init__(self, module: ModuleText, header: str) -> None:
        """`header` is the line of the definition, up to and without the opening brace."""
        self.module = module
        self.location = ""
        self._header = header
        self._lines: Lines = []
        self._out = self._lines
        self._cold: Lines = []
        self._number = 0
        self._block = "entry"
        self._scopes = [_Scope()]
        self._preheaders: list[tuple[Lines, _Scope]] = []
        self._floor = 0
        self._ones: Val | None = None
        self._weights: dict[str, str] = {}
        self.label("entry")
        self._entry: Lines = []
        self._out.append(self._entry)

    # --- writing -------------------------------------------------------------------------

    @property
    def level(self) -> int:
        """How many loops are open."""
        return len(self._preheaders)

    def name(self, prefix: str = "v") -> str:
        """A fresh name without its sigil."""
        self._number += 1
        return f"{prefix}{self._number}"

    def label(self, name: str) -> None:
        """Begin a block."""
        self._out.append(f"{name}:")
        self._block = name

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self._out.append(f"  {text}{self.location}")

    def effect(self, type: str, text: str) -> Val:
        """An instruction with a result that stays where it is: a load, a call that does something."""
        held = Val(f"%{self.name()}", type, self.level)
        self._out.append(f"  {held.text} = {text}{self.location}")
        return held

    def pure(self, type: str, text: str, operands: Sequence[Val], *, stays: bool = False) -> Val:
        """An instruction whose result depends on its operands only; `stays` where it costs nothing next to its use."""
        key = (type, text)
        for scope in reversed(self._scopes):
            found = scope.known.get(key)
            if found is not None:
                return found
        level = self.level if stays else max(self._outermost(operands), self._floor)
        held = Val(f"%{self.name()}", type, level)
        line = f"  {held.text} = {text}{self.location}"
        if level < self.level:
            before, scope = self._preheaders[level]
            before.append(line)
        else:
            scope = self._scopes[-1]
            self._out.append(line)
        scope.known[key] = held
        return held

    def ret(self, held: Val | None = None) -> None:
        """End the block and the function."""
        self.line(f"ret {held}" if held else "ret void")

    def _outermost(self, operands: Sequence[Val]) -> int:
        """The depth of the loop in front of which an instruction goes: registers are few, so not all of them."""
        level = max((o.level for o in operands), default=0)
        while level < self.level and len(self._preheaders[level][0]) >= _HOISTED:
            level += 1
        return level

    def first_time(self, *facts: str) -> bool:
        """Whether a fact is new here: it was not noted in code that is always executed before."""
        if any(facts in scope.noted for scope in self._scopes):
            return False
        self._scopes[-1].noted.add(facts)
        return True

    def finish(self) -> None:
        """Add the function to the module."""
        body: list[str] = []
        _flatten(self._lines, body)
        _flatten(self._cold, body)
        self.module.functions.append(f"{self._header} {{\n" + "\n".join(body) + "\n}")

    # --- integers ------------------------------------------------------------------------

    def value(self, operand: Operand) -> Val:
        """An operand as a value: ints are `i64` constants."""
        return integer(operand) if isinstance(operand, int) else operand

    def binary(self, opcode: str, a: Operand, b: Operand) -> Val:
        """An instruction of two operands of one type, such as `add`, `fmul`, `lshr`."""
        a, b = self.value(a), self.value(b)
        fold = FOLDS.get(opcode)
        if fold is not None:
            x, y = a.literal, b.literal
            if x is not None and y is not None:
                return integer(fold(x, y), a.type)
            same = neutral(opcode, a, b, x, y)
            if same is not None:
                return same
        known = combined(opcode, a, b)
        if known is not None:
            return known
        if opcode in COMMUTES and a.text > b.text:
            a, b = b, a
        return self.pure(a.type, f"{opcode} {a}, {b.text}", (a, b))

    def add(self, a: Operand, b: Operand) -> Val:
        return self.binary("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Val:
        return self.binary("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Val:
        return self.binary("mul", a, b)

    def compare(self, predicate: str, a: Operand, b: Operand) -> Val:
        """`icmp`, or `fcmp` for floating types."""
        a, b = self.value(a), self.value(b)
        floats = scalar(a.type) in ("float", "double")
        x, y = a.literal, b.literal
        if not floats and x is not None and y is not None:
            if predicate in COMPARES:
                return integer(COMPARES[predicate](x, y), "i1")
            mask = (1 << bits(a.type)) - 1
            return integer(COMPARES["s" + predicate[1:]](x & mask, y & mask), "i1")
        known = None if floats else compared(predicate, a, b)
        if known is not None:
            return known
        opcode = "fcmp" if floats else "icmp"
        # A branch on a comparison is one instruction with it.
        alone = lanes(a.type) == 1
        return self.pure(wide("i1", lanes(a.type)), f"{opcode} {predicate} {a}, {b.text}", (a, b), stays=alone)

    def select(self, condition: Val, a: Val, b: Val) -> Val:
        """`a` where the condition holds, `b` elsewhere."""
        if condition.literal is not None:
            return a if condition.literal else b
        if a.text == b.text or condition.text == "splat (i1 true)":
            return a
        if condition.text == "zeroinitializer":
            return b
        if lanes(condition.type) > 1 and lanes(a.type) == 1:
            raise ValueError(f"a vector condition selects among vectors, not {a.type}")
        return self.pure(a.type, f"select {condition}, {a}, {b}", (condition, a, b))

    def smaller(self, a: Operand, b: Operand) -> Val:
        """The smaller signed integer."""
        a, b = self.value(a), self.value(b)
        return self.select(self.compare("slt", a, b), a, b)

    def larger(self, a: Operand, b: Operand) -> Val:
        """The larger signed integer."""
        a, b = self.value(a), self.value(b)
        return self.select(self.compare("sgt", a, b), a, b)

    def convert(self, opcode: str, a: Val, type: str) -> Val:
        """A conversion such as `sext`, `sitofp`, `bitcast`; `type` may name the element type alone."""
        target = wide(type, lanes(a.type)) if opcode != "bitcast" and type[0] != "<" else type
        if a.type == target:
            return a
        held = a.literal
        if held is not None and opcode in ("sext", "trunc"):
            return integer(held, target)
        known = converted(opcode, a, target)
        return known if known is not None else self.pure(target, f"{opcode} {a} to {target}", (a,))

    def both(self, a: Val | None, b: Val | None) -> Val | None:
        """The conjunction of two conditions; None is true."""
        if a is None or b is None:
            return b if a is None else a
        return self.binary("and", a, b)

    # --- calls ---------------------------------------------------------------------------

    def intrinsic(self, name: str, type: str, *operands: Val, flags: str = "") -> Val:
        """A call of a pure function, such as `llvm.fma.v16f32`."""
        self.module.declare(name, type, tuple(o.type for o in operands))
        listed = ", ".join(map(str, operands))
        return self.pure(type, f"call {flags}{type} @{name}({listed})", operands)

    def overloaded(self, name: str, *operands: Val, flags: str = "") -> Val:
        """A call of a pure intrinsic overloaded on the type of its first operand, which is also its result's."""
        type = operands[0].type
        return self.intrinsic(f"llvm.{name}.{mangled(type)}", type, *operands, flags=flags)

    def call(self, name: str, type: str, *operands: Val) -> Val | None:
        """A call that may do something; None for a `void` one."""
        self.module.declare(name, type, tuple(o.type for o in operands))
        text = f"call {type} @{name}({', '.join(map(str, operands))})"
        if type != "void":
            return self.effect(type, text)
        self.line(text)
        return None

    def fma(self, a: Val, b: Val, c: Val) -> Val:
        """a b + c, rounded once."""
        return self.overloaded("fma", a, b, c)

    # --- vectors -------------------------------------------------------------------------

    def splat(self, a: Val, count: int) -> Val:
        """A vector of one value; the value itself for a count of 1, or where it is a vector already."""
        if count == 1 or lanes(a.type) > 1:
            return a
        type = wide(a.type, count)
        if a.text == "poison":
            return poison(type)
        if a.text[0] != "%":
            zeros = a.text in ("0", "false", "null", "0x0000000000000000")
            return Val("zeroinitializer" if zeros else f"splat ({a})", type)
        first = self.pure(type, f"insertelement {type} poison, {a}, i64 0", (a,))
        return self.pure(type, f"shufflevector {first}, {type} poison, <{count} x i32> zeroinitializer", (first,))

    def extract(self, a: Val, position: Operand) -> Val:
        """An element of a vector."""
        at = self.value(position)
        if lanes(a.type) == 1:
            return a
        return self.pure(scalar(a.type), f"extractelement {a}, {at}", (a, at))

    def insert(self, a: Val, element: Val, position: Operand) -> Val:
        """A vector with one element replaced."""
        at = self.value(position)
        return self.pure(a.type, f"insertelement {a}, {element}, {at}", (a, element, at))

    def shuffle(self, a: Val, b: Val | None, positions: Sequence[int]) -> Val:
        """Elements of two vectors by position; the second one's follow those of the first, -1 is any."""
        other = b or poison(a.type)
        if list(positions) == list(range(lanes(a.type))):
            return a
        picked = ", ".join("i32 poison" if p < 0 else f"i32 {p}" for p in positions)
        type = f"<{len(positions)} x {scalar(a.type)}>"
        return self.pure(type, f"shufflevector {a}, {other}, <{len(positions)} x i32> <{picked}>", (a, other))

    def part(self, a: Val, start: int, count: int) -> Val:
        """`count` elements of a vector from `start` on; a scalar for 1."""
        if count == 1:
            return self.extract(a, start)
        return self.shuffle(a, None, range(start, start + count))

    def join(self, parts: Sequence[Val]) -> Val:
        """Vectors and scalars of one element type side by side."""
        if len(parts) == 1:
            return parts[0]
        if all(lanes(p.type) == 1 for p in parts):
            held = poison(wide(parts[0].type, len(parts)))
            for position, one in enumerate(parts):
                held = self.insert(held, one, position)
            return held
        if len(parts) == 2 and lanes(parts[0].type) == lanes(parts[1].type):
            return self.shuffle(parts[0], parts[1], range(2 * lanes(parts[0].type)))
        total = sum(lanes(p.type) for p in parts)
        held, filled = self.widen(parts[0], total), lanes(parts[0].type)
        for one in parts[1:]:
            count = lanes(one.type)
            placed = [k if k < filled else total + k - filled if k < filled + count else -1 for k in range(total)]
            held = self.shuffle(held, self.widen(one, total), placed)
            filled += count
        return held

    def widen(self, a: Val, count: int) -> Val:
        """A vector lengthened by elements that do not matter."""
        held = lanes(a.type)
        if held == count:
            return a
        if held == 1:
            return self.insert(poison(wide(a.type, count)), a, 0)
        return self.shuffle(a, None, [k if k < held else -1 for k in range(count)])

    def iota(self, count: int, type: str = "i64", step: int = 1) -> Val:
        """0, step, 2 step, ..."""
        if count == 1:
            return integer(0, type)
        listed = ", ".join(f"{type} {integer(k * step, type).text}" for k in range(count))
        return Val(f"<{listed}>", wide(type, count))

    def any(self, mask: Val) -> Val:
        """Whether a condition holds in some lane."""
        count = lanes(mask.type)
        if count == 1:
            return mask
        word = self.convert("bitcast", mask, f"i{count}")
        return self.compare("ne", word, integer(0, word.type))

    def all(self, mask: Val) -> Val:
        """Whether a condition holds in every lane."""
        count = lanes(mask.type)
        if count == 1:
            return mask
        word = self.convert("bitcast", mask, f"i{count}")
        return self.compare("eq", word, integer(-1, word.type))

    def negated(self, mask: Val) -> Val:
        """Where a condition does not hold."""
        return self.binary("xor", mask, integer(1, mask.type))

    # --- memory --------------------------------------------------------------------------

    def at(self, pointer: Val, offset: Operand) -> Val:
        """A pointer moved by bytes; of vectors, element by element."""
        offset = self.value(offset)
        if offset.literal == 0:
            return pointer
        type = wide("ptr", max(lanes(pointer.type), lanes(offset.type)))
        return self.pure(type, f"getelementptr i8, {pointer}, {offset}", (pointer, offset))

    def load(self, type: str, pointer: Val, align: int) -> Val:
        """What lies at an address."""
        return self.effect(type, f"load {type}, {pointer}, align {align}")

    def store(self, held: Val, pointer: Val, align: int) -> None:
        """Write to an address."""
        self.line(f"store {held}, {pointer}, align {align}")

    def masked_load(self, type: str, pointer: Val, mask: Val, align: int, otherwise: Val) -> Val:
        """Neighbouring elements where the mask holds, `otherwise` elsewhere."""
        name = f"llvm.masked.load.{mangled(type)}.p0"
        self.module.declare(name, type, ("ptr", mask.type, type))
        return self.effect(type, f"call {type} @{name}(ptr align {align} {pointer.text}, {mask}, {otherwise})")

    def masked_store(self, held: Val, pointer: Val, mask: Val, align: int) -> None:
        """Write neighbouring elements where the mask holds."""
        if bits(held.type) < 32:
            mask = self.binary("and", mask, self._unknown_ones(lanes(mask.type)))
        name = f"llvm.masked.store.{mangled(held.type)}.p0"
        self.module.declare(name, "void", (held.type, "ptr", mask.type))
        self.line(f"call void @{name}({held}, ptr align {align} {pointer.text}, {mask})")

    def _unknown_ones(self, count: int) -> Val:
        """A mask of all lanes that LLVM does not see through.

        Where it knows a mask to be of one lane, LLVM 22 stores four bytes instead of one or two of a number that was
        made narrow.
        """
        if self._ones is None:
            self._ones = Val("%ones", "i64")
            self._entry.append('  %ones = call i64 asm "", "=r,0"(i64 -1)' + self.location)
        if count > 64:
            return self.splat(self.convert("trunc", self._ones, "i1"), count)
        return self.convert("bitcast", self.convert("trunc", self._ones, f"i{count}"), wide("i1", count))

    def gather(self, type: str, pointers: Val, mask: Val, align: int, otherwise: Val) -> Val:
        """Elements at many addresses where the mask holds, `otherwise` elsewhere."""
        name = f"llvm.masked.gather.{mangled(type)}.{mangled(pointers.type)}"
        self.module.declare(name, type, (pointers.type, mask.type, type))
        text = f"call {type} @{name}({pointers.type} align {align} {pointers.text}, {mask}, {otherwise})"
        return self.effect(type, text)

    def scatter(self, held: Val, pointers: Val, mask: Val, align: int) -> None:
        """Write elements to many addresses where the mask holds; of equal addresses the last lane wins."""
        name = f"llvm.masked.scatter.{mangled(held.type)}.{mangled(pointers.type)}"
        self.module.declare(name, "void", (held.type, pointers.type, mask.type))
        self.line(f"call void @{name}({held}, {pointers.type} align {align} {pointers.text}, {mask})")

    # --- control -------------------------------------------------------------------------

    @contextmanager
    def loop(
        self, start: Operand, stop: Operand, step: Operand = 1, carried: Sequence[Val] = (), *, saturate: bool = False
    ) -> Iterator[Loop]:
        """A loop of `start`, `start + step`, ... below `stop` (signed, `i64`).

        `saturate` where the sum may overflow.
        """
        first, end, distance = self.value(start), self.value(stop), self.value(step)
        with self._open() as (before, head):
            level = self.level
            index = Val(f"%{self.name('i')}", first.type, level)
            values = tuple(Val(f"%{self.name('c')}", c.type, level) for c in carried)
            phis = len(self._out)
            self._out.extend("" for _ in (index, *values))
            body, leave = self.name("body"), self.name("leave")
            inside = self.effect("i1", f"icmp slt {index}, {end.text}")
            self.line(f"br {inside}, label %{body}, label %{leave}")
            self.label(body)
            opened = Loop(index, values)
            yield opened
            if saturate:
                moved = self.effect(index.type, self.saturated(index, distance))
            else:
                moved = self.effect(index.type, f"add {index}, {distance.text}")
            # Unseen by LLVM's reduction of strength, which takes cubic time in loops and gains nothing here.
            moved = self.effect(index.type, f'call {index.type} asm "", "=r,0"({moved})')
            last = self._block
            self.line(f"br label %{head}")
            pairs = [(index, first, moved), *zip(values, carried, opened.following, strict=True)]
            for number, (phi, entering, again) in enumerate(pairs):
                self._out[phis + number] = (
                    f"  {phi.text} = phi {phi.type} [ {entering.text}, %{before} ], [ {again.text}, %{last} ]"
                )
        self.label(leave)
        opened.results = values_after(values, self.level)

    def saturated(self, a: Val, b: Val) -> str:
        """The text of a sum that stays at the largest number where it would pass it."""
        name = f"llvm.sadd.sat.{mangled(a.type)}"
        self.module.declare(name, a.type, (a.type, a.type))
        return f"call {a.type} @{name}({a}, {b})"

    @contextmanager
    def _open(self) -> Iterator[tuple[str, str]]:
        """A preheader and the block that begins a loop: their names."""
        before, head = self._block, self.name("loop")
        hoisted: Lines = []
        self._out.append(hoisted)
        self.line(f"br label %{head}")
        self._preheaders.append((hoisted, self._scopes[-1]))
        self._scopes.append(_Scope())
        self.label(head)
        yield before, head
        self._scopes.pop()
        self._preheaders.pop()

    def repeat(
        self,
        carried: Sequence[Val],
        condition: Callable[[tuple[Val, ...]], Val],
        body: Callable[[tuple[Val, ...]], Sequence[Val]],
    ) -> tuple[Val, ...]:
        """A loop of any condition: while it holds of the carried values, replace them by what the body gives."""
        with self._open() as (before, head):
            values = tuple(Val(f"%{self.name('c')}", c.type, self.level) for c in carried)
            phis = len(self._out)
            self._out.extend("" for _ in values)
            inside, leave = self.name("body"), self.name("leave")
            going = condition(values)
            self.line(f"br {going}, label %{inside}, label %{leave}")
            self.label(inside)
            following = body(values)
            last = self._block
            self.line(f"br label %{head}")
            for number, (phi, entering, again) in enumerate(zip(values, carried, following, strict=True)):
                self._out[phis + number] = (
                    f"  {phi.text} = phi {phi.type} [ {entering.text}, %{before} ], [ {again.text}, %{last} ]"
                )
        self.label(leave)
        return values_after(values, self.level)

    @contextmanager
    def when(self, condition: Val) -> Iterator[None]:
        """What is executed only where a condition holds."""
        inside, after = self.name("then"), self.name("after")
        self.line(f"br {condition}, label %{inside}, label %{after}")
        self.label(inside)
        with self._scope():
            yield
        self.line(f"br label %{after}")
        self.label(after)

    def either(
        self,
        condition: Val,
        then: Callable[[], Sequence[Val]],
        otherwise: Callable[[], Sequence[Val]],
        *,
        rare: bool = False,
    ) -> list[Val]:
        """One of two pieces of code, and the values of the one that was executed; `rare` where it is hardly the second.

        Then the second one lies far away, and nothing of it is written in front of the loops around.
        """
        yes, no, after = self.name("then"), self.name("else"), self.name("after")
        weights = f", !prof {self._rare_weights()}" if rare else ""
        self.line(f"br {condition}, label %{yes}, label %{no}{weights}")
        self.label(yes)
        with self._scope():
            first = list(then())
        end_of_first = self._block
        self.line(f"br label %{after}")
        with self._away() if rare else nullcontext():
            self.label(no)
            with self._scope():
                second = list(otherwise())
            end_of_second = self._block
            self.line(f"br label %{after}")
        self.label(after)
        merged = []
        for a, b in zip(first, second, strict=True):
            if a.text == b.text:
                merged.append(a)
                continue
            held = Val(f"%{self.name()}", a.type, self.level)
            pairs = f"[ {a.text}, %{end_of_first} ], [ {b.text}, %{end_of_second} ]"
            self._out.append(f"  {held.text} = phi {a.type} {pairs}")
            merged.append(held)
        return merged

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self._scopes.append(_Scope())
        yield
        self._scopes.pop()

    def unlikely(self, condition: Val, body: Callable[[], None], *, returns: bool = False) -> None:
        """Leave for code far away where a condition holds.

        `body` ends its block itself, by `ret` or a branch, unless it `returns` to where it came from.
        """
        if condition.literal == 0:
            return
        away, after = self.name("cold"), self.name("go")
        self.line(f"br {condition}, label %{away}, label %{after}, !prof {self._rare_weights(first=True)}")
        with self._away():
            self.label(away)
            with self._scope():
                body()
            if returns:
                self.line(f"br label %{after}")
        self.label(after)

    @contextmanager
    def _away(self) -> Iterator[None]:
        """Code that lies behind the function's, and stays in the loops around it."""
        here, floor = self._out, self._floor
        self._out, self._floor = [], self.level
        yield
        self._cold.append(self._out)
        self._out, self._floor = here, floor

    def _rare_weights(self, *, first: bool = False) -> str:
        """The metadata of a branch whose second, or first, way is hardly ever taken."""
        weights = "i32 1, i32 2000" if first else "i32 2000, i32 1"
        if weights not in self._weights:
            self._weights[weights] = self.module.note(f'!{{!"branch_weights", {weights}}}')
        return self._weights[weights]

    def settled(self, condition: Val) -> Val:
        """A condition that LLVM does not compute anew in a loop in which it does not change."""
        byte = self.convert("zext", condition, "i8")
        held = self.pure("i8", f'call i8 asm "", "=r,0"({byte})', (byte,))
        return self.convert("trunc", held, "i1")


def values_after(values: Sequence[Val], level: int) -> tuple[Val, ...]:
    """Values of a loop as what follows it sees them."""
    return tuple(Val(v.text, v.type, level) for v in values)


def _flatten(lines: Lines, into: list[str]) -> None:
    for line in lines:
        if isinstance(line, str):
            into.append(line)
        else:
            _flatten(line, into)
