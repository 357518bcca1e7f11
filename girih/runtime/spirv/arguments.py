"""The arguments of a launch of a shader as those of its function: bytes for each parameter (`docs/design/device.md`).

Nothing is copied but dictionaries and push constants: the arrays that executors get show the caller's memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.analysis.effects import written_parameters
from girih.arguments.arrays import Uninitialized, uninitialized
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.views import address, as_array
from girih.diagnostics import KernelError, nearest
from girih.front.spirv.translated import Translated
from girih.lazy_dataclass import dataclass
from girih.runtime.device import AddressedBuffer, ShaderArguments, ShaderBinding, ShaderBuffer
from girih.runtime.spirv.buffer import ADDRESSES, Buffer
from girih.runtime.spirv.findings import in_the_shader
from girih.runtime.spirv.report import ShaderReport, described, place_of
from girih.runtime.spirv.structs import packed
from girih.source import NOWHERE
from girih.spirv.model.declared.bindings import BlockVariable, ShaderInterface, ShaderResource
from girih.spirv.model.declared.resources import storage_of

Bytes = NDArray[np.int8]

ALIGNMENT = 16
"""What the first byte of a buffer is a multiple of, in bytes: the largest alignment that an access can ask for."""

ARGUMENTS = ("bindings", "push_constants", "buffers")
"""The names of what the launch of a shader takes, in order."""

_MOST_ITEMS = 2**32


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """A buffer of a launch: its bytes, whether they count as written, and its address if that is known.

    `home` is the memory of a device in which it has that address; None for an address in the memory of this process.
    """

    bytes: Bytes
    unwritten: bool = False
    address: int | None = None
    home: AddressedBuffer | None = None

    @property
    def value(self) -> object:
        """The argument for an executor."""
        return uninitialized(self.bytes) if self.unwritten else self.bytes

    @property
    def writeable(self) -> BoundBuffer:
        """The buffer, or a copy of one that is read-only."""
        return self if self.bytes.flags.writeable else replace(self, bytes=self.bytes.copy())


class ShaderCall:
    """The way in which an entry point is called: from what callers give to the arguments of its function."""

    __slots__ = ("_written", "interface", "local_size", "name", "translated")

    def __init__(self, translated: Translated) -> None:
        function = translated.function
        self.translated = translated
        self.name = function.name
        self.local_size = translated.local_size
        self.interface: ShaderInterface = translated.interface
        written = written_parameters(function)
        self._written = [parameter.value in written for parameter in function.parameters]

    def __reduce__(self) -> tuple[object, ...]:
        return ShaderCall, (self.translated,)

    @property
    def signature(self) -> str:
        """The name of the entry point and what it takes, in words."""
        push = self.interface.push_constants
        pushed = [f"push constants: {_block_in_words(push)}"] if push else []
        return f"@{self.name}({'; '.join([*map(described, self.interface.resources), *pushed])})"

    def arguments(
        self, positional: Sequence[object], named: Mapping[str, object], grid: tuple[int, int, int]
    ) -> tuple[object, ...]:
        """The arguments of the function, for what a launch on a grid was given.

        That is a mapping from (set, binding), or names, to buffers; `push_constants`, bytes or a mapping; `buffers`,
        those that are reached by address alone. Raises `LaunchError` with all that is wrong.
        """
        bound, push, extra = self._accepted(positional, named, grid)
        if self.interface.has_addresses:
            return self._with_addresses(bound, push, extra)
        values = [
            [one.value for one in buffers] if resource.is_array else buffers[0].value
            for resource, buffers in zip(self.interface.resources, bound, strict=True)
        ]
        return (*values, *push)

    def buffers(
        self, positional: Sequence[object], named: Mapping[str, object], grid: tuple[int, int, int]
    ) -> ShaderArguments:
        """What a launch on a grid was given, as executors take it that execute the module itself.

        Raises `LaunchError` as `arguments` does.
        """
        bound, push, extra = self._accepted(positional, named, grid)
        bindings = []
        for number, (resource, buffers) in enumerate(zip(self.interface.resources, bound, strict=True)):
            written = self._written[0 if self.interface.has_addresses else number] and not resource.read_only
            places = [place_of(resource, index if resource.is_array else None) for index in range(len(buffers))]
            listed = tuple(ShaderBuffer(one.bytes, place, one.home) for one, place in zip(buffers, places, strict=True))
            bindings.append(ShaderBinding(resource.set, resource.binding, self._is_uniform(resource), written, listed))
        reached = tuple(ShaderBuffer(one.bytes, f"buffers[{k}]", one.home) for k, one in enumerate(extra))
        return ShaderArguments(tuple(bindings), reached, push[0].tobytes() if push else b"")

    def _is_uniform(self, resource: ShaderResource) -> bool:
        """Whether a resource is a uniform buffer (Vulkan 15.5.2)."""
        facts = self.interface.facts
        return any(
            storage_of(facts.module.definitions[one.id]) == "Uniform"
            and not facts.annotations.has(one.struct.id, "BufferBlock")
            for one in resource.variables
        )

    def _accepted(
        self, positional: Sequence[object], named: Mapping[str, object], grid: tuple[int, int, int]
    ) -> tuple[list[list[BoundBuffer]], list[Bytes], list[BoundBuffer]]:
        """The buffers of each resource, push constants, and further buffers. Raises `LaunchError`."""
        bindings, pushed, more = self.in_order(positional, named)
        report = ShaderReport()
        self._check_grid(grid, report)
        given = self._by_resource(bindings, report)
        bound = [self._resource(number, one, given, report) for number, one in enumerate(self.interface.resources)]
        push = self._push_constants(pushed, report)
        extra = [*self._extra(more, report), *self._idle(bindings, report)]
        report.finish()
        return bound, push, extra

    def in_its_words(
        self, error: KernelError, subgroup_size: int | None, arguments: Sequence[object], named: Mapping[str, object]
    ) -> KernelError:
        """The findings of a launch with arguments in the words of the shader (`girih.runtime.spirv.findings`)."""
        members = self.member_names(arguments, named) if self.interface.has_addresses else []
        return KernelError([in_the_shader(self.translated, one, subgroup_size, members) for one in error.findings])

    def member_names(self, arguments: Sequence[object], named: Mapping[str, object]) -> list[str]:
        """What the members of the group of all buffers are called, in their order, for arguments that were accepted."""
        bindings, _, more = self.in_order(arguments, named)
        given = self._by_resource(bindings, ShaderReport())
        names: list[str] = []
        known: set[int] = set()
        for resource in self.interface.resources:
            name = resource.names[0] if resource.names else f"buffer_{resource.set}_{resource.binding}"
            value = given[resource]
            while isinstance(value, Uninitialized):
                value = value.array
            many = value if resource.is_array and isinstance(value, list | tuple) else [value]
            names += [f"{name}[{k}]" for k in range(len(many))] if resource.is_array else [name]
            known.update(one.address for one in many if isinstance(one, Buffer))
        listed = more if isinstance(more, list | tuple) else ()
        others = [(f"buffers[{k}]", one) for k, one in enumerate(listed)]
        places = {(one.set, one.binding) for one in self.interface.resources}
        others += [(f"binding {key}", one) for key, one in bindings.items() if _is_place(key) and key not in places]
        for name, one in others:
            if isinstance(one, Buffer) and one.address not in known:
                known.add(one.address)
                names.append(name)
        return names

    def in_order(
        self, positional: Sequence[object], named: Mapping[str, object]
    ) -> tuple[Mapping[object, object], object, object]:
        """The buffers by key, the push constants and the further buffers. Raises `LaunchError` for other arguments."""
        return _given(self.name, positional, named)

    def _with_addresses(
        self, bound: Sequence[Sequence[BoundBuffer]], push: Sequence[Bytes], extra: Sequence[BoundBuffer]
    ) -> tuple[object, ...]:
        """The group of all buffers, push constants, and the addresses. A buffer that is bound need not be named.

        Executors may write to each member. A read-only array at a binding that the shader only reads, which has no
        address that a shader could know, is a copy.
        """
        known = {one.address for buffers in bound for one in buffers}
        members = [one for buffers in bound for one in buffers]
        members += {one.address: one for one in extra if one.address not in known}.values()
        given = [ADDRESSES.take(one.bytes.size) if one.address is None else one.address for one in members]
        addresses = np.array(given, np.uint64).view(np.int64)
        return [one.writeable.value for one in members], *push, addresses

    def _check_grid(self, grid: tuple[int, int, int], report: ShaderReport) -> None:
        if 0 in grid:
            report.add("bind.work_groups", f"expected: at least one work-group along each axis; found: {grid}")
        for axis, groups, size in zip("xyz", grid, self.local_size, strict=True):
            if groups * size >= _MOST_ITEMS:
                found = f"{groups} work-groups of {size} work-items along {axis}"
                hint = "gl_GlobalInvocationID has 32 bits"
                report.add(
                    "bind.work_groups", f"expected: fewer than 2^32 work-items along an axis; found: {found}", hint
                )
        if prod(grid) >= 2**63:
            report.add("bind.work_groups", f"expected: fewer than 2^63 work-groups; found: {grid}")

    # --- which buffer is whose ---------------------------------------------------------------

    def _by_resource(self, bindings: Mapping[object, object], report: ShaderReport) -> dict[ShaderResource, object]:
        """What was given for each resource. What a key does not name, or names twice, is reported."""
        found: dict[ShaderResource, tuple[object, object]] = {}
        before = len(report.diagnostics)
        for key, value in bindings.items():
            resource = self._named(key, report, has_address=isinstance(value, Buffer))
            if resource is None:
                continue
            if resource in found:
                first = found[resource][0]
                message = f"{place_of(resource)} is given twice: as {first!r} and as {key!r}"
                report.add("bind.binding_unknown", message)
            found[resource] = key, value
        wrong = len(report.diagnostics) > before
        for resource in self.interface.resources:
            # A key that means none may have been meant for this one.
            if resource not in found and not wrong:
                report.add("bind.binding_missing", f"expected: a buffer for {described(resource)}; found: none")
        return {resource: value for resource, (_, value) in found.items()}

    def _named(self, key: object, report: ShaderReport, *, has_address: bool) -> ShaderResource | None:
        """The resource that a key means; None where it means none, which is reported if it is wrong."""
        resources = self.interface.resources
        if isinstance(key, str):
            found = [one for one in resources if key in one.names]
            if len(found) == 1:
                return found[0]
            if found:
                places = " and ".join(place_of(one) for one in found)
                report.add("bind.binding_key", f"{key!r} is the name of {places}", "write a tuple (set, binding)")
                return None
            close = nearest(key, [name for one in resources for name in one.names])
            meant = f"; did you mean {close!r}?" if close else ""
            report.add("bind.binding_unknown", f"no buffer is called {key!r}{meant}", self._listed())
            return None
        if not _is_place(key):
            hint = f"write (0, {key}) for binding {key} of set 0" if isinstance(key, int) else None
            report.add(
                "bind.binding_key", f"expected: (set, binding), or a name; found: {key!r}", hint or self._listed()
            )
            return None
        return self._at(key, report, has_address=has_address)

    def _at(self, place: Any, report: ShaderReport, *, has_address: bool) -> ShaderResource | None:
        """The resource of a set and binding; None for one that the shader does not use, and may reach by address."""
        number, binding = map(int, place)
        for one in self.interface.resources:
            if (one.set, one.binding) == (number, binding):
                return one
        by_address = has_address and self.interface.has_addresses
        if (number, binding) not in self.interface.declared and not by_address:
            message = f"the shader has no buffer at set {number}, binding {binding}"
            report.add("bind.binding_unknown", message, self._listed())
        return None

    def _listed(self) -> str:
        """What the shader takes, in words."""
        return "the shader takes " + ("; ".join(map(described, self.interface.resources)) or "no buffers")

    # --- the bytes of each -------------------------------------------------------------------

    def _resource(
        self, number: int, resource: ShaderResource, given: Mapping[ShaderResource, object], report: ShaderReport
    ) -> list[BoundBuffer]:
        """The buffers of a resource; fewer where something is wrong, which is reported."""
        if resource not in given:
            return []
        writes = self._written[0 if self.interface.has_addresses else number]
        writable = writes and not (self.interface.has_addresses and resource.read_only)
        value = given[resource]
        if not resource.is_array:
            made = self._buffer(value, resource, place_of(resource), report, writable=writable)
            return [] if made is None else [made]
        marked = isinstance(value, Uninitialized)
        while isinstance(value, Uninitialized):
            value = value.array
        if not isinstance(value, list | tuple):
            found = value.__class__.__name__
            report.add("bind.buffer", f"{place_of(resource)}: expected: a list of buffers; found: {found}")
            return []
        if resource.count is not None and len(value) != resource.count:
            message = f"{place_of(resource)}: expected: {resource.count} buffers; found: {len(value)}"
            report.add("bind.buffer_count", message)
        members = [uninitialized(one) for one in value] if marked else value
        places = [place_of(resource, index) for index in range(len(members))]
        made_all = [
            self._buffer(one, resource, place, report, writable=writable)
            for one, place in zip(members, places, strict=True)
        ]
        return [one for one in made_all if one is not None]

    def _buffer(
        self, value: object, resource: ShaderResource, place: str, report: ShaderReport, *, writable: bool
    ) -> BoundBuffer | None:
        if isinstance(value, Mapping):
            return self._dictionary(value, resource, place, report, writable=writable)
        # What has an address that others know may be written through that.
        reached = isinstance(value, Buffer) and self.interface.has_addresses and self._written[0]
        bound = bytes_of(value, place, report, writable=writable or reached)
        if bound is None or not _suits(bound.bytes.size, resource, place, report):
            return None
        return bound

    def _dictionary(
        self, value: Mapping[Any, Any], resource: ShaderResource, place: str, report: ShaderReport, *, writable: bool
    ) -> BoundBuffer | None:
        """A buffer made of a dictionary, by the first of the views whose members it names, else by the first."""
        if writable and not resource.read_only:
            message = f"{place}: the shader writes to it, and a dictionary would not show what it wrote"
            report.add("bind.buffer_read_only", message, "pass an array")
            return None
        views = [one for one in resource.variables if set(value) <= set(one.member_names)]
        block = (views or list(resource.variables))[0]
        return BoundBuffer(packed(self.interface.facts, block, value, place, report).view(np.int8))

    def _push_constants(self, given: object, report: ShaderReport) -> list[Bytes]:
        """The bytes of push constants: one parameter, or none."""
        block = self.interface.push_constants
        if block is None:
            if given is not None and not (isinstance(given, bytes | bytearray) and not given):
                report.add("bind.push_constants", "the shader has no push constants", "leave push_constants out")
            return []
        if given is None:
            report.add("bind.push_constants", f"expected: push constants, {_block_in_words(block)}; found: none")
            return []
        if isinstance(given, Mapping):
            return [packed(self.interface.facts, block, given, "push constants", report).view(np.int8)]
        content = _content(given)
        if content is None:
            found = given.__class__.__name__
            message = f"expected: bytes, an array or a dictionary as push constants; found: {found}"
            report.add("bind.push_constants", message, _block_in_words(block))
            return []
        if content.size not in _sizes(block):
            message = f"expected: push constants, {_block_in_words(block)}; found: {content.size} bytes"
            report.add("bind.push_constants", message)
        return [content]

    def _idle(self, bindings: Mapping[object, object], report: ShaderReport) -> list[BoundBuffer]:
        """The buffers that are bound where the entry point names none: it may reach them by their addresses."""
        places = {(one.set, one.binding) for one in self.interface.resources}
        idle = [value for key, value in bindings.items() if _is_place(key) and key not in places]
        return (
            self._extra([one for one in idle if isinstance(one, Buffer)], report)
            if self.interface.has_addresses
            else []
        )

    def _extra(self, given: object, report: ShaderReport) -> list[BoundBuffer]:
        """The buffers that are reached by address alone."""
        if given is None:
            return []
        if not isinstance(given, list | tuple) or not all(isinstance(one, Buffer) for one in given):
            found = given.__class__.__name__ if not isinstance(given, list | tuple) else "other values in it"
            report.add("bind.addresses", f"buffers: expected: a list of girih.Buffer; found: {found}")
            return []
        if given and not self.interface.has_addresses:
            hint = "leave buffers out, or bind them to (set, binding)"
            report.add("bind.addresses", "the shader takes no buffers by address (PhysicalStorageBuffer64)", hint)
            return []
        places = [f"buffers[{number}]" for number in range(len(given))]
        made = [
            bytes_of(one, place, report, writable=self._written[0]) for one, place in zip(given, places, strict=True)
        ]
        return [one for one in made if one is not None]


def _given(
    name: str, positional: Sequence[object], named: Mapping[str, object]
) -> tuple[Mapping[object, object], object, object]:
    """What a launch was given for each of `ARGUMENTS`. Raises `LaunchError`."""
    report = ShaderReport()
    given = {**dict(zip(ARGUMENTS, positional, strict=False)), **named}
    hint = f"{name}({{(0, 0): a, (0, 1): b}}, push_constants=..., buffers=[...])"
    if len(positional) > len(ARGUMENTS):
        report.add("bind.shader_arguments", f"expected: at most 3 arguments; found: {len(positional)}", hint)
    for word in named:
        if word not in ARGUMENTS:
            report.add("bind.shader_arguments", f"a shader has no argument {word!r}", hint)
        elif word in ARGUMENTS[: len(positional)]:
            report.add("bind.shader_arguments", f"{word} is given twice: by position and by name", hint)
    bindings = given.get("bindings")
    bindings = {} if bindings is None else bindings
    if not isinstance(bindings, Mapping):
        found = bindings.__class__.__name__
        report.add("bind.shader_arguments", f"expected: a dictionary of buffers; found: {found}", hint)
    report.finish()
    assert isinstance(bindings, Mapping)
    return bindings, given.get("push_constants"), given.get("buffers")


def _is_place(key: object) -> bool:
    return (
        isinstance(key, tuple)
        and len(key) == 2
        and all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in key)
    )


def bytes_of(value: object, place: str, report: ShaderReport, *, writable: bool) -> BoundBuffer | None:
    """The bytes of an array or buffer as they lie in memory; None where something is wrong, which is reported."""
    unwritten, at, home = False, None, None
    while isinstance(value, Uninitialized | Buffer):
        unwritten = unwritten or isinstance(value, Uninitialized)
        at, home = (value.address, value.home) if isinstance(value, Buffer) else (at, home)
        value = value.argument if isinstance(value, Buffer) else value.array
    array = _array(value, place, report)
    if array is None:
        return None
    flat = _flat(array)
    if flat is None:
        strides = f"a {array.dtype} array of shape {array.shape} with strides of {array.strides} bytes"
        hint = "pass a contiguous array: numpy.ascontiguousarray(array) is a copy that has what the shader wrote"
        report.add("bind.buffer_layout", f"{place}: expected: bytes that lie side by side; found: {strides}", hint)
        return None
    if flat.size and address(flat) % ALIGNMENT:
        found = f"{address(flat) % ALIGNMENT} bytes behind one"
        hint = "pass the whole array, or a copy of the part"
        message = f"{place}: expected: a first byte at a multiple of {ALIGNMENT} bytes; found: {found}"
        report.add("bind.buffer_alignment", message, hint)
    if writable and not flat.flags.writeable:
        hint = "pass memory that may be changed: no broadcast view, no read-only buffer"
        report.add("bind.buffer_read_only", f"{place}: the shader writes to it, but the array is read-only", hint)
    return BoundBuffer(flat, unwritten, at, home)


def _array(value: object, place: str, report: ShaderReport) -> NDArray[Any] | None:
    """The array over the memory of a value; None for what has none, which is reported."""
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and value.dtype != object:
        return np.asarray(value)
    told = ArgumentReport()
    if not isinstance(value, str | np.ndarray):
        array = as_array(value, ArgumentPlace(place, 0, NOWHERE), told)
        if array is not None:
            return array
    found = "an array of Python objects" if isinstance(value, np.ndarray) else value.__class__.__name__
    hint = "pass a NumPy array, a girih.Buffer, or what has the buffer protocol or DLPack in host memory"
    report.add("bind.buffer", f"{place}: expected: a buffer; found: {found}", hint)
    return None


def _flat(array: NDArray[Any]) -> Bytes | None:
    """The bytes of an array in the order in which they lie, without a copy; None where others lie between them."""
    if not array.flags.c_contiguous:
        order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
        array = array.transpose(order)
    if not array.flags.c_contiguous:
        return None
    return array.reshape(-1).view(np.int8)


def _suits(count: int, resource: ShaderResource, place: str, report: ShaderReport) -> bool:
    """Whether a buffer of some bytes holds its blocks, and whole elements of the array at the end of one of them."""
    if count < resource.fixed_bytes:
        found = f"{count} bytes"
        message = f"{place}: expected: at least {resource.fixed_bytes} bytes; found: {found}"
        report.add("bind.buffer_size", message, f"the shader declares {described(resource)}")
        return False
    views = [(one, one.step) for one in resource.variables if one.step]
    left = [(count - one.fixed_bytes) % step for one, step in views]
    if len(views) < len(resource.variables) or not left or 0 in left:
        return True
    step, over = min((step, over) for (_, step), over in zip(views, left, strict=True))
    message = (
        f"{place}: expected: whole elements of {step} bytes; found: {count} bytes, {over} more than whole elements"
    )
    report.add("bind.buffer_size", message, f"the shader declares {described(resource)}")
    return False


def _content(given: object) -> Bytes | None:
    """A copy of the bytes of push constants; None for what has none."""
    if isinstance(given, np.ndarray):
        return None if given.dtype == object else np.frombuffer(given.tobytes(), np.int8).copy()
    content: Any = given
    try:
        return np.frombuffer(memoryview(content).tobytes(), np.int8).copy()
    except TypeError:
        return None


def _sizes(block: BlockVariable) -> set[int]:
    """The sizes that push constants may have: that of the block, and as C pads it."""
    return {-(-block.fixed_bytes // unit) * unit for unit in (1, 4, 8, 16)}


def _block_in_words(block: BlockVariable) -> str:
    members = ", ".join(name for name in block.member_names if name)
    return f"{block.fixed_bytes} bytes" + (f" ({members})" if members else "")
