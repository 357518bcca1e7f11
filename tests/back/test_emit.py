"""The text of LLVM IR: what depends on the target, and tables of lowerings."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from girih.back.llvm.emit.folding import combined, converted, lane_values
from girih.back.llvm.emit.text import (
    GENERAL_REGISTERS,
    ModuleText,
    Val,
    address_space,
    bits,
    constant_vector,
    integer,
    mangled,
    pointer,
    zero,
)
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.table import GENERIC
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import Cast
from girih.ops.tile.control import Barrier
from tests.cases import every_case

NVPTX_REGISTERS = {"i16": "h", "i32": "r", "i64": "l"}


def test_pointers_know_their_address_space() -> None:
    shared = pointer(3)
    assert (shared, pointer(), address_space("<8 x ptr addrspace(3)>"), address_space("ptr")) == (
        "ptr addrspace(3)", "ptr", 3, 0
    )  # fmt: skip
    assert bits(shared) == 64
    assert mangled(f"<8 x {shared}>") == "v8p3"
    assert str(zero(shared)) == "ptr addrspace(3) null"


def test_memory_of_any_space_is_read_and_written() -> None:
    module = ModuleText({})
    w = Writer(module, "define void @f(ptr addrspace(3) %p, <8 x i1> %m, i32 %x)")
    local = Val("%p", pointer(3))
    eight = w.load("<8 x i32>", w.at(local, 64), 4)
    w.masked_store(eight, local, Val("%m", "<8 x i1>"), 4)
    w.masked_load("<8 x i32>", local, Val("%m", "<8 x i1>"), 4, eight)
    many = w.at(local, Val("splat (i64 4)", "<8 x i64>"))
    w.scatter(w.gather("<8 x i32>", many, Val("%m", "<8 x i1>"), 4, eight), many, Val("%m", "<8 x i1>"), 4)
    w.atomic_update("add", local, Val("%x", "i32"), 4, "block")
    w.atomic_store(w.atomic_load("i32", local, 4, "block"), local, 4, "block", "release")
    pair = w.compare_exchange(local, Val("%x", "i32"), integer(1, "i32"), 4, "device")
    w.prefetch(w.select(w.exchanged(pair), local, w.at(local, 8)))
    w.fence("acq_rel", "block")
    w.ret()
    w.finish()
    llvm.parse_assembly(str(module)).verify()


def looping(module: ModuleText) -> str:
    w = Writer(module, "define void @f(ptr %p, i64 %n)")
    with w.loop(0, Val("%n", "i64"), 4) as loop:
        w.store(loop.index, Val("%p", "ptr"), 8)
    w.ret()
    w.finish()
    return str(module)


@pytest.mark.parametrize(
    ("registers", "hidden"), [(GENERAL_REGISTERS, '"=r,0"(i64'), (NVPTX_REGISTERS, '"=l,0"(i64'), ({}, None)]
)  # fmt: skip
def test_a_counter_is_hidden_in_a_register_of_its_width(registers: dict[str, str], hidden: str | None) -> None:
    text = looping(ModuleText(registers))
    llvm.parse_assembly(text).verify()
    assert (hidden in text) if hidden else ("asm" not in text)


def test_on_nvptx_counters_keep_their_64_bits() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90a", opt=1)
    for registers, narrow in ((NVPTX_REGISTERS, False), ({}, False), ({"i64": "r"}, True)):
        text = 'target triple = "nvptx64-nvidia-cuda"\n' + looping(ModuleText(registers))
        assert ("cvt.u32.u64" in machine.emit_assembly(llvm.parse_assembly(text))) is narrow


def test_two_rules_for_one_instruction_cannot_be_joined() -> None:
    table = Lowerings[KernelCode]()
    table.of(Cast, giving=CoopMatrix)(lambda code, op: None)
    joined = GENERIC.joined(table)
    assert Barrier in joined
    with pytest.raises(ValueError, match="two rows for CoopMatrix"):
        joined.joined(table)
    with pytest.raises(ValueError, match="two rows for"):
        GENERIC.joined(GENERIC)


def test_constant_vectors_are_computed_while_code_is_written() -> None:
    a, ones = constant_vector([-1, 6, 5, 4], "i8"), integer(1, "<4 x i8>")
    with every_case() as case:
        for opcode, wanted in (("lshr", [127, 3, 2, 2]), ("ashr", [-1, 3, 2, 2]), ("udiv", [-1, 6, 5, 4])):
            with case(opcode):
                found = combined(opcode, a, ones)
                assert found is not None and lane_values(found) == tuple(wanted)
        for opcode, first in (("zext", 255), ("sext", -1)):
            with case(opcode):
                found = converted(opcode, a, "<4 x i32>")
                assert found is not None and lane_values(found) == (first, 6, 5, 4)
        with case("what has no value is left to the processor"):
            assert combined("udiv", a, integer(0, a.type)) is None and combined("lshr", a, integer(8, a.type)) is None


def test_a_value_compared_with_itself_is_known() -> None:
    w = Writer(ModuleText({}), "define void @f(i64 %n, double %x)")
    n, x = Val("%n", "i64"), Val("%x", "double")
    assert [w.compare(predicate, n, n).literal for predicate in ("eq", "ne", "slt", "sle", "ugt", "uge")] == [
        1, 0, 0, 1, 0, 1,
    ]  # fmt: skip
    # What is not a number differs from itself.
    assert w.compare("oeq", x, x).literal is None


def test_code_in_front_of_other_code_takes_nothing_from_it() -> None:
    """What stands at the entry, or before a loop, has instructions of its own, which the loop may use from then on."""
    module = ModuleText(GENERAL_REGISTERS)
    w = Writer(module, "define void @f(ptr %p, i64 %n)")
    p, n = Val("%p", "ptr"), Val("%n", "i64")
    with w.loop(0, n) as loop:
        with w.when(w.compare("sgt", loop.index, 5)):
            w.store(loop.index, w.pure("ptr", "getelementptr i8, ptr %p, i64 %n", [p, n], stays=True), 8)
            with w.before_loop():
                w.store(n, w.at(p, n), 8)
            w.store(n, w.at(p, n), 8)
        w.store(n, w.at(p, 64), 8)
    w.store(n, w.at(p, 72), 8)
    with w.at_entry():
        w.store(n, w.at(p, 72), 8)
    w.ret()
    w.finish()
    llvm.parse_assembly(str(module)).verify()
