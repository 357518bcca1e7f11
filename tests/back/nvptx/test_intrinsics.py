"""Every function of LLVM that code for NVPTX may call is assembled for old and new architectures, in a child process.

Of one that its code generator does not know LLVM says so by ending the process.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest

from girih.back.llvm.assemble.assembler import llvm
from girih.back.llvm.nvptx.assemble import refuse_intrinsics
from girih.back.llvm.nvptx.intrinsics import GENERAL, refusal
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.diagnostics import InternalError
from tests.back.nvptx.assembling import PTXAS, ptxas
from tests.cases import long

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")

FLOATS = {"float": "f32", "double": "f64"}
INTEGERS = ("i8", "i16", "i32", "i64")

Call = tuple[str, str, tuple[str, ...]]
"""A function: its whole name, the type of its result, and its operands: types, or constants with theirs."""


OF_FLOATS = {
    1: ("sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven"),
    2: ("copysign", "minnum", "maxnum", "minimum", "maximum"),
    3: ("fma", "fmuladd"),
}
"""Functions of floats, by the number of their operands."""

OF_INTEGERS = {
    1: ("ctpop", "bswap", "bitreverse"),
    2: ("smin", "smax", "umin", "umax", "sadd.sat", "ssub.sat", "uadd.sat", "usub.sat"),
    3: ("fshl", "fshr"),
}

REDUCTIONS = ("add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax")

OTHERS: tuple[Call, ...] = (
    *(
        (f"llvm.vector.reduce.{name}.v4{t}", t, (f"<4 x {t}>",))
        for name, t in product(REDUCTIONS, ("i1", "i8", "i32", "i64"))
    ),
    *(
        (f"llvm.{name}.{result}.{t}", result, (t, t))
        for name, result, t in product(("scmp", "ucmp"), INTEGERS, INTEGERS)
    ),
    *((f"llvm.is.fpclass.{word}", "i1", (type, "i32 3")) for type, word in FLOATS.items()),
    ("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1 false")),
    ("llvm.memmove.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1 false")),
    ("llvm.memset.p0.i64", "void", ("ptr", "i8", "i64", "i1 false")),
    ("llvm.assume", "void", ("i1 true",)),
    *((f"llvm.nvvm.read.ptx.sreg.ctaid.{axis}", "i32", ()) for axis in "xyz"),
    ("llvm.nvvm.read.ptx.sreg.tid.x", "i32", ()),
    ("llvm.nvvm.barrier.cta.sync.aligned.all", "void", ("i32 0",)),
    ("llvm.nvvm.bar.warp.sync", "void", ("i32",)),
    *((f"llvm.nvvm.shfl.sync.{mode}.i32", "i32", ("i32",) * 4) for mode in ("idx", "bfly", "up")),
    *((f"llvm.nvvm.redux.sync.{name}", "i32", ("i32", "i32")) for name in ("add", "min", "max", "and", "or", "xor")),
    ("llvm.nvvm.exit", "void", ()),
    ("llvm.nvvm.ex2.approx.ftz.f", "float", ("float",)),
    ("llvm.nvvm.vote.all.sync", "i1", ("i32", "i1 true")),
)


def calls() -> Iterator[Call]:
    """A call of every function, for the types with which it is used."""
    for type, word in FLOATS.items():
        for count, names in OF_FLOATS.items():
            yield from ((f"llvm.{name}.{word}", type, (type,) * count) for name in names)
        for name, integer in product(("fptosi", "fptoui"), ("i32", "i64")):
            yield f"llvm.{name}.sat.{integer}.{word}", integer, (type,)
    for type in INTEGERS:
        for count, names in OF_INTEGERS.items():
            yield from ((f"llvm.{name}.{type}", type, (type,) * count) for name in names if (name, type) != NO_BYTES)
        for name in ("abs", "ctlz", "cttz"):
            yield f"llvm.{name}.{type}", type, (type, "i1 false")
        for name in ("sadd", "ssub", "smul", "uadd", "usub", "umul"):
            yield f"llvm.{name}.with.overflow.{type}", f"{{ {type}, i1 }}", (type, type)
    yield from OTHERS


NO_BYTES = ("bswap", "i8")
"""A byte has no bytes to swap."""

WITHOUT_CODE = frozenset(
    f"llvm.{name}" for name in ("lifetime.start", "lifetime.end", "experimental.noalias.scope.decl")
)
"""Those that only LLVM's passes write and read."""


def module_of(called: Iterable[Call]) -> str:
    """A module with a kernel for each call, which stores what it gives for its parameters."""
    texts = []
    for count, (name, result, operands) in enumerate(called):
        given = [one if re.search(r" \S+$", one) and one[0] == "i" else f"{one} %p{number}"
                 for number, one in enumerate(operands)]  # fmt: skip
        declared = ", ".join(one.rsplit(" ", 1)[0] for one in given)
        made = f"call {result} @{name}({', '.join(given)})"
        body = f"  {made}\n" if result == "void" else f"  %found = {made}\n  store {result} %found, ptr %to\n"
        header = ", ".join(["ptr %to", *(one for one in given if "%" in one)])
        texts.append(f"declare {result} @{name}({declared})\n")
        texts.append(f"define ptx_kernel void @kernel{count}({header}) {{\n{body}  ret void\n}}\n")
    return "".join(texts)


def test_every_function_of_the_table_is_called() -> None:
    called = {name for name, *_ in calls()} | WITHOUT_CODE
    never = {one for one in GENERAL if not any(name == one or name.startswith(f"{one}.") for name in called)}
    assert never == {one for one in GENERAL if _is_of_matrices(one)}
    assert {name: refusal(name) for name in called if refusal(name)} == {}


def _is_of_matrices(name: str) -> bool:
    """Whether products and copies of tensors, which have tests of their own, use a function."""
    return any(word in name for word in ("mma", "ldmatrix", "stmatrix", "cp.async", "mbarrier", "fence.proxy"))


SCRIPT = """
import sys
from girih.back.llvm.nvptx.assemble import ptx_of
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from tests.back.nvptx.test_intrinsics import calls, module_of
print(ptx_of(module_of(calls()), architecture_named(sys.argv[1])))
"""


@pytest.mark.parametrize("name", ["sm_90a", *long(name for name in ARCHITECTURES if name != "sm_90a")])
def test_every_function_has_code(name: str, tmp_path: Path, repository: Path) -> None:
    words = [sys.executable, "-c", SCRIPT, name]
    done = subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1500:]
    assert done.stdout.count(".visible .entry") == len(list(calls()))
    assert ".extern .func" not in done.stdout, "a GPU has no library of functions"
    if PTXAS is not None:
        assert ptxas(done.stdout, name, tmp_path).problems == ""


@pytest.mark.parametrize(
    ("name", "why"), [("llvm.sin.f32", "not in the table of intrinsics"), ("sinf", "a GPU has no library of functions")]
)
def test_another_function_is_refused_in_words(name: str, why: str) -> None:
    text = module_of([(name, "float", ("float",))])
    module = llvm().parse_assembly(text, context=llvm().create_context())
    with pytest.raises(InternalError, match=why):
        refuse_intrinsics(module, architecture_named("sm_90a"))
