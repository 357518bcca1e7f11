"""The passes over shader code: what they leave out and narrow, and that the code still means the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from girih.back.llvm.emit.text import Val, integer
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    ShaderBlock,
    ShaderCode,
    ShaderMember,
    ShaderNode,
)
from girih.back.spirv.passes.accesses import with_direct_accesses
from girih.back.spirv.passes.dead import without_dead_code
from girih.back.spirv.passes.improve import improved, scalar_types
from girih.back.spirv.passes.intervals import Interval
from girih.back.spirv.passes.narrow import narrowed
from girih.back.spirv.passes.ranges import Ranges, known_ranges
from girih.back.spirv.passes.tidy import tidied
from tests.back.spirv.evaluate import Evaluation
from tests.back.spirv.random_code import RANGES, executed, random_code
from tests.cases import every_case, long

PASSES: dict[str, Callable[[ShaderCode], ShaderCode]] = {
    "dead": without_dead_code,
    "narrow": lambda code: narrowed(code, RANGES, wide=False),
    "wide": lambda code: narrowed(code, {}, wide=True),
    "tidy": lambda code: tidied(code, RANGES, wide=False),
    "accesses": with_direct_accesses,
    "all": lambda code: improved(code, RANGES, wide=False),
    "all, wide": lambda code: improved(code, {}, wide=True),
}


def result_of(one: Evaluation) -> dict[str, bytes]:
    """What is in memory that the shader does not keep for itself."""
    return {name: bytes(one.memory[name]) for name in ("A", "B", "address")}


def intervals_of(code: ShaderCode) -> dict[str, Interval]:
    """The intervals of the shader's own integers."""
    ranges = Ranges(known_ranges(code, RANGES, wide=False))
    ranges.block(code.body)
    return ranges.values


@pytest.mark.parametrize(
    ("seeds", "size", "in_turns"),
    [(range(200), 20, True), *long([(range(1000, 4000), 60, False), (range(20), 1500, False)])],
)
def test_random_code_means_the_same_after_each_pass(seeds: range, size: int, in_turns: bool) -> None:
    with every_case() as case:
        for seed in seeds:
            code = random_code(seed, size)
            before = result_of(executed(code, seed, intervals_of(code)))
            turn = list(PASSES)[seed % len(PASSES)]
            for name in (turn,) if in_turns else PASSES:
                with case(f"seed {seed}, {name}"):
                    assert result_of(executed(PASSES[name](code), seed)) == before


# --- examples ----------------------------------------------------------------------------------


class Shader:
    """Shader code that is written by hand: a buffer `A`, members, and nodes."""

    def __init__(self, **members: str) -> None:
        self.memory = ShaderMemory(MemoryKind.BUFFER, "A", 0, types=dict.fromkeys(("i32", "i64", "float")))
        self.code = ShaderCode("example", 64, 32, [self.memory])
        self.code.members = [ShaderMember(name, type, 8 * k) for k, (name, type) in enumerate(members.items())]
        self.count = 0

    def new(self, type: str) -> Val:
        """A value that is not defined yet."""
        self.count += 1
        return Val(f"%v{self.count}", type)

    def __call__(self, op: str, type: str, *operands: Val, details: tuple[object, ...] = ()) -> Val:
        """Write a node; its result."""
        result = self.new(type)
        self.code.body.statements.append(ShaderNode(op, operands, result, details))
        return result

    def member(self, name: str) -> Val:
        """The value of a member."""
        type = next(m.type for m in self.code.members if m.name == name)
        return self("member", type, details=(name,))

    def lane(self) -> Val:
        """The work-item's place in its subgroup, in 64 bits."""
        return self("sext", "i64", self("built_in", "i32", details=("subgroup_local_id", 0)))

    def store(self, value: Val, element: Val) -> None:
        """Store a value."""
        details = self.memory, value.type
        self.code.body.statements.append(ShaderNode("store", (value, element), None, details))

    def inside(self, block: ShaderBlock, write: Callable[[], None]) -> None:
        """Write into a block."""
        outer, self.code.body = self.code.body, block
        write()
        self.code.body = outer


def operations(code: ShaderCode) -> list[str]:
    """The operations of the body in order, with the types of their results, and its structure."""
    names = []
    for one in code.body.walk():
        if isinstance(one, ShaderNode):
            names.append(f"{one.op} {one.result.type}" if one.result else one.op)
        else:
            names.append(type(one).__name__.removesuffix("Statement").lower())
    return names


def narrow(shader: Shader, members: Mapping[str, Interval] | None = None, *, wide: bool = False) -> ShaderCode:
    """The code of an example, narrowed, without what that leaves unused."""
    return without_dead_code(narrowed(shader.code, members or {}, wide=wide))


SIZES = {"rows": (0, 1 << 28), "stride": (0, 1 << 28)}


