"""A GPU of this machine, or an architecture by its name, as the device of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits
    from girih.ir.types import Number
    from girih.runtime.device import ExecutionSummary, Executor


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """A target of CUDA: this machine's current GPU for the empty name, one by number, or an architecture.

    Kernels for an architecture are launched on the current GPU, which must execute its code.
    """

    name: str

    @staticmethod
    def named(name: str) -> CudaTarget:
        """The target of a name. Raises `ValueError` for a name that is not known."""
        if name and not (name.isascii() and name.isdecimal()):
            from girih.back.llvm.nvptx.machine.architecture import architecture_named

            architecture_named(name)
        return CudaTarget(name)

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """The kernel, compiled. Raises `CompileError` for one that the target refuses."""
        from girih.runtime.cuda.executor import CudaExecutor

        return CudaExecutor(function, self.name, settings["checks"], limits)

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """The kernel as `llvm`, `ptx` or `sass`, or the remarks on it as text.

        Raises `CompileError` for a kernel that the target refuses, and where there is nothing that shows `sass`.
        """
        from girih.back.llvm.nvptx.compile import compile_kernel, lower
        from girih.back.llvm.nvptx.machine.kernel import usual_variant

        architecture, checks = self._architecture(), settings["checks"] == "bounds"
        if form == "remarks":
            return "\n\n".join(remark.render() for remark in self.remarks(function, settings, limits))
        variant = usual_variant(function, architecture)
        if form == "llvm":
            return lower(function, architecture, checks=checks, limits=limits, variant=variant).text
        kernel = compile_kernel(function, architecture, checks=checks, limits=limits, variant=variant)
        if form == "sass":
            from girih.runtime.cuda.code.sass import sass_of

            return sass_of(kernel, function.span)
        return kernel.ptx

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        """The remarks on a kernel, which is compiled for them, and assembled where there is an assembler."""
        from girih.back.llvm.nvptx.compile import compile_kernel
        from girih.back.llvm.nvptx.machine.kernel import usual_variant
        from girih.runtime.cuda.code.kept import resource_remarks

        architecture, checks = self._architecture(), settings["checks"] == "bounds"
        variant = usual_variant(function, architecture)
        kernel = compile_kernel(function, architecture, checks=checks, limits=limits, variant=variant)
        return (*kernel.remarks, *resource_remarks(kernel, architecture, function.span))

    def product_tile(self, factors: Number, sums: Number) -> tuple[int, int, int]:
        """Rows, columns and depth of tiles of products of a type."""
        from girih.back.llvm.nvptx.matrix.tiles import product_tile

        return product_tile(factors, sums)

    def attention_tile(self, type: Number) -> tuple[int, int]:
        """Queries and keys of tiles of attention on numbers of a type, whose products have sums in f32."""
        from girih.back.llvm.nvptx.matrix.tiles import attention_tile

        return attention_tile(type)

    def product_by_work_group(self, factors: Number, sums: Number) -> Mapping[str, int] | None:
        """The definitions of a product's tile that a work-group holds; None where subgroups are faster."""
        from girih.back.llvm.nvptx.tile_sizes import product_sizes

        return product_sizes(factors, sums) if self._architecture().wide_products else None

    def product_parts(self, factors: Number, sums: Number) -> Sequence[tuple[int, int]]:
        """Into how many parts along rows and columns that tile may be cut, where there are too few of it."""
        from girih.back.llvm.nvptx.tile_sizes import PRODUCT_PARTS

        return PRODUCT_PARTS

    def divide(self, executor: Executor, tile: tuple[int, int], smaller: Mapping[tuple[int, int], Function]) -> None:
        """Let work-groups of a tile be done in parts, by kernels that do the same with smaller tiles."""
        from girih.runtime.cuda.executor import CudaExecutor

        assert isinstance(executor, CudaExecutor), "an executor of this device"
        executor.divide(tile, smaller)

    def attention_by_work_group(self, type: Number, headdim: int) -> Mapping[str, int] | None:
        """The definitions of attention's tile that a work-group holds; None where subgroups are faster."""
        from girih.back.llvm.nvptx.tile_sizes import attention_sizes

        return attention_sizes(type, headdim) if self._architecture().wide_products else None

    def column_by_work_group(
        self, type: Number, accumulator: Number, loaded: int, length: int
    ) -> Mapping[str, int] | None:
        """The definitions of a column that a work-group holds in registers; None for one that is too long."""
        from girih.back.llvm.nvptx.flat.sizes import column_sizes

        return column_sizes(type, accumulator, loaded, length)

    def summary(self) -> ExecutionSummary:
        """The summary of how the device executes the language."""
        from girih.runtime.cuda.summary import summary_of

        return summary_of(self.name)

    def _architecture(self) -> NvidiaArchitecture:
        """The architecture that code is shown for, which needs no GPU."""
        from girih.runtime.cuda.architectures import usual_architecture

        return usual_architecture(self.name)
