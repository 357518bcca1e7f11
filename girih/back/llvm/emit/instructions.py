"""Instructions without effects: integers, floats, conversions, calls of functions that only compute, vectors.

They are folded if their operands are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.folding import COMMUTES, COMPARES, compared, converted, folded
from girih.back.llvm.emit.function import FunctionText
from girih.back.llvm.emit.text import Operand, Val, bits, integer, lanes, mangled, poison, scalar, wide

ROUND_F16 = "round_f16"
"""The name of what `once_written` writes to round a `float` to f16."""


class Instructions(FunctionText):
    """A function that is being written: the instructions without effects."""

    # --- integers ------------------------------------------------------------------------

    def value(self, operand: Operand) -> Val:
        """The value of an operand; an int becomes a constant of type `i64`."""
        return integer(operand) if isinstance(operand, int) else operand

    def binary(self, opcode: str, a: Operand, b: Operand) -> Val:
        """The result of an instruction with two operands of one type, such as `add`, `fmul` or `lshr`."""
        a, b = self.value(a), self.value(b)
        if a.text[0] != "%" or b.text[0] != "%":
            known = folded(opcode, a, b)
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
        """The condition that `icmp` gives, or `fcmp` for floating types."""
        a, b = self.value(a), self.value(b)
        floats = scalar(a.type) in ("float", "double")
        x, y = a.literal, b.literal
        if not floats and x is not None and y is not None:
            if predicate in COMPARES:
                return integer(COMPARES[predicate](x, y), "i1")
            mask = (1 << bits(a.type)) - 1
            return integer(COMPARES["s" + predicate[1:]](x & mask, y & mask), "i1")
        if not floats and a.text == b.text and a.text[0] == "%" and lanes(a.type) == 1:
            return integer(predicate in ("eq", "sle", "sge", "ule", "uge"), "i1")
        known = None if floats else compared(predicate, a, b)
        if known is not None:
            return known
        opcode = "fcmp" if floats else "icmp"
        # A branch on a comparison is one instruction with it.
        alone = lanes(a.type) == 1
        return self.pure(wide("i1", lanes(a.type)), f"{opcode} {predicate} {a}, {b.text}", (a, b), stays=alone)

    def compare_early(self, predicate: str, a: Val, b: Val) -> Val:
        """The condition that `icmp` gives for integers, found in front of the loops in which they do not change."""
        return self.pure("i1", f"icmp {predicate} {a}, {b.text}", (a, b))

    def select(self, condition: Val, a: Val, b: Val) -> Val:
        """The value `a` if the condition holds, else `b`; of vectors, element by element."""
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
        """The smaller of two signed integers."""
        a, b = self.value(a), self.value(b)
        return self.select(self._chosen("slt", a, b), a, b)

    def larger(self, a: Operand, b: Operand) -> Val:
        """The larger of two signed integers."""
        a, b = self.value(a), self.value(b)
        return self.select(self._chosen("sgt", a, b), a, b)

    def _chosen(self, predicate: str, a: Val, b: Val) -> Val:
        """The condition of a choice between two integers, which goes in front of loops with it."""
        known = lanes(a.type) > 1 or (a.literal is not None and b.literal is not None)
        return self.compare(predicate, a, b) if known else self.compare_early(predicate, a, b)

    def convert(self, opcode: str, a: Val, type: str) -> Val:
        """The result of a conversion such as `sext`, `sitofp` or `bitcast`; `type` may be the element type alone."""
        target = wide(type, lanes(a.type)) if opcode != "bitcast" and type[0] != "<" else type
        if a.type == target:
            return a
        held = a.literal
        if held is not None and opcode in ("sext", "trunc"):
            return integer(held, target)
        known = converted(opcode, a, target)
        return known if known is not None else self.pure(target, f"{opcode} {a} to {target}", (a,))

    def negative(self, a: Val) -> Val:
        """The float with the opposite sign."""
        return self.pure(a.type, f"fneg {a}", (a,))

    def both(self, a: Val | None, b: Val | None) -> Val | None:
        """The conjunction of two conditions; None is true."""
        if a is None or b is None:
            return b if a is None else a
        return self.binary("and", a, b)

    def saturated(self, a: Val, b: Val) -> Val:
        """A sum that is the largest number if it would exceed that; it is computed here, not before loops."""
        name = f"llvm.sadd.sat.{mangled(a.type)}"
        self.module.declare(name, a.type, (a.type, a.type))
        return self.effect(a.type, f"call {a.type} @{name}({a}, {b})")

    def opaque(self, a: Val) -> Val:
        """The same value, hidden from LLVM; the value itself if the target cannot hide it."""
        text = self.module.hidden(a)
        return a if text is None else self.effect(a.type, text)

    def settled(self, condition: Val) -> Val:
        """A condition that LLVM does not compute anew in a loop in which it does not change."""
        byte = self.convert("zext", condition, "i8")
        text = self.module.hidden(byte)
        return condition if text is None else self.convert("trunc", self.pure("i8", text, (byte,)), "i1")

    def far_angle(self, name: str, unit: int, known: int, x: Val) -> tuple[Val, Val] | None:
        """The angle of x units without whole turns, in two parts; None where that is the module's own function, or C's.

        `unit` are the first `known` bits of one unit in turns.
        """
        return None

    @property
    def near_power_of_two(self) -> Callable[[Val], Val] | None:
        """What writes 2^x of a `float` x, within 2 ulp where that is normal; None where no instruction computes it."""
        return None

    def once_written(self, name: str, x: Val, body: Callable[[Val], Val]) -> Val:
        """What a body gives for a value; writers that have functions write it once."""
        return body(x)

    # --- calls ---------------------------------------------------------------------------

    def intrinsic(self, name: str, type: str, *operands: Val, flags: str = "") -> Val:
        """The result of a pure function, such as `llvm.fma.v16f32`."""
        self.module.declare(name, type, tuple(o.type for o in operands))
        listed = ", ".join(map(str, operands))
        return self.pure(type, f"call {flags}{type} @{name}({listed})", operands)

    def overloaded(self, name: str, *operands: Val, flags: str = "") -> Val:
        """The result of a pure intrinsic whose overloaded type is that of its first operand and of its result."""
        type = operands[0].type
        return self.intrinsic(f"llvm.{name}.{mangled(type)}", type, *operands, flags=flags)

    def call(self, name: str, type: str, *operands: Val) -> Val | None:
        """The result of a call that may have effects; None if its type is `void`."""
        self.module.declare(name, type, tuple(o.type for o in operands))
        text = f"call {type} @{name}({', '.join(map(str, operands))})"
        if type != "void":
            return self.effect(type, text)
        self.line(text)
        return None

    def run(self, name: str, *operands: Val) -> None:
        """Call a function that returns nothing and is written or declared elsewhere in the module."""
        self.line(f"call void @{name}({', '.join(map(str, operands))})")

    def field(self, pair: Val, number: int, type: str) -> Val:
        """One of the results of an instruction that has several; `type` is that of the result."""
        return self.pure(type, f"extractvalue {pair}, {number}", (pair,))

    def fma(self, a: Val, b: Val, c: Val) -> Val:
        """The value of a b + c, rounded once."""
        return self.overloaded("fma", a, b, c)

    def multiplied(self, a: Val, b: Val) -> Val:
        """The pair for `product` and `overflows` of two integers that are not negative."""
        name = f"llvm.smul.with.overflow.{mangled(a.type)}"
        result = f"{{ {a.type}, {wide('i1', lanes(a.type))} }}"
        self.module.declare(name, result, (a.type, a.type))
        return self.pure(result, f"call {result} @{name}({a}, {b})", (a, b))

    def product(self, pair: Val, type: str) -> Val:
        """The low bits of what was `multiplied`."""
        return self.field(pair, 0, type)

    def overflows(self, pair: Val, a: Val, b: Val) -> Val:
        """Whether the product of two integers, which were `multiplied`, is beyond the largest signed one."""
        return self.field(pair, 1, wide("i1", lanes(a.type)))

    # --- vectors -------------------------------------------------------------------------

    def splat(self, a: Val, count: int) -> Val:
        """The vector with one value in all elements; the value itself for a count of 1, or if it is a vector."""
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
        """The vector with one element replaced."""
        at = self.value(position)
        return self.pure(a.type, f"insertelement {a}, {element}, {at}", (a, element, at))

    def shuffle(self, a: Val, b: Val | None, positions: Sequence[int]) -> Val:
        """The elements of two vectors at some positions; the second vector's follow the first's, -1 is any."""
        other = b or poison(a.type)
        if list(positions) == list(range(lanes(a.type))):
            return a
        picked = ", ".join("i32 poison" if p < 0 else f"i32 {p}" for p in positions)
        type = f"<{len(positions)} x {scalar(a.type)}>"
        return self.pure(type, f"shufflevector {a}, {other}, <{len(positions)} x i32> <{picked}>", (a, other))

    def part(self, a: Val, start: int, count: int) -> Val:
        """The `count` elements of a vector that begin at `start`; a scalar for 1."""
        if count == 1:
            return self.extract(a, start)
        return self.shuffle(a, None, range(start, start + count))

    def join(self, parts: Sequence[Val]) -> Val:
        """The vector of vectors and scalars of one element type side by side."""
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
        """The vector lengthened to `count` elements by any elements."""
        held = lanes(a.type)
        if held == count:
            return a
        if held == 1:
            return self.insert(poison(wide(a.type, count)), a, 0)
        return self.shuffle(a, None, [k if k < held else -1 for k in range(count)])

    def iota(self, count: int, type: str = "i64", step: int = 1) -> Val:
        """The vector 0, step, 2 step, ..."""
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
        """The condition that another one does not hold."""
        return self.binary("xor", mask, integer(1, mask.type))