def rows_of_a_matrix() -> Shader:
    """A store into each row of a matrix with a stride."""
    w = Shader(rows="i64", stride="i64")
    rows, stride, lane = w.member("rows"), w.member("stride"), w.lane()
    one = LoopStatement(w.new("i64"), integer(0), rows, integer(1))
    w.inside(one.body, lambda: w.store(integer(7, "i32"), w("add", "i64", w("mul", "i64", one.index, stride), lane)))
    w.code.body.statements.append(one)
    return w


def test_indices_of_elements_have_32_bits() -> None:
    code = narrow(rows_of_a_matrix(), SIZES)
    assert operations(code) == [
        "member i32", "member i32", "built_in i32", "loop", "mul i32", "add i32", "store",
    ]  # fmt: skip
    loop = next(one for one in code.body.walk() if isinstance(one, LoopStatement))
    assert (loop.index.type, loop.start.type, loop.stop.type, loop.step.type) == ("i32",) * 4
    assert not loop.wraps
    assert [(m.type, m.offset) for m in code.members] == [("i32", 0), ("i32", 8)]
    assert scalar_types(code) == {"i32"}
    assert scalar_types(rows_of_a_matrix().code) == {"i64", "i32"}


def test_wide_indices_keep_64_bits_where_numbers_may_be_large() -> None:
    shader = rows_of_a_matrix()
    code = narrow(shader, wide=True)
    assert operations(code) == [
        "member i64", "member i64", "built_in i32", "sext i64", "loop", "mul i64", "add i64", "store",
    ]  # fmt: skip
    assert [m.type for m in shader.code.members] == ["i64", "i64"]


def test_addresses_keep_64_bits() -> None:
    w = Shader(base="i64", stride="i64")
    memory = ShaderMemory(MemoryKind.ADDRESS, "G", types={"i32": None})
    moved = w("mul", "i64", w("mul", "i64", w.lane(), integer(1000)), integer(4))
    value = w("load", "i32", w("add", "i64", w.member("base"), moved), details=(memory, "i32"))
    w.store(value, w.lane())
    assert operations(narrow(w, {"stride": (0, 1 << 28)})) == [
        "built_in i32", "mul i32", "mul i32", "sext i64", "member i64", "add i64", "load i32", "built_in i32", "store",
    ]  # fmt: skip


def test_a_carried_element_has_32_bits_though_nobody_knows_how_large_it_gets() -> None:
    w = Shader(rows="i64", stride="i64")
    rows, stride = w.member("rows"), w.member("stride")
    moving = CarriedValue(w.new("i64"), integer(0), w.new("i64"))
    one = LoopStatement(w.new("i64"), integer(0), rows, integer(1), [moving])

    def body() -> None:
        w.store(integer(7, "i32"), moving.value)
        w.code.body.statements.append(ShaderNode("add", (moving.value, stride), moving.following))

    w.inside(one.body, body)
    w.code.body.statements.append(one)
    assert operations(narrow(w, SIZES)) == ["member i32", "member i32", "loop", "store", "add i32"]
    # Where its number counts, it stays.
    w.store(moving.value, integer(0))
    assert "add i64" in operations(narrow(w, SIZES))


def checked(w: Shader, index: Val, size: Val) -> None:
    """Store the words of an index, high and low, and leave, where it is not below a size."""
    failed = BranchStatement(w("uge", "i1", index, size))

    def record() -> None:
        w.store(w("trunc", "i32", index), integer(0))
        w.store(w("trunc", "i32", w("lshr", "i64", index, integer(32))), integer(1))
        w.code.body.statements.append(LeaveStatement())

    w.inside(failed.then, record)
    w.code.body.statements.append(failed)


def test_an_index_that_was_checked_is_one() -> None:
    w = Shader(i="i64", rows="i64")
    index, rows = w("load", "i64", integer(0), details=(w.memory, "i64")), w.member("rows")
    checked(w, index, rows)
    # Of any other number of 64 bits the quotient would not be that of 32 bits.
    w.store(integer(0, "i32"), w("sdiv", "i64", index, integer(3)))
    assert operations(narrow(w, SIZES))[-2:] == ["sdiv i32", "store"]


def test_both_words_of_a_finding_come_from_32_bits() -> None:
    w = Shader(i="i64", rows="i64")
    checked(w, w("mul", "i64", w.member("i"), integer(4)), w.member("rows"))
    code = narrow(w, {"i": (-(1 << 28), 1 << 28), "rows": (0, 1 << 28)})
    assert not [name for name in operations(code) if name.endswith("i64")]
    for i in (-3, 5, 1 << 28):
        memory = {"A": bytearray(8)}
        Evaluation(code, {"i": i, "rows": 4}, {}, memory).run()
        assert int.from_bytes(memory["A"], "little", signed=True) == 4 * i


