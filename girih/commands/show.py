"""`girih show`: the structure of kernels: memory read and written, regions, values with types, lines and uses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from girih.analysis.effects import MemoryUse, memory_use
from girih.commands.emit import write_text
from girih.commands.parts.calls import unknown
from girih.commands.parts.headers import header
from girih.commands.parts.report import counted, print_items
from girih.commands.python.files import is_python
from girih.commands.shader.translated import analyzed_file
from girih.diagnostics import errors, plural
from girih.ir.core import Function, Op, Order, Region, Value
from girih.ir.print import show_dictionary
from girih.ir.types import MemRef
from girih.lazy_dataclass import dataclass
from girih.recursion import recursion_room

ENDINGS = {".txt": "text", ".json": "json", ".svg": "svg", ".html": "html"}
"""The formats that the names of files ask for."""


def show_file(
    path: str,
    name: str | None,
    definitions: Mapping[str, str],
    given: str | None,
    output: str | None = None,
    arguments: Sequence[str] = (),
    order: Order | None = None,
) -> int:
    """Show the kernels of a file, or one of them, in a format, on standard output or in a file.

    The result is 1 if the program has an error; then it is reported and nothing is written. Raises `click.UsageError`
    if the format that is given and the name of the output disagree, or if neither tells what to write.
    """
    format = _format(given, output)
    module, problems = analyzed_file(path, definitions, None, name, arguments, order)
    if module is None or errors(problems):
        apart = format != "text" or output not in (None, "-")
        print_items(problems, to_stderr=apart)
        click.echo(f"{path}: {counted(problems)}", err=apart)
        return 1
    functions = list(module.functions)
    if name is not None and not is_python(path):
        function = module.function(name.removeprefix("@"))
        if function is None:
            unknown("kernel", name, [f.name for f in functions])
        functions = [function]
    with recursion_room():
        write_text(_shown(functions, path, format), output)
    return 0


def _format(given: str | None, output: str | None) -> str:
    """The format that was given, or else that of the output's name; without an output, text."""
    if output in (None, "-"):
        return given or "text"
    shown, ending = click.format_filename(output), os.path.splitext(output)[1].lower()
    named = ENDINGS.get(ending)
    if given is None and named is None:
        known = ", ".join(ENDINGS)
        raise click.UsageError(f"-o {shown}: the name does not say what to write; end it in one of {known}, or give "
                               "--format")  # fmt: skip
    if given is not None and named not in (None, given):
        raise click.UsageError(f"-o {shown}: {ending} asks for {named}, and --format for {given}; leave out --format, "
                               "or change the name")  # fmt: skip
    return given or str(named)


def _shown(functions: Sequence[Function], path: str, format: str) -> str:
    """The text of kernels in a format."""
    if format in ("svg", "html"):
        from girih.commands.show_picture import html, svg

        return (svg if format == "svg" else html)(functions, "<stdin>" if path == "-" else path)
    structures = [Structure.of(function).to_json() for function in functions]
    if format == "json":
        return json.dumps(structures, indent=2) + "\n"
    return ("\n\n".join(render(structure) for structure in structures) or f"{path}: no kernels") + "\n"


@dataclass(frozen=True, slots=True)
class Structure:
    """A kernel and the uses of its memory and values."""

    function: Function
    use: MemoryUse

    @staticmethod
    def of(function: Function) -> Structure:
        """The structure of a kernel."""
        return Structure(function, memory_use(function))

    def to_json(self) -> dict[str, object]:
        """The structure as plain values."""
        function = self.function
        return {
            "kernel": function.name,
            "line": function.span.line,
            "attributes": show_dictionary(function.attributes) if function.attributes else "",
            "parameters": [self._parameter(p.value, show_dictionary(p.attributes) if p.attributes else "")
                           for p in function.parameters],
            "local_memory_bytes": sum(local_bytes(op) for op in function.walk()),
            "instructions": sum(1 for _ in function.walk()),
            "body": self._region(function.body),
        }  # fmt: skip

    def _value(self, value: Value) -> dict[str, object]:
        return {"name": value.name, "type": str(value.type), "uses": self.use.uses[value]}

    def _parameter(self, value: Value, attributes: str) -> dict[str, object]:
        memory = self.use.memory.get(value)
        shown = self._value(value) | {"attributes": attributes}
        return shown if memory is None else shown | {"reads": memory.reads, "writes": memory.writes}

    def _region(self, region: Region) -> dict[str, object]:
        return {"kind": region.kind.value, "instructions": [self._op(op) for op in region.ops]}

    def _op(self, op: Op) -> dict[str, object]:
        shown: dict[str, object] = {
            "line": op.span.line,
            "text": header(op),
            "results": [self._value(v) for v in op.results if v.name],
        }
        if op.regions:
            shown["bindings"] = [self._value(v) for v in op.bindings]
            shown["regions"] = [self._region(region) for region in op.regions]
        return shown


def local_bytes(op: Op) -> int:
    """The bytes that an `alloca` takes from its first to its last element."""
    if op.spec.mnemonic != "alloca" or not isinstance(op.results[0].type, MemRef):
        return 0
    type_ = op.results[0].type
    steps = zip(type_.shape, type_.strides, strict=True)
    return type_.element.size * (1 + sum((size - 1) * stride for size, stride in steps if size and stride))


# --- as text ---------------------------------------------------------------------------------


def render(kernel: dict[str, Any]) -> str:
    """The text of a kernel: for each instruction the line number, its words, its values with types and uses."""
    attributes = f" attributes {kernel['attributes']}" if kernel["attributes"] else ""
    size, local = plural(kernel["instructions"], "instruction"), plural(kernel["local_memory_bytes"], "byte")
    lines = [f"@{kernel['kernel']}{attributes}, line {kernel['line']}: {size}, {local} of local memory"]
    lines += ["  parameters"] if kernel["parameters"] else []
    lines += ["    " + _parameter(parameter) for parameter in kernel["parameters"]]
    _region(kernel["body"], "  ", lines)
    return "\n".join(lines)


def _parameter(p: dict[str, Any]) -> str:
    text = f"%{p['name']}: {p['type']}" + (f" {p['attributes']}" if p["attributes"] else "")
    if "reads" not in p:
        return f"{text}, {plural(p['uses'], 'use')}"
    accesses = [plural(p[kind], noun) for kind, noun in (("reads", "read"), ("writes", "write")) if p[kind]]
    return f"{text}, {plural(p['uses'], 'use')}: {', '.join(accesses) or 'never read or written'}"


def _region(region: dict[str, Any], indent: str, lines: list[str]) -> None:
    """Add the lines of a region. A line of a shader that became several instructions in a row is shown once."""
    lines.append(f"{indent}{region['kind']} region" + ("" if region["instructions"] else ", empty"))
    for op in region["instructions"]:
        line = f"{op['line']:>5} {indent[2:]}  {op['text']}"
        lines += [line] if lines[-1] != line else []
        lines += [f"      {indent[2:]}    {_value(value)}" for value in (*op.get("bindings", ()), *op["results"])]
        for inner in op.get("regions", ()):
            _region(inner, "  " + indent + "    ", lines)


def _value(value: dict[str, Any]) -> str:
    used = plural(value["uses"], "use") if value["uses"] else "never used"
    return f"%{value['name']}: {value['type']}, {used}"
