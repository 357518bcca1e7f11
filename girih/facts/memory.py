"""The words of findings about memory that is bytes: offsets, alignments, addresses, arrays, undefined values.

The index of a finding is the first byte that is accessed, its shape how many bytes the memory has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.diagnostics import plural
from girih.facts.findings import FindingWords
from girih.ir.core import Op

if TYPE_CHECKING:
    from girih.ops.device.memory import ArrayIndex, BufferAt


def bytes_outside(op: Op, width: int, name: str) -> FindingWords:
    """The words for an access to `width` bytes that do not all lie in a memory."""
    message = f"{op.spec.called} outside its memory"
    return FindingWords("run.out_of_bounds", message, f"{_bytes(width)} of %{name}, which has {{shape[0]}}")


def bytes_unwritten(op: Op, width: int, name: str) -> FindingWords:
    """The words for a read of `width` bytes some of which were never written, or have an undefined value."""
    message = f"{op.spec.called} of %{name} before it is written"
    return FindingWords("run.uninitialized", message, f"{_bytes(width)} of {{shape[0]}}")


def bytes_misaligned(op: Op, alignment: int, name: str) -> FindingWords:
    """The words for an access at an offset that is no multiple of the alignment, which is more than 1."""
    message = f"{op.spec.called} of %{name} is less aligned than it promises, to {alignment} bytes"
    return FindingWords("run.misaligned", message, "byte {index[0]} of {shape[0]}")


def _bytes(width: int) -> str:
    """The template for `width` bytes, of which the first is the index of a finding."""
    return "byte {index[0]}" if width == 1 else f"bytes {{index[0]}} to {{behind[{width - 1}]}}"


def element_outside(op: ArrayIndex) -> FindingWords:
    """The words for an index outside an array of fixed size inside a memory, or of a component outside a vector."""
    if op.vector:
        place = f"component {{index[0]}} of `{op.text}`, which has {op.size}"
        return FindingWords("run.undefined_operation", "a component that the vector does not have", place)
    place = f"index {{index[0]}} of array `{op.text}`, which has {plural(op.size, 'element')}"
    return FindingWords("run.out_of_bounds", "an index outside its array", place, "warning" if op.robust else "error")


# Undefined values.


def undefined_decides(op: Op, operand: str) -> FindingWords:
    """The words for an undefined value as an index, an offset, an address or a condition."""
    return FindingWords("run.undef", f"`{operand}` of {op.spec.called} is an undefined value")


def undefined_stored(op: Op, name: str) -> FindingWords:
    """The words for an undefined value that is stored where others see it."""
    return FindingWords("run.undef", f"{op.spec.called} stores an undefined value to %{name}")


# Addresses. The index of a finding is the address, its shape the distance to the nearest buffer and its bytes.


def address_is_null(op: BufferAt) -> FindingWords:
    """The words for an access through an address that is 0."""
    return FindingWords("run.address", f"{_accessed(op)} at a null address")


def address_without_buffer(op: BufferAt) -> FindingWords:
    """The words for an address in a launch that has no buffers with addresses."""
    return FindingWords(
        "run.address", f"{_accessed(op)} in no buffer, of which there are none", "address {index[0]:#x}"
    )


def address_behind(op: BufferAt, name: str) -> FindingWords:
    """The words for an address behind the end of the nearest buffer, or at it."""
    place = f"address {{index[0]:#x}}, {{shape[0]}} bytes behind the end of %{name}, which has {{shape[1]}}"
    return FindingWords("run.address", f"{_accessed(op)} in no buffer", place)


def address_before(op: BufferAt, name: str) -> FindingWords:
    """The words for an address before the beginning of the nearest buffer."""
    place = f"address {{index[0]:#x}}, {{shape[0]}} bytes before the beginning of %{name}, which has {{shape[1]}}"
    return FindingWords("run.address", f"{_accessed(op)} in no buffer", place)


def address_at_the_end(op: BufferAt, name: str) -> FindingWords:
    """The words for an address in a buffer that has too few bytes from there on."""
    place = f"address {{index[0]:#x}}, {{shape[0]}} bytes before the end of %{name}, which has {{shape[1]}}"
    return FindingWords("run.address", f"{_accessed(op)} over the end of a buffer", place)


def _accessed(op: BufferAt) -> str:
    return f"an access to {plural(op.bytes, 'byte')}"