def test_what_nobody_uses_is_left_out() -> None:
    w = Shader(n="i32")
    n = w.member("n")
    used, unused = w("add", "i32", n, n), w("mul", "i32", n, n)
    result, other = w.new("i32"), w.new("i32")
    branch = BranchStatement(w("slt", "i1", n, integer(3, "i32")), results=[(result, used, n), (other, unused, n)])
    carried = [CarriedValue(w.new("i32"), a, w.new("i32")) for a in (n, unused)]
    loop = LoopStatement(w.new("i32"), integer(0, "i32"), n, integer(1, "i32"), carried)

    def body() -> None:
        for one in carried:
            w.code.body.statements.append(ShaderNode("add", (one.value, result), one.following))
            w("load", "i32", loop.index, details=(w.memory, "i32"))

    w.inside(loop.body, body)
    idle = LoopStatement(w.new("i32"), integer(0, "i32"), n, integer(1, "i32"))
    w.inside(idle.body, lambda: checked_nothing(w, idle.index))
    w.code.body.statements += [branch, loop, idle]
    own = ShaderMemory(MemoryKind.PRIVATE, "own", size=16, element="i32", types={"i32": None})
    w.code.memories.append(own)
    w.code.body.statements.append(ShaderNode("store", (n, n), None, (own, "i32")))
    w.store(carried[0].value, integer(0))
    code = without_dead_code(w.code)
    assert operations(code) == ["member i32", "add i32", "slt i1", "branch", "loop", "add i32", "store"]
    kept = next(one for one in code.body.walk() if isinstance(one, LoopStatement))
    assert [c.value for c in kept.carried] == [carried[0].value]
    assert len(w.code.body.statements) == 9, "the old code stays as it is"


def checked_nothing(w: Shader, index: Val) -> None:
    """A branch in which nothing is."""
    w.code.body.statements.append(BranchStatement(w("slt", "i1", index, integer(3, "i32"))))


# --- without detours ---------------------------------------------------------------------------


def tidy(shader: Shader, members: Mapping[str, Interval] | None = None) -> ShaderCode:
    """The code of an example without detours, and without what that leaves unused."""
    return without_dead_code(tidied(shader.code, members or {}, wide=False))


def test_a_check_that_cannot_fail_vanishes_with_its_branch() -> None:
    w = Shader(rows="i64")
    one = LoopStatement(w.new("i64"), integer(0), w.member("rows"), integer(1))

    def body() -> None:
        checked(w, one.index, integer(1 << 28))
        w.store(integer(7, "i32"), one.index)

    w.inside(one.body, body)
    w.code.body.statements.append(one)
    assert operations(tidy(w, SIZES)) == ["member i64", "loop", "store"]
    assert operations(tidy(w, {"rows": (0, 1 << 29)})).count("leave") == 1


def test_what_was_checked_is_not_checked_again() -> None:
    w = Shader(i="i64", rows="i64")
    index, rows = w.member("i"), w.member("rows")
    checked(w, index, rows)
    w.store(w("select", "i32", w("slt", "i1", index, integer(0)), integer(1, "i32"), integer(2, "i32")), index)
    checked(w, index, integer(1 << 28))
    assert operations(tidy(w, SIZES))[-2:] == ["leave", "store"]


def quotients() -> list[tuple[str, Callable[[Shader, Val, Val], Val], list[str]]]:
    """Operations on two sizes, and what is left of them beside the sizes."""

    def bytes_of(w: Shader, a: Val, b: Val) -> Val:
        return w("add", "i64", w("mul", "i64", a, integer(4)), w("shl", "i64", b, integer(3)))

    return [
        ("a multiple", lambda w, a, b: w("sdiv", "i64", bytes_of(w, a, b), integer(4)), ["mul i64", "add i64"]),
        ("by shift", lambda w, a, b: w("lshr", "i64", bytes_of(w, a, b), integer(2)), ["mul i64", "add i64"]),
        ("no remainder", lambda w, a, b: w("srem", "i64", bytes_of(w, a, b), integer(4)), []),
        ("power of two", lambda w, a, b: w("srem", "i64", w("add", "i64", a, b), integer(8)), ["add i64", "and i64"]),
        ("no sign", lambda w, a, b: w("sdiv", "i64", a, integer(3)), ["udiv i64"]),
        ("constants", lambda w, a, b: w("add", "i64", w("add", "i64", a, integer(3)), integer(-3)), []),
        ("negated twice", lambda w, a, b: w("xor", "i64", w("xor", "i64", a, integer(5)), integer(5)), []),
        ("the smaller", lambda w, a, b: w("smin", "i64", a, integer(1 << 30)), []),
        ("part of a sum", lambda w, a, b: w("zext", "i64", w("slt", "i1", w("add", "i64", a, b), b)), []),
        ("cut", lambda w, a, b: w("sext", "i64", w("trunc", "i32", a)), []),
        ("cut too far", lambda w, a, b: w("sext", "i64", w("trunc", "i16", a)), ["trunc i16", "sext i64"]),
        ("twice", lambda w, a, b: w("mul", "i64", w("add", "i64", a, b), w("add", "i64", b, a)),
         ["add i64", "mul i64"]),
        ("not less", lambda w, a, b: w("zext", "i64", w("xor", "i1", w("slt", "i1", a, b), integer(1, "i1"))),
         ["sge i1", "zext i64"]),
    ]  # fmt: skip


