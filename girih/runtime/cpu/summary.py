"""The summary of how a processor executes the language, from the facts by which its code is made."""

from __future__ import annotations

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.numbers.values import register
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F32, PARTS, SCALARS, Boolean, MatrixScope, Number
from girih.runtime.cpu.machine import facts_of
from girih.runtime.device import ExecutionSummary

_PAIRS = "products of matrices by dot products of pairs"
_TILES = "products of matrices by tiles of AMX"
_BITS = "moved as bits, products of matrices in f32; converted by integer instructions"


def summary_of(cpu: Cpu) -> ExecutionSummary:
    """The summary of how code for a processor executes types and matrices, and of the processor itself."""
    host = Cpu.host()
    facts, missing = facts_of(cpu), cpu.missing_on(host)
    return ExecutionSummary(
        {
            "processor": f"{cpu}, {cpu.triple}",
            "machine": str(facts.machine),
            "vectors": f"{facts.registers} registers of {facts.vector_bytes} bytes",
            "runs here": f"no, this machine lacks {', '.join(missing)}" if missing else "yes",
        },
        {name: _of_type(type, facts) for name, type in SCALARS.items()},
        {
            MatrixScope.SUBGROUP.value: "vectors along the rows, in registers, or in memory where they are too large",
            MatrixScope.WORK_GROUP.value: "the same, by each subgroup of the work-group",
        },
    )


def _of_type(type: Number | Boolean, facts: CpuTarget) -> str:
    """The way in which a processor computes with a scalar type, in words."""
    found = _of_elements(type, facts)
    return f"{found}; {_TILES}" if type in facts.amx else found


def _of_elements(type: Number | Boolean, facts: CpuTarget) -> str:
    if isinstance(type, Boolean):
        return "one bit; one byte in memory"
    if type in PARTS:
        return f"two {PARTS[type]}, {facts.lanes_of(PARTS[type].size)} to a vector"
    if type in EIGHT_BIT_FLOATS:
        return _BITS
    if register(type) != register(F32) or type == F32:
        return f"{facts.lanes_of(type.size)} to a vector"
    rounded = f"in f32, {facts.lanes_of(F32.size)} to a vector, rounded after every operation"
    if type == BF16:
        return f"{rounded}; {_PAIRS}" if facts.dot_bf16 and type not in facts.amx else rounded
    return f"{rounded}; converted by {'one instruction' if facts.features.f16 else 'several integer instructions'}"
