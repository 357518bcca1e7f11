"""The protocols of the device behind a target, which every target's own package fulfils. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.addressing import TensorMap
    from girih.arguments.report import DeviceReach
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits
    from girih.ir.types import Number
    from girih.spirv.module import Module


class Executor(Protocol):
    """The way of running one kernel."""

    call: Callable[..., object]
    """`call(grid, *arguments)` runs the kernel and waits for it; a result other than None must go to `settle`.

    Unless it is a value of `QuickLaunches`: then the launch was like those that its entries make."""

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """What the latest launch left to be remarked: diagnostics of severity "warning" or "remark"."""

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Finish a call that returned `result`, which is not None: mostly, raise its exception."""

    def with_options(self, options: Mapping[str, Any]) -> Executor:
        """The executor with these options of a launch in place of its own; the target's row has checked them."""


@runtime_checkable
class QuickLaunches(Protocol):
    """A result of `Executor.call` that launches like this one can do without the executor from now on."""

    def entry(self, grid: tuple[int, int, int] | None, otherwise: Callable[..., object]) -> Callable[..., object]:
        """What launches the kernel on a grid, or on its own, or gives its arguments to `otherwise`."""


@runtime_checkable
class SizedExecutor(Protocol):
    """An executor that knows the subgroup size of its launches before they begin."""

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size; None where it is not known."""


@runtime_checkable
class AsynchronousExecutor(Executor, Protocol):
    """An executor whose launches on arrays of a device go on while the program does."""

    def synchronize(self) -> None:
        """Wait until the launches of the kernel have ended. Raises `KernelError` for what they found."""

    def reach(self, arguments: Sequence[object]) -> DeviceReach:
        """The device that a launch with these arguments is on. Raises `LaunchError`."""

    def tensor_maps(self, arguments: Sequence[object]) -> Mapping[str, TensorMap]:
        """The tensor maps that a launch with these arguments makes, by name. Raises `LaunchError`."""


class TargetDevice(Protocol):
    """The processor or interpreter that a target's name stands for.

    `settings` are the chosen words of the settings in the target's row, and `limits` are the row's: the kernel was
    checked against them, and they bound the choice of its sizes.
    """

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """The executor of a kernel. Raises `CompileError` for a kernel that the target refuses."""

    def summary(self) -> ExecutionSummary:
        """The summary of how the device executes the language."""


@dataclass(frozen=True, slots=True)
class ShaderEntry:
    """An entry point of a SPIR-V module without errors, in which no specialisation constant is left.

    `function` is what it means in the device language; `shared_bytes` are those that a work-group shares.
    """

    function: Function
    module: Module
    name: str
    local_size: tuple[int, int, int]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class ShaderBuffer:
    """A buffer of the launch of a shader: its bytes as an array of int8, and its place as diagnostics call it.

    `home` is the buffer of the device that it has already, with its address.
    """

    bytes: Any
    place: str
    home: AddressedBuffer | None = None


@dataclass(frozen=True, slots=True)
class ShaderBinding:
    """What a launch binds at a set and binding: one buffer, or those of an array, which the shader writes or not."""

    set: int
    binding: int
    uniform: bool
    written: bool
    buffers: tuple[ShaderBuffer, ...]


@dataclass(frozen=True, slots=True)
class ShaderArguments:
    """What a launch of a shader is given: buffers that are bound, others that it reaches by address, push constants."""

    bindings: tuple[ShaderBinding, ...]
    by_address: tuple[ShaderBuffer, ...]
    push_constants: bytes


@runtime_checkable
class ShaderExecutor(Executor, Protocol):
    """An executor of a shader that takes buffers as they are, and not the arguments of a function."""

    def launch(self, grid: tuple[int, int, int], arguments: ShaderArguments) -> None:
        """Run the shader and wait for it; the bytes of what it writes are changed. Raises `LaunchError`."""


@runtime_checkable
class ShaderDevice(TargetDevice, Protocol):
    """The device of a target that executes SPIR-V modules as they are."""

    def shader_executor(self, entry: ShaderEntry, settings: Mapping[str, str]) -> ShaderExecutor:
        """The executor of an entry point. Raises `CompileError` for one that the target refuses."""


@runtime_checkable
class GroupingDevice(TargetDevice, Protocol):
    """The device of a target on which work-groups share a large product best without tiles."""

    def product_groups(self) -> int:
        """The most work-groups that are worth sharing a product that each computes with the instruction `gemm`."""


@runtime_checkable
class TilingDevice(TargetDevice, Protocol):
    """The device of a target on which products are fast with some tiles, and slow with others."""

    def product_tile(self, factors: Number, sums: Number) -> tuple[int, int, int]:
        """Rows and columns of a tile of sums, and the depth of its factors, by their types."""

    def attention_tile(self, type: Number) -> tuple[int, int]:
        """Queries and keys of a tile of attention on numbers of a type."""


@runtime_checkable
class WorkGroupTilingDevice(TilingDevice, Protocol):
    """The device of a target on which matrices of the work-group are the fastest, for some types."""

    def product_by_work_group(self, factors: Number, sums: Number) -> Mapping[str, int] | None:
        """The definitions of a product's tile that a work-group holds; None where subgroups are faster."""

    def product_parts(self, factors: Number, sums: Number) -> Sequence[tuple[int, int]]:
        """Into how many parts along rows and columns that tile may be cut, where there are too few of it."""

    def divide(self, executor: Executor, tile: tuple[int, int], smaller: Mapping[tuple[int, int], Function]) -> None:
        """Let work-groups of a tile be done in parts, by kernels that do the same with smaller tiles."""

    def attention_by_work_group(self, type: Number, headdim: int) -> Mapping[str, int] | None:
        """The definitions of attention's tile that a work-group holds; None where subgroups are faster."""

    def column_by_work_group(
        self, type: Number, accumulator: Number, loaded: int, length: int
    ) -> Mapping[str, int] | None:
        """The definitions of a column that a work-group holds in registers; None for one that is too long.

        It has `type` and is computed with in `accumulator`; a work-group loads so many columns of that length.
        """


class AddressedBuffer(Protocol):
    """Memory of a device that has an address there as long as this object lives."""

    @property
    def address(self) -> int:
        """The address, as 64 bits without sign."""


@runtime_checkable
class AddressingDevice(TargetDevice, Protocol):
    """The device of a target whose buffers have addresses of their own."""

    def addressed_buffer(self, size: int) -> AddressedBuffer:
        """Memory of some bytes. Raises `LaunchError` where there is none."""


@runtime_checkable
class EmittingDevice(TargetDevice, Protocol):
    """The device of a target whose row offers forms of the compiled kernel."""

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """The kernel in a form that the target's row offers. Raises `CompileError` for one that the target refuses."""


@runtime_checkable
class RemarkingDevice(TargetDevice, Protocol):
    """The device of a target whose row offers remarks."""

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        """The remarks on a kernel, in source order. Raises `CompileError` for one that the target refuses."""


@dataclass(frozen=True, slots=True)
class ExecutionSummary:
    """The way in which a device executes the language, in words.

    `facts` describe the device itself, by the name of the fact; `types` describes each scalar type, and `matrices` each
    scope of a matrix, by its word in the language.
    """

    facts: Mapping[str, str]
    types: Mapping[str, str]
    matrices: Mapping[str, str]
