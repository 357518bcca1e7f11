"""`girih run` on a shader: buffers by set and binding, push constants, and a comparison with what a driver wrote."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from girih.commands.parts.calls import unknown
from girih.commands.parts.progress import Bar
from girih.commands.parts.report import print_items, print_json
from girih.commands.parts.run_request import RunRequest, launch_options_of, request_against
from girih.commands.parts.save import Save, check_paths, save_all
from girih.commands.parts.summary import arrays_of
from girih.commands.parts.targets import target_of
from girih.commands.shader.against import (
    TargetComparison,
    compared_arrays,
    exit_status,
    found_by_other,
)
from girih.commands.shader.buffers import BufferMaker, BufferText, array_in, buffer_texts, push_constants, resource_of
from girih.commands.shader.expect import BufferComparison, compared
from girih.commands.spirv.definitions import values_of
from girih.commands.spirv.files import module_of
from girih.diagnostics import Diagnostic
from girih.runtime.spirv.report import place_of
from girih.runtime.targets import CHECKING

if TYPE_CHECKING:
    from girih.api import ShaderKernel
    from girih.spirv.model.declared.bindings import ShaderInterface, ShaderResource


def run_shader(request: RunRequest) -> int:
    """Run an entry point and print a summary.

    1 if the module or an argument is wrong, if the run has findings, or if a buffer is not what is expected.
    """
    return exit_status(_run, request, "the shader")


def _run(request: RunRequest) -> int:
    kernel, warnings = _kernel(request)
    if not request.as_json:
        print_items(warnings, to_stderr=True)
    interface = kernel.shader.interface
    texts = [(one, resource_of(interface, one)) for one in buffer_texts(request.arguments)]
    maker = BufferMaker(request.seed)
    values = {(resource.set, resource.binding): maker.value(one, resource) for one, resource in texts}
    saves = _saves(interface, values, buffer_texts(request.saves, "--save "))
    expected = [(one, _only(interface, values, one), array_in(one.value))
                for one in buffer_texts(request.expected, "--expect ")]  # fmt: skip
    before = {key: [array.copy() for array in arrays_of_value(value)] for key, value in values.items()}
    push = push_constants(request.push, interface)
    seconds, remarks = _launch(kernel, values, push)
    save_all([pair for save, arrays in saves for pair in zip(save.paths, arrays, strict=True)])
    found = [compared(one.shown, ours, one.value, theirs, request.ulps) for one, ours, theirs in expected]
    wanted = {_key(interface, one): theirs for (one, _, theirs), told in zip(expected, found, strict=True)
              if not told.agrees and told.problem is None}  # fmt: skip
    verdicts = _verdicts(kernel, values, push, before, wanted, request.seeds) if request.seeds and wanted else {}
    found = [replace(told, covered=verdicts.get(_key(interface, one), "")) for told, (one, *_) in
             zip(found, expected, strict=True)]  # fmt: skip
    shown = [
        _Buffer(resource, values.get((resource.set, resource.binding)), before) for resource in interface.resources
    ]
    against = None if request.against is None else _against(request, kernel, values, texts, push, before)
    status = 0 if all(one.agrees for one in found) and (against is None or against.agrees) else 1
    if request.as_json:
        print_json({
            "diagnostics": [d.to_json() for d in (*warnings, *remarks)],
            "findings": [],
            "printed": [],
            "summary": _summary(kernel, seconds, shown),
            "expected": [one.to_json() for one in found],
            **({} if against is None else {"against": against.to_json()}),
        })  # fmt: skip
        return status
    print_items(remarks, to_stderr=True)
    _print(kernel, seconds, shown, found, [save for save, _ in saves])
    if against is not None:
        click.echo("\n".join(against.lines()))
    return status


def _against(
    request: RunRequest,
    kernel: ShaderKernel,
    values: Mapping[tuple[int, int], object],
    texts: Sequence[tuple[BufferText, ShaderResource]],
    push: object,
    before: Mapping[tuple[int, int], Sequence[Any]],
) -> TargetComparison:
    """The launch on the other target, with the same buffers as before the first, beside what the first one gave."""
    other, _ = _kernel(request_against(request))
    maker = BufferMaker(request.seed)
    theirs = {(resource.set, resource.binding): maker.value(one, resource) for one, resource in texts}
    with found_by_other("the shader", request):
        _launch(other, theirs, push)
    names = {(resource.set, resource.binding): one.shown for one, resource in texts}
    pairs = [(names[key], arrays_of_value(values[key]), arrays_of_value(theirs[key])) for key in values]
    found = compared_arrays(pairs, other.target, request.ulps)
    wanted = {key: arrays_of_value(theirs[key])[0] for key in values
              if any(one.name == names[key] and not one.agrees for one in found)}  # fmt: skip
    looks = request.seeds and wanted and request.target == CHECKING
    verdicts = _verdicts(kernel, values, push, before, wanted, request.seeds) if looks else {}
    covered = {names[key]: verdict for key, verdict in verdicts.items()}
    found = tuple(replace(one, covered=covered.get(one.name, "")) for one in found)
    return TargetComparison(f"@{kernel.name}", kernel.target, other.target, found, is_shader=True)


def _kernel(request: RunRequest) -> tuple[ShaderKernel, tuple[Diagnostic, ...]]:
    from girih.api import ShaderKernel, shader_program
    from girih.front.spirv.judged import ShaderModule

    target = target_of(request.target, request.checks)
    options = launch_options_of(request, target)
    module, told = module_of(request.file)
    program = shader_program(ShaderModule(module, values_of(request.definitions), told), target)
    name = request.function.removeprefix("@") if request.function else next(iter(program))
    if request.function is None and len(program) > 1:
        raise click.UsageError(f"the module has several entry points, name one of them: {', '.join(program)}")
    if name not in program:
        unknown("entry point", name, program)
    kernel = program[name] if request.grid is None else program[name][request.grid]
    chosen = kernel.options(**options)
    assert isinstance(chosen, ShaderKernel)
    return chosen, program.warnings


def _launch(
    kernel: ShaderKernel, values: Mapping[tuple[int, int], object], push: object
) -> tuple[float, list[Diagnostic]]:
    """The seconds that the launch took, and its remarks; a progress bar is shown if the target reports progress."""
    start = time.perf_counter()
    if kernel.resolved.row.option("progress") is None:
        kernel(values, push_constants=push)
    else:
        with Bar(f"@{kernel.name}") as bar:
            kernel.options(progress=bar)(values, push_constants=push)
    return time.perf_counter() - start, list(kernel.executor.remarks)


def _key(interface: ShaderInterface, one: BufferText) -> tuple[int, int]:
    resource = resource_of(interface, one)
    return resource.set, resource.binding


def _verdicts(
    kernel: ShaderKernel,
    values: Mapping[tuple[int, int], object],
    push: object,
    before: Mapping[tuple[int, int], Sequence[Any]],
    wanted: Mapping[tuple[int, int], Any],
    seeds: int,
) -> Mapping[tuple[int, int], str]:
    """What covers the numbers of a driver, by binding, in words. The buffers then hold what they did before."""
    from girih.exploration import explore

    after = {key: [array.copy() for array in arrays_of_value(value)] for key, value in values.items()}
    _put(values, before)
    try:
        found = explore(kernel.bind(values, push_constants=push), wanted, seeds)
    finally:
        _put(values, after)
    return {key: one.verdict for key, one in found.buffers.items() if isinstance(key, tuple)}


def _put(values: Mapping[tuple[int, int], object], contents: Mapping[tuple[int, int], Sequence[Any]]) -> None:
    for key, value in values.items():
        for array, content in zip(arrays_of_value(value), contents[key], strict=True):
            if array.flags.writeable:
                array[...] = content


def _saves(
    interface: ShaderInterface, values: Mapping[tuple[int, int], object], texts: Sequence[BufferText]
) -> list[tuple[Save, list[Any]]]:
    """The buffers to save, with their arrays. Raises for one that is not given, and for a path without a folder."""
    saves: list[tuple[Save, list[Any]]] = []
    for one in texts:
        resource = resource_of(interface, one)
        arrays = arrays_of_value(values.get((resource.set, resource.binding)))
        listed = one.value[1:-1].split(",") if one.value.startswith("[") else [one.value]
        paths = tuple(path.strip() for path in listed)
        if len(paths) != len(arrays):
            raise click.UsageError(f"--save {one.shown}={one.value}: {len(arrays)} buffers go to as many files")
        for path in paths:
            if not path.lower().endswith(".npy"):
                raise click.UsageError(f"--save {one.shown}={one.value}: the file {path!r} does not end in .npy")
        saves.append((Save(one.shown, paths), arrays))
    check_paths([save for save, _ in saves])
    return saves


def _only(interface: ShaderInterface, values: Mapping[tuple[int, int], object], one: BufferText) -> Any:
    """The array of a buffer that is compared."""
    resource = resource_of(interface, one)
    arrays = arrays_of_value(values.get((resource.set, resource.binding)))
    if len(arrays) != 1:
        raise click.UsageError(f"--expect {one.shown}: one buffer is compared, not {len(arrays)}")
    return arrays[0]


def arrays_of_value(value: object) -> list[Any]:
    """The arrays of a buffer, or of an array of buffers."""
    return [array for one in value for array in arrays_of(one)] if isinstance(value, list) else arrays_of(value)


class _Buffer:
    """A buffer after the launch, for the summary."""

    def __init__(
        self, resource: ShaderResource, value: object, before: Mapping[tuple[int, int], Sequence[Any]]
    ) -> None:
        self.resource = resource
        self.arrays = arrays_of_value(value)
        old = before.get((resource.set, resource.binding), ())
        self.changed = any(a.tobytes() != b.tobytes() for a, b in zip(old, self.arrays, strict=False))

    def to_json(self) -> dict[str, object]:
        return {
            "set": self.resource.set,
            "binding": self.resource.binding,
            "names": list(self.resource.names),
            "arrays": [{"dtype": str(a.dtype), "shape": list(a.shape)} for a in self.arrays],
            "changed": self.changed,
        }

    def line(self) -> str:
        """One line of the summary."""
        shown = ", ".join(f"{a.dtype} {'x'.join(map(str, a.shape))}" for a in self.arrays)
        return f"  {place_of(self.resource)}: {shown}, {'changed' if self.changed else 'unchanged'}"


def _summary(kernel: ShaderKernel, seconds: float, shown: Sequence[_Buffer]) -> dict[str, object]:
    return {"kernel": kernel.name, "grid": list(kernel.grid or (1, 1, 1)), "seconds": seconds,
            "buffers": [one.to_json() for one in shown]}  # fmt: skip


def _print(
    kernel: ShaderKernel,
    seconds: float,
    shown: Sequence[_Buffer],
    found: Sequence[BufferComparison],
    saves: Sequence[Save],
) -> None:
    click.echo(f"@{kernel.name} on grid {' x '.join(map(str, kernel.grid or (1, 1, 1)))} in {seconds:.3g} s")
    for one in shown:
        click.echo(one.line())
    for save in saves:
        click.echo(f"saved {save.name} to {', '.join(save.paths)}")
    for comparison in found:
        click.echo("\n".join(comparison.lines()))
