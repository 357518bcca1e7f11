"""Kernels in LLVM IR, written by hand, as the CPU target would compile them."""

from __future__ import annotations

from functools import lru_cache

import girih
from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.back.llvm.lower.sites import Site
from girih.runtime.cpu.kernel import CpuKernel

SIGNATURE = "define void @kernel(ptr %arguments, ptr %workspace, i64 %first, i64 %last)"

PER_GROUP = (
    "declare i32 @usleep(i32)\n"
    + SIGNATURE
    + """ {{
entry:
  %slot = getelementptr i8, ptr %arguments, i64 32
  %record_at = getelementptr i8, ptr %arguments, i64 24
  %data = load ptr, ptr %slot
  %record = load ptr, ptr %record_at
  br label %group
group:
  %number = phi i64 [ %first, %entry ], [ %next, %end ]
  %state = load atomic i32, ptr %record monotonic, align 4
  %ended = icmp ne i32 %state, 0
  br i1 %ended, label %out, label %work
work:
  {body}
  br label %end
end:
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, %last
  br i1 %more, label %group, label %out
out:
  ret void
}}
"""
)
"""A kernel whose first parameter is a memref (`%data`), with instructions for work-group `%number`; `%out` ends it."""

COUNT = """
  %element = getelementptr i64, ptr %data, i64 %number
  %before = atomicrmw add ptr %element, i64 1 monotonic
"""
"""data[number] += 1"""

USES_WORKSPACE = """
  store i64 %number, ptr %workspace
  %aligned = ptrtoint ptr %workspace to i64
  %rest = and i64 %aligned, 127
  %own = load volatile i64, ptr %workspace
  %sum = add i64 %own, %rest
  %element = getelementptr i64, ptr %data, i64 %number
  store i64 %sum, ptr %element
"""
"""data[number] = number, by way of the workspace; more where that is not aligned."""

FAILS_AT_SEVEN = (
    COUNT
    + """
  %seventh = icmp eq i64 %number, 7
  br i1 %seventh, label %fail, label %end
fail:
  %claim = cmpxchg ptr %record, i32 0, i32 1 monotonic monotonic
  %site = getelementptr i8, ptr %record, i64 4
  %at = getelementptr i8, ptr %record, i64 8
  %subgroup = getelementptr i8, ptr %record, i64 16
  %lane = getelementptr i8, ptr %record, i64 24
  %value0 = getelementptr i8, ptr %record, i64 32
  %value1 = getelementptr i8, ptr %record, i64 40
  %value2 = getelementptr i8, ptr %record, i64 48
  %value3 = getelementptr i8, ptr %record, i64 56
  store i32 1, ptr %site
  store i64 %number, ptr %at
  store i64 2, ptr %subgroup
  store i64 3, ptr %lane
  store i64 9, ptr %value0
  store i64 -1, ptr %value1
  store i64 4, ptr %value2
  store i64 5, ptr %value3
  store atomic i32 2, ptr %record release, align 4
  ret void
skip:
"""
)
"""Work-group 7 fails at site 1, in lane 3 of subgroup 2, with index (9, -1) of shape (4, 5)."""

WAITS_FOR_FLAG = """
  %flag = getelementptr i64, ptr %data, i64 0
  %seen = getelementptr i64, ptr %data, i64 1
  br label %look
look:
  %turn = phi i64 [ 0, %work ], [ %turns, %look ]
  %turns = add i64 %turn, 1
  %now = load atomic i64, ptr %flag monotonic, align 8
  %set = icmp ne i64 %now, 0
  %tired = icmp ugt i64 %turns, 20000000000
  %over = or i1 %set, %tired
  br i1 %over, label %tell, label %look
tell:
  store i64 %now, ptr %seen
"""
"""Waits until data[0] is not 0, then sets data[1] to it."""

SLOW = """
  br label %look
look:
  %turn = phi i64 [ 0, %work ], [ %turns, %look ]
  %turns = add i64 %turn, 1
  store volatile i64 %turns, ptr %data
  %over = icmp ugt i64 %turns, 100000
  br i1 %over, label %done, label %look
done:
"""
"""Some microseconds of work, by when data[0] is not 0."""

TAKES_60_MILLISECONDS = """
  %begun = atomicrmw add ptr %data, i64 1 monotonic
  %slept = call i32 @usleep(i32 60000)
"""
"""data[0] counts the work-groups that were begun."""

FAILS_WHEN_TWO_HAVE_BEGUN = """
  %begun = atomicrmw add ptr %data, i64 1 monotonic
  %first_of_all = icmp eq i64 %number, 0
  br i1 %first_of_all, label %wait, label %follow
wait:
  %count = load atomic i64, ptr %data monotonic, align 8
  %both = icmp uge i64 %count, 2
  br i1 %both, label %fail, label %wait
fail:
  %claim = cmpxchg ptr %record, i32 0, i32 2 monotonic monotonic
  ret void
follow:
  %told = load atomic i32, ptr %record monotonic, align 4
  %over = icmp ne i32 %told, 0
  br i1 %over, label %done, label %follow
done:
"""
"""data[0] counts the work-groups that were begun; the first fails when there is another, which lasts until then."""

SITES = (
    Site("run.null", "nothing", (0, 0)),
    Site("run.out_of_bounds", "a load from %A is out of bounds", (5, 12), "A", 2, 2),
    Site("run.size", "sizes differ", (5, 12), "A", 2, 0, by_lane=False),
)


@lru_cache(maxsize=64)
def machine_code(text: str) -> bytes:
    return assemble(text, Cpu.host())


def kernel(
    parameters: str,
    body: str,
    *,
    workspace_bytes: int = 0,
    serial_groups: int = 1,
    sites: tuple[Site, ...] = SITES,
) -> CpuKernel:
    """A kernel with parameters of the language whose work-groups execute instructions of LLVM IR."""
    return whole(parameters, PER_GROUP.format(body=body), workspace_bytes, serial_groups, sites)


def whole(
    parameters: str, text: str, workspace_bytes: int = 0, serial_groups: int = 1, sites: tuple[Site, ...] = SITES
) -> CpuKernel:
    """A kernel that is written as a whole."""
    function = girih.parse(f"func @kernel({parameters}) {{}}").functions[0]
    compiled = CompiledKernel(
        "kernel", "kernel", machine_code(text), workspace_bytes, sites, 8, (8, 1), serial_groups
    )  # fmt: skip
    return CpuKernel(function, compiled)


def copies_slots(count: int) -> str:
    """A kernel that copies the slots after the first parameter, a memref of static sizes, to that memref."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{SIGNATURE} {{
  %slot = getelementptr i8, ptr %arguments, i64 32
  %rest = getelementptr i8, ptr %arguments, i64 40
  %data = load ptr, ptr %slot
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %rest, i64 {8 * count}, i1 false)
  ret void
}}
"""


def copies_table(words: int) -> str:
    """A kernel that copies words of the table of its second parameter, a group, to the first."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{SIGNATURE} {{
  %slot = getelementptr i8, ptr %arguments, i64 32
  %group = getelementptr i8, ptr %arguments, i64 40
  %data = load ptr, ptr %slot
  %table = load ptr, ptr %group
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %table, i64 {8 * words}, i1 false)
  ret void
}}
"""
