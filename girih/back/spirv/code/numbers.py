"""Operations on numbers in the recording of shader code: folded, and written out where Vulkan leaves them wider."""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.folding import COMMUTES, COMPARES, FOLDS, neutral
from girih.back.llvm.emit.instructions import ROUND_F16
from girih.back.llvm.emit.text import Operand, Val, bits, integer
from girih.back.spirv.code import exact
from girih.back.spirv.code.memory import ShaderPlace
from girih.back.spirv.code.nodes import (
    ShaderNode,
)
from girih.back.spirv.code.recording import Recording
from girih.back.spirv.code.types import is_float
from girih.diagnostics import InternalError

Key = tuple[object, ...]

NULL = "null"
"""The text of the pointer to nothing."""

_FUNCTIONS = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "trunc": "truncate",
    "rint": "rint",
    "roundeven": "rint",
    "ctpop": "ctpop",
    "bitreverse": "bitreverse",
    "maxnum": "fmax",
    "minnum": "fmin",
    "umin": "umin",
    "umax": "umax",
    "smin": "smin",
    "smax": "smax",
}
"""LLVM's overloaded intrinsics that are operations of shader code."""


class NumberRecording(Recording):
    """A shader that is being recorded: the instructions on numbers."""

    def binary(self, opcode: str, a: Operand, b: Operand) -> Val:
        """The result of an instruction with two operands of one type; floats may carry LLVM's flag `contract`."""
        opcode, _, flags = opcode.partition(" ")
        a, b = self.value(a), self.value(b)
        fold = FOLDS.get(opcode)
        if fold is not None:
            x, y = a.literal, b.literal
            if x is not None and y is not None:
                return integer(fold(x, y), a.type)
            same = neutral(opcode, a, b, x, y)
            if same is not None:
                return same
        if opcode in ("shl", "lshr", "ashr"):
            return self._shifted(opcode, a, b)
        if opcode == "frem":
            return exact.remainder(self, a, b)
        if opcode == "fdiv":
            return exact.quotient(self, a, b)
        if opcode in ("udiv", "urem") and (b.literal or 0) > 0:
            known = _divided(opcode, a, b)
            if known is not None:
                return known
        if opcode in COMMUTES and a.text > b.text:
            a, b = b, a
        return self.computed(opcode, (a, b), a.type, exactly="contract" not in flags)

    def _shifted(self, opcode: str, a: Val, b: Val) -> Val:
        """A shift; of its width only the bits count that say less than the operand's width."""
        width = bits(a.type)
        if b.literal is not None:
            by = b.literal & (width - 1)
            if by == 0:
                return a
            if a.literal is not None:
                word = a.literal & ((1 << width) - 1)
                moved = {"shl": word << by, "lshr": word >> by, "ashr": a.literal >> by}[opcode]
                return integer(moved, a.type)
            return self.computed(opcode, (a, integer(by, a.type)), a.type)
        return self.computed(opcode, (a, self.binary("and", b, integer(width - 1, b.type))), a.type)

    def compare(self, predicate: str, a: Operand, b: Operand) -> Val:
        """A condition of two numbers, or whether a place has memory."""
        a, b = self.value(a), self.value(b)
        if a.type == "ptr":
            return self._missing(predicate, a, b)
        if not is_float(a.type):
            x, y = a.literal, b.literal
            if x is not None and y is not None:
                if predicate in COMPARES:
                    return integer(COMPARES[predicate](x, y), "i1")
                mask = (1 << bits(a.type)) - 1
                return integer(COMPARES["s" + predicate[1:]](x & mask, y & mask), "i1")
            if a.text == b.text:
                return integer(predicate in ("eq", "sle", "sge", "ule", "uge"), "i1")
            if a.type == "i1":
                return self._same_truth(predicate, a, b)
        return self.computed(predicate, (a, b), "i1")

    def _same_truth(self, predicate: str, a: Val, b: Val) -> Val:
        """A comparison of conditions: false is below true."""
        differ = self.binary("xor", a, b)
        match predicate:
            case "ne":
                return differ
            case "eq":
                return self.negated(differ)
            case "ult" | "ugt":
                return self.binary("and", differ, b if predicate == "ult" else a)
            case _:
                return self.binary("or", self.negated(differ), b if predicate == "ule" else a)

    def place(self, pointer: Val) -> ShaderPlace:
        """The place that a value is."""
        return self._places[pointer.text]

    def _missing(self, predicate: str, a: Val, b: Val) -> Val:
        """Whether a place is nowhere."""
        missing = self.place(a if b.text == NULL else b).missing or integer(0, "i1")
        return missing if predicate == "eq" else self.negated(missing)

    def negated(self, mask: Val) -> Val:
        """The condition that another one does not hold."""
        return self.binary("xor", mask, integer(1, "i1"))

    def select(self, condition: Val, a: Val, b: Val) -> Val:
        """The value `a` if the condition holds, else `b`."""
        if condition.literal is not None:
            return a if condition.literal else b
        if a.text == b.text:
            return a
        if a.type == "i1" and a.literal is not None:
            return self.binary("or", condition, b) if a.literal else self.binary("and", self.negated(condition), b)
        if a.type == "i1" and b.literal is not None:
            return self.binary("or", self.negated(condition), a) if b.literal else self.binary("and", condition, a)
        return self.computed("select", (condition, a, b), a.type)

    def convert(self, opcode: str, a: Val, type: str) -> Val:
        """The result of a conversion."""
        if a.type == type:
            return a
        if opcode == "fptrunc" and type == "half":
            a = self._before_rounding(a)
        held = a.literal
        if held is not None and opcode in ("sext", "trunc"):
            return integer(-held if a.type == "i1" and opcode == "sext" else held, type)
        if held is not None and opcode == "zext":
            return integer(held & ((1 << bits(a.type)) - 1), type)
        made = self.maker(a)
        if made is not None:
            shorter = self._of_conversion(opcode, made, type)
            if shorter is not None:
                return shorter
        return self.computed(opcode, (a,), type)

    def _before_rounding(self, a: Val) -> Val:
        """What a number was before it was rounded to f16: a conversion to `half` rounds it in the same way."""
        made = self.maker(a)
        known = self.known_routine(ROUND_F16, a.type)
        return made.operands[0] if made is not None and known is not None and made.details == (known,) else a

    def _of_conversion(self, opcode: str, made: ShaderNode, type: str) -> Val | None:
        """A conversion of what another one made, by one or none."""
        if made.op not in ("sext", "zext", "trunc", "bitcast"):
            return None
        (inner,) = made.operands
        if opcode == "bitcast" and made.op == "bitcast":
            return self.convert("bitcast", inner, type)
        if opcode in ("sext", "zext") and made.op == opcode:
            return self.convert(opcode, inner, type)
        if opcode == "trunc" and made.op in ("sext", "zext"):
            wider = bits(type) > bits(inner.type)
            return self.convert(made.op if wider else "trunc", inner, type)
        if opcode == "trunc" and made.op == "trunc":
            return self.convert("trunc", inner, type)
        return None

    def once_written(self, name: str, x: Val, body: Callable[[Val], Val]) -> Val:
        return self.routine(name, (x.type,), (x,), body)

    def negative(self, a: Val) -> Val:
        """The float with the opposite sign."""
        return self.computed("fneg", (a,), a.type)

    def fma(self, a: Val, b: Val, c: Val) -> Val:
        """The value of a b + c, rounded once."""
        return exact.fused(self, a, b, c)

    def multiplied(self, a: Val, b: Val) -> Val:
        return self.mul(a, b)

    def product(self, pair: Val, type: str) -> Val:
        return pair

    def overflows(self, pair: Val, a: Val, b: Val) -> Val:
        """Whether the product has the sign bit, or is no multiple any more."""
        one = integer(1, b.type)
        differs = self.compare("ne", self.binary("udiv", pair, self.larger(b, one)), a)
        lost = self.binary("and", differs, self.compare("ne", b, integer(0, b.type)))
        return self.binary("or", lost, self.compare("slt", pair, integer(0, b.type)))

    def saturated(self, a: Val, b: Val) -> Val:
        """The sum of a number and one that is not negative, the largest number if it would exceed that."""
        total = self.add(a, b)
        over = self.compare("slt", total, a)
        return self.select(over, integer((1 << bits(a.type) - 1) - 1, a.type), total)

    def opaque(self, a: Val) -> Val:
        return a

    def compare_early(self, predicate: str, a: Val, b: Val) -> Val:
        return self.compare(predicate, a, b)

    def settled(self, condition: Val) -> Val:
        return condition

    def overloaded(self, name: str, *operands: Val, flags: str = "") -> Val:
        """The result of a function of numbers of one type, by LLVM's name of it."""
        type = operands[0].type
        match name:
            case "copysign":
                return exact.with_sign(self, *operands)
            case "sqrt":
                return exact.root(self, operands[0])
            case "sadd.sat":
                return exact.saturated_sum(self, *operands)
            case "uadd.sat":
                total = self.add(*operands)
                return self.select(self.compare("ult", total, operands[0]), integer(-1, type), total)
            case "fshl":
                return exact.funnel(self, *operands)
            case "fma":
                return self.fma(*operands)
        op = _FUNCTIONS.get(name)
        if op is None:
            raise InternalError(f"shader code has no function {name}")
        return self.computed(op, operands, type)

    def intrinsic(self, name: str, type: str, *operands: Val, flags: str = "") -> Val:
        """The result of one of LLVM's functions by its whole name."""
        word = name.removeprefix("llvm.").rpartition(".")[0]
        return self.overloaded(word, *operands)


def _divided(opcode: str, a: Val, b: Val) -> Val | None:
    """The result of an unsigned division by a constant that is known; None otherwise."""
    if a.literal is not None and b.literal is not None and a.literal >= 0:
        return integer(a.literal // b.literal if opcode == "udiv" else a.literal % b.literal, a.type)
    if b.literal == 1:
        return a if opcode == "udiv" else integer(0, a.type)
    return None
