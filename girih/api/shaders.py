"""The entry points of SPIR-V modules as programs and kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from girih.api.kernel import Kernel, Program, Sizes
from girih.diagnostics import KernelError
from girih.ir.core import Module
from girih.lazy_dataclass import dataclass
from girih.runtime.device import Executor, ShaderEntry, ShaderExecutor, SizedExecutor
from girih.runtime.targets import ResolvedTarget

if TYPE_CHECKING:
    from girih.front.spirv.judged import ShaderModule
    from girih.front.spirv.translated import Translated
    from girih.runtime.spirv.arguments import ShaderCall


class ShaderProgram(Program):
    """The entry points of a SPIR-V module: a mapping from names to values of `ShaderKernel`.

    An entry point is translated and compiled when it is first looked up. `ir` has all of them in the device language;
    `warnings` are those of the module's rules, and of the compiler that made it. Looking up another name raises
    `KeyError`, and one that girih or the target cannot run `CompileError`.
    """

    __slots__ = ("_module",)
    _module: ShaderModule

    def __init__(self, module: ShaderModule, resolved: ResolvedTarget) -> None:
        for name, value in {"_module": module, "executors": {}, "resolved": resolved, "_kernels": {}}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "warnings", module.warnings)

    @property
    def ir(self) -> Module:
        """All entry points in the device language."""
        limits = self.resolved.row.limits
        return Module(tuple(self._module.translated(name, limits).function for name in self))

    def _new_kernel(self, name: str) -> Kernel:
        if name not in self._module.entry_points:
            raise KeyError(f"there is no entry point {name!r}; the module has: {', '.join(self)}")
        translated = self._module.translated(name, self.resolved.row.limits)
        entry = ShaderEntry(
            translated.function, self._module.facts.module, name, translated.local_size, sum(translated.local_bytes())
        )
        made = ShaderKernel.of_entry_point(translated, self.resolved.shader_executor(entry), self.resolved)
        return self._kernels.setdefault(name, made)

    def __reduce__(self) -> tuple[object, ...]:
        return ShaderProgram, (self._module, self.resolved)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module.entry_points)

    def __len__(self) -> int:
        return len(self._module.entry_points)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShaderKernel(Kernel):
    """An entry point of a shader, to be launched as `kernel[x, y, z](buffers, push_constants=...)`.

    `ir` is the entry point in the device language, whose parameters are the bytes of the buffers.
    """

    shader: ShaderCall = field(kw_only=True)

    @staticmethod
    def of_entry_point(translated: Translated, executor: Executor, resolved: ResolvedTarget) -> ShaderKernel:
        """The kernel of an entry point, on one work-group."""
        from girih.runtime.spirv.arguments import ShaderCall

        return ShaderKernel(translated.function, executor, resolved, shader=ShaderCall(translated))

    def __call__(self, /, *arguments: object, **named: object) -> None:
        """Launch the shader on its grid and wait for it; buffers are changed in place.

        The arguments are `bindings`, a mapping from (set, binding) to an array, and `push_constants`, bytes; and for
        shaders that take addresses `buffers`, a list of values of `girih.Buffer`. A buffer that the shader reads only,
        and push constants, may be a dictionary of the block's members; names of the shader may stand for (set,
        binding). An array of any dtype shows its bytes as they lie; a binding with an array of buffers takes a list.
        Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for what was found while it
        ran. After a `KernelError` the interpreter leaves all arrays as they were; compiled code leaves what it had
        written.
        """
        grid = self.grid or (1, 1, 1)
        if isinstance(self.executor, ShaderExecutor):
            self.executor.launch(grid, self.shader.buffers(arguments, named, grid))
            return
        values = self.shader.arguments(arguments, named, grid)
        try:
            result = self.executor.call(grid, *values)
            if result is not None:
                self.executor.settle(result, grid, values)
        except KernelError as error:
            size = self.executor.subgroup_size if isinstance(self.executor, SizedExecutor) else None
            raise self.shader.in_its_words(error, size, arguments, named) from None

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled_shader, (self.shader, self.executor, self.resolved, self.grid, self._options)

    @property
    def signature(self) -> str:
        """The name of the entry point with its buffers and push constants, in words."""
        return self.shader.signature

    @property
    def _argument_names(self) -> tuple[str, ...]:
        return ("bindings", "push_constants", "buffers")

    def _in_order(self, arguments: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        return self.shader.in_order(arguments, named)


def _unpickled_shader(
    shader: ShaderCall, executor: Executor, resolved: ResolvedTarget, grid: Sizes | None, options: dict[str, object]
) -> ShaderKernel:
    made = ShaderKernel(shader.translated.function, executor, resolved, shader=shader)
    return replace(made, grid=grid, _options=options)