def test_operations_become_simpler() -> None:
    with every_case() as case:
        for name, write, left in quotients():
            with case(name):
                w = Shader(rows="i64", stride="i64")
                rows, stride = w.member("rows"), w.member("stride")
                w.store(write(w, rows, stride), integer(0))
                names = operations(tidy(w, SIZES))
                assert [one for one in names if one not in ("member i64", "store")] == left


def test_what_does_not_change_is_computed_before_the_loop() -> None:
    w = Shader(rows="i64", stride="i64")
    rows, stride = w.member("rows"), w.member("stride")
    outer = LoopStatement(w.new("i64"), integer(0), rows, integer(1))
    inner = LoopStatement(w.new("i64"), integer(0), rows, integer(1))

    def body() -> None:
        row = w("mul", "i64", outer.index, stride)
        last = w("mul", "i64", rows, stride)
        w.store(integer(7, "i32"), w("add", "i64", w("add", "i64", row, last), inner.index))
        # Where the divisor may be 0, the quotient stays where it was asked for.
        w.store(integer(8, "i32"), w("udiv", "i64", rows, stride))

    w.inside(inner.body, body)
    outer.body.statements.append(inner)
    w.code.body.statements.append(outer)
    assert operations(tidy(w, SIZES)) == [
        "member i64", "member i64", "mul i64", "loop", "mul i64", "add i64", "loop", "add i64", "store",
        "udiv i64", "store",
    ]  # fmt: skip


def test_loops_of_one_iteration_and_branches_of_values_are_none() -> None:
    w = Shader(n="i32")
    n = w.member("n")
    carried = CarriedValue(w.new("i32"), n, w.new("i32"))
    once = LoopStatement(w.new("i32"), integer(3, "i32"), integer(4, "i32"), integer(1, "i32"), [carried])
    w.inside(
        once.body,
        lambda: w.code.body.statements.append(ShaderNode("mul", (carried.value, once.index), carried.following)),
    )
    chosen = w.new("i32")
    never = LoopStatement(w.new("i32"), n, n, integer(1, "i32"))
    w.inside(never.body, lambda: w.store(n, integer(1)))
    w.code.body.statements.append(once)
    w.code.body.statements.append(
        BranchStatement(w("slt", "i1", n, integer(0, "i32")), results=[(chosen, carried.value, n)])
    )
    w.code.body.statements.append(never)
    w.store(chosen, integer(0))
    assert operations(tidy(w, {"n": (5, 5)})) == ["store"]
    assert operations(tidy(w)) == ["member i32", "mul i32", "slt i1", "select i32", "loop", "store", "store"]


# --- accesses ----------------------------------------------------------------------------------


def test_floats_are_loaded_and_stored_as_floats() -> None:
    w = Shader()
    other = ShaderMemory(MemoryKind.BUFFER, "B", 1, types=dict.fromkeys(("i32", "float")))
    idle = ShaderMemory(MemoryKind.SHARED, "idle", size=64, types={"float": None})
    w.code.memories += [other, idle]
    loaded = w("bitcast", "float", w("load", "i32", integer(0), details=(w.memory, "i32")))
    w.store(w("bitcast", "i32", w("fneg", "float", loaded)), integer(1))
    # Of this buffer an integer is used, too: it stays one of integers.
    both = w("load", "i32", integer(0), details=(other, "i32"))
    w.store(w("bitcast", "i32", w("fadd", "float", w("bitcast", "float", both), loaded)), integer(2))
    counted = ShaderNode("atomic", (integer(0), both), w.new("i32"), (other, "i32", "add", "device", ""))
    w.code.body.statements.append(counted)
    code = without_dead_code(with_direct_accesses(w.code))
    assert operations(code) == [
        "load float", "fneg float", "store", "load i32", "bitcast float", "fadd float", "store", "atomic i32",
    ]  # fmt: skip
    assert [(m.name, list(m.types), m.written, m.atomic) for m in code.memories] == [
        ("A", ["float"], True, False), ("B", ["i32"], True, True),
    ]  # fmt: skip
    assert list(w.memory.types) == ["i32", "i64", "float"]
