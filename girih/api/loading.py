"""Loading: from a path, a text or a module to a program for a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from girih.api.kernel import Kernel, Program, program_of
from girih.api.shaders import ShaderProgram
from girih.diagnostics import Diagnostic
from girih.environment import warn_of_unknown_variables
from girih.front.shaders.files import is_assembly, is_binary, is_module
from girih.ir.core import Module, Order
from girih.program import compile_source, kernels_in, known_order, named_only, read_bytes, read_source, source_of_text
from girih.program import in_order as in_order_of
from girih.runtime.targets import DEFAULT_CHECKS, ResolvedTarget, resolve
from girih.source import Source

if TYPE_CHECKING:
    from girih.front.spirv.judged import ShaderModule


Definitions = Mapping[Any, object] | str | PathLike[str]
"""Values by names of definitions, or a file of `girih.tune`; of a module, by SpecIds or names of its constants."""


def load(
    path: str | PathLike[str],
    target: str | None = None,
    definitions: Definitions | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a file, compiled for a target and ready to be launched.

    `path` names a file in UTF-8; or, by its ending, a SPIR-V module (`.spv`, `.spvasm`) or a shader (`.comp`,
    `.glsl`, `.hlsl`, `.slang`), whose kernels are its compute entry points. `target` is one of those that `girih
    targets` lists, such as `cpu`, which is this machine, `cpu:haswell`, or `interpreter`, which checks every access.
    Left out, it is what the environment variable `GIRIH_TARGET` says, otherwise `cpu`. `definitions` maps names to
    values of their `$name` definitions at file level, numbers, or strings as the language writes the value, or is a
    file of `girih.tune`, of which each launch takes the choice that suits its arguments; of a module it maps SpecIds
    or names to values of constants. `order` is that of the axes of arrays, for functions without the attribute of
    this name: in order "F" mode 0 is the first axis, in order "C" it is the last, so that NumPy's arrays bind as they
    are. `checks` says how much compiled code checks: `bounds`, or `off`.
    Raises `CompileError` for a program in error or refused by the target, `ValueError` for an unknown target, order or
    mode of checks and a program in place of its path, `OSError` as `open` does, `TypeError` for what is no path.
    """
    if is_module(str(fspath(path))):
        return _compile_module(read_bytes(path), str(fspath(path)), target, definitions, checks)
    return _compile(read_source(path), target, definitions, checks, order)


def load_one(
    path: str | PathLike[str], name: str, target: str | None, definitions: Mapping[str, object], *, order: Order
) -> Kernel:
    """One kernel of a file in UTF-8, as `load` gives it; the others are checked, but not compiled. Raises as `load`."""
    resolved = resolve(target, checks=DEFAULT_CHECKS)
    module, warnings = compile_source(read_source(path), definitions, resolved.row.limits)
    alone = Module(tuple(function for function in module.functions if function.name == name))
    return program_of(in_order_of(alone, known_order(order)), resolved, warnings)[name]


def loads(
    text: str | bytes,
    target: str | None = None,
    definitions: Definitions | None = None,
    filename: str | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a text, compiled for a target and ready to be launched.

    `filename` is the name under which diagnostics report the text. `target`, `definitions`, `order` and `checks` mean
    what they mean to `load`. Bytes with SPIR-V's magic number are a module; so is a text that begins with one of its
    instructions, and one whose `filename` ends as those of modules and shaders. Raises `CompileError` for a program in
    error or refused by the target, `ValueError` for an unknown target, order or mode of checks, and `TypeError` for a
    `text` that is neither.
    """
    if isinstance(text, bytes | bytearray | memoryview) and is_binary(bytes(text[:4])):
        return _compile_module(bytes(text), filename or "<bytes>", target, definitions, checks)
    if isinstance(text, str) and (is_module(filename or "") or is_assembly(text)):
        data = text.encode("utf-8", "surrogateescape")
        return _compile_module(data, filename or "<text>", target, definitions, checks)
    if not isinstance(text, str):
        found = f"{text.__class__.__name__}; girih.load takes the path of a file"
        raise TypeError(f"a program is a string, not {found}, and a SPIR-V module begins with its magic number")
    return _compile(source_of_text(text, filename), target, definitions, checks, order)


def resolved_target(name: str | None) -> ResolvedTarget:
    """The target of a name, which knows what suits its device. Raises `ValueError` for one that does not exist."""
    return resolve(name)


def _compile_module(
    data: bytes, name: str, target: str | None, definitions: Definitions | None, checks: str
) -> Program:
    """The entry points of a SPIR-V module, or of the source of one."""
    from girih.front.shaders.files import module_in
    from girih.front.spirv.judged import ShaderModule
    from girih.program import given_by_constant

    resolved = resolve(target, checks=checks)
    module, told = module_in(data, name)
    return shader_program(ShaderModule(module, given_by_constant(definitions), told), resolved)


def shader_program(module: ShaderModule, target: ResolvedTarget) -> ShaderProgram:
    """The entry points of a module without errors, for a resolved target; a single one is compiled at once.

    Raises `CompileError` for one that girih or the target cannot run.
    """
    warn_of_unknown_variables()
    program = ShaderProgram(module, target)
    if len(program) == 1:
        program[next(iter(program))]
    return program


def _compile(
    source: Source, target: str | None, definitions: Definitions | None, checks: str, order: Order = "F"
) -> Program:
    resolved, known = resolve(target, checks=checks), known_order(order)
    if isinstance(definitions, str | PathLike):
        from girih.api.tuned import TunedProgram
        from girih.tuned.selection import read_tables

        return TunedProgram(source, read_tables(definitions, kernels_in(source), resolved.name), resolved, known)
    module, warnings = compile_source(source, named_only(definitions), resolved.row.limits)
    return program_of(in_order_of(module, known), resolved, warnings)


def compile_module(
    module: Module,
    target: str | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
    warnings: Sequence[Diagnostic] = (),
) -> Program:
    """The kernels of a module without errors, compiled for a target, as `load` names targets, orders and checks.

    Raises `CompileError` for a module that the target refuses, and `ValueError` for an unknown target, order or mode of
    checks.
    """
    return program_of(in_order_of(module, known_order(order)), resolve(target, checks=checks), warnings)
