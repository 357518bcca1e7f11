"""An emitted kernel on a device: its parameters in the order of its bindings and members, its run, what it found.

Parameters of the kernel are, in this order: for each binding a pointer (a memref, the records of a group, the block of
members where these are in a buffer, the findings record); then each member by value, unless they are in a buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.arguments.arrays import Accepted
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.diagnostics import Finding, InternalError
from girih.runtime.emitted.members import member_block, member_value
from girih.runtime.emitted.record import RECORD_BYTES, finding_in
from girih.runtime.opencl.memory import DeviceArguments, place
from girih.runtime.opencl.program import OpenClProgram
from girih.runtime.opencl.session import OpenClSession, SharedMemory

_BEHIND_RECORD = 16
"""The bytes behind the findings record, for accesses of work-items that have left."""


class OpenClKernel:
    """A kernel that the driver of a device has built. Raises `OpenClError` for a module that it does not take."""

    def __init__(self, session: OpenClSession, emitted: EmittedKernel) -> None:
        self.emitted = emitted
        self._session = session
        self._types = [parameter.type for parameter in emitted.function.parameters]
        self._program = OpenClProgram(session, emitted.module.to_bytes(), emitted.entry)

    def launch(self, grid: tuple[int, int, int], accepted: Sequence[Accepted]) -> Finding | None:
        """Run the kernel and wait for it: what a check found first, or None.

        The caller's arrays are changed if nothing was found. Raises `OpenClError` for want of memory, and where the
        device did not survive.
        """
        if 0 in grid:
            return None
        with self._session.lock:
            placed = place(self._session, self._types, accepted)
            extra: dict[str, SharedMemory] = {}
            try:
                self._place_rest(accepted, extra)
                reached = placed.reached
                arguments = self._arguments(placed, accepted, extra)
                self._program.run(grid, self.emitted.local_size, arguments, reached)
                record = extra.get("findings")
                found = None if record is None else finding_in(record.get_bytes(RECORD_BYTES), self.emitted)
                if found is None:
                    placed.fetch()
                return found
            finally:
                placed.free()
                for memory in extra.values():
                    memory.free()

    def _place_rest(self, accepted: Sequence[Accepted], extra: dict[str, SharedMemory]) -> None:
        """What a launch passes besides its arguments: the findings record, and members that are in a buffer."""
        for binding in self.emitted.bindings:
            if binding.kind in ("findings", "parameters"):
                record = binding.kind == "findings"
                content = bytes(RECORD_BYTES + _BEHIND_RECORD) if record else member_block(self.emitted, accepted)
                extra[binding.kind] = self._session.allocate(len(content))
                extra[binding.kind].put_bytes(content)

    def _arguments(
        self, placed: DeviceArguments, accepted: Sequence[Accepted], extra: dict[str, SharedMemory]
    ) -> list[int | bytes]:
        passed: list[int | bytes] = []
        for binding in sorted(self.emitted.bindings, key=lambda one: one.binding):
            if binding.kind in extra:
                passed.append(extra[binding.kind].address)
            elif binding.parameter is None:
                raise InternalError(f"binding {binding.binding} of @{self.emitted.function.name} has no parameter")
            else:
                passed.append(placed.addresses[binding.parameter])
        if not self.emitted.members_in_buffer:
            passed += [
                member_value(member, self._types[member.parameter], accepted[member.parameter])
                for member in self.emitted.members
            ]
        return passed
