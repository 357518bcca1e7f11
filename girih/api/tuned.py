"""Programs of texts with a file of `girih.tune`: which definitions a launch takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from girih.api.kernel import Kernel, Launch, Program, Sizes, program_of
from girih.ir.core import Module, Order
from girih.ir.types import GroupType, MemRef, TensorMapType
from girih.lazy_dataclass import dataclass
from girih.program import compile_source
from girih.program import in_order as in_order_of
from girih.runtime.targets import ResolvedTarget
from girih.source import Source

if TYPE_CHECKING:
    from girih.addressing import TensorMap
    from girih.tuned.selection import ChoiceTable


@dataclass(frozen=True, slots=True)
class TunedText:
    """A kernel of a text, and the choices of a file for it; what is compiled for one is kept."""

    source: Source
    table: ChoiceTable
    resolved: ResolvedTarget
    order: Order
    made: dict[str, Kernel] = field(default_factory=dict, compare=False)

    def kernel(self, definitions: Mapping[str, object]) -> Kernel:
        """The kernel with definitions, on its own grid. Raises `CompileError`."""
        known = self.made.get(repr(definitions))
        if known is None:
            module, warnings = compile_source(self.source, definitions, self.resolved.row.limits)
            function = next(f for f in module.functions if f.name == self.table.kernel)
            made = in_order_of(Module((function,)), self.order)
            known = self.made[repr(definitions)] = program_of(made, self.resolved, warnings)[function.name]
        return known

    def first(self) -> Kernel:
        """The kernel with the definitions of the first choice, its own where there is none. Raises `CompileError`."""
        return self.kernel(self.table.choices[0].definitions if self.table.choices else {})

    def __reduce__(self) -> tuple[object, ...]:
        return TunedText, (self.source, self.table, self.resolved, self.order)


class TunedProgram(Program):
    """The kernels of a text with a file of `girih.tune`: each launch takes the choice that suits its arguments.

    `ir`, and that of each kernel, has the definitions of the first choice of the file.
    """

    __slots__ = ("_texts",)
    _texts: Mapping[str, TunedText]

    def __init__(
        self, source: Source, tables: Mapping[str, ChoiceTable], resolved: ResolvedTarget, order: Order
    ) -> None:
        texts = {name: TunedText(source, table, resolved, order) for name, table in tables.items()}
        first = {name: text.first() for name, text in texts.items()}
        values = {"ir": Module(tuple(kernel.ir for kernel in first.values())), "resolved": resolved, "_kernels": {},
                  "executors": {name: kernel.executor for name, kernel in first.items()}, "warnings": (),
                  "_texts": texts}  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _new_kernel(self, name: str) -> Kernel:
        kernel = Program._new_kernel(self, name)
        text = self._texts[kernel.name]
        made = TunedKernel(kernel.ir, kernel.executor, self.resolved, kernel.grid, {}, kernel._own_grid, text=text)
        self._kernels[name] = made
        return made

    def __reduce__(self) -> tuple[object, ...]:
        texts = list(self._texts.values())
        return TunedProgram, (texts[0].source, {t.table.kernel: t.table for t in texts}, self.resolved, texts[0].order)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TunedKernel(Kernel):
    """A kernel of a text, of which each launch takes the definitions that were chosen for its arguments.

    `ir` and the forms that it is emitted in have the definitions of the first choice.
    """

    text: TunedText = field(kw_only=True)
    _chosen: dict[str, Kernel] = field(default_factory=dict, init=False)

    def variant(self, /, *arguments: object, **named: object) -> Kernel:
        """The kernel, on this grid and with these options, that a launch with these arguments takes; nothing runs.

        Raises `LaunchError` for wrong names and counts, and `CompileError`.
        """
        values = zip(self.ir.parameters, self._in_order(arguments, named), strict=True)
        arrays = {p.name: value for p, value in values if isinstance(p.type, MemRef | GroupType | TensorMapType)}
        choice = self.text.table.for_launch(self.target, self.target, arrays, {})
        definitions = {} if choice is None else choice.definitions
        known = self._chosen.get(repr(definitions))
        if known is None:
            known = self.text.kernel(definitions)
            known = known.options(**self._options) if self._options else known
            known = self._chosen[repr(definitions)] = known if self.grid is None else known[self.grid]
        return known

    def __call__(self, /, *arguments: object, **named: object) -> None:
        """Launch the kernel with the definitions that were chosen for such arguments, as `Kernel` does."""
        self.variant(*arguments, **named)(*arguments, **named)

    def grid_for(self, /, *arguments: object, **named: object) -> tuple[int, int, int]:
        """The kernel's own grid for the arguments of a launch, as of `Kernel`."""
        return self.variant(*arguments, **named).grid_for(*arguments, **named)

    def tensor_maps(self, /, *arguments: object, **named: object) -> Mapping[str, TensorMap]:
        """The tensor maps that a launch with these arguments would make of its arrays, as of `Kernel`."""
        return self.variant(*arguments, **named).tensor_maps(*arguments, **named)

    def bind(self, /, *arguments: object, **named: object) -> Launch:
        """A launch as a value, of the kernel that suits the arguments as they are now."""
        return self.variant(*arguments, **named).bind(*arguments, **named)

    def synchronize(self) -> None:
        """Wait until all launches of this kernel on arrays of a device have ended, as `Kernel` does."""
        for kernel in (*self.text.made.values(), *self._chosen.values()):
            kernel.synchronize()

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled_tuned, (self.text, self.grid, self._options)


def _unpickled_tuned(text: TunedText, grid: Sizes | None, options: dict[str, object]) -> TunedKernel:
    first = text.first()
    return TunedKernel(first.ir, first.executor, text.resolved, grid, options, first._own_grid, text=text)
