"""`girih spirv`: the click commands; the other modules of this room do their work. Imports neither NumPy nor rich."""

from __future__ import annotations

from collections.abc import Mapping

import click

from girih.commands.parts.calls import TWICE, named_values
from girih.spirv.model.environment import BLOCK_LAYOUTS, ENVIRONMENTS

_values = click.option(
    "-D", "--define", "definitions", multiple=True, metavar="SPECID=VALUE",
    callback=lambda _context, _option, value: named_values(value),
    help="The value of a specialisation constant by SpecId or by name, for instance -D 3=64. May be repeated.",
)  # fmt: skip
_output = click.option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
_format = click.option(
    "--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Text for people, JSON for programs.",
)  # fmt: skip


@click.group()
def spirv() -> None:
    """Describe, print, assemble, judge and specialise SPIR-V modules.

    A FILE is a binary module, a text as spirv-as reads it, or a GLSL or Slang source, for which a compiler is called;
    `-` reads standard input.
    """


@spirv.command()
@click.argument("file", metavar="FILE")
@_values
@_format
@click.pass_context
def info(ctx: click.Context, file: str, definitions: Mapping[str, str], format: str) -> None:
    """Show what a module declares: entry points, buffers, specialisation constants, capabilities, matrix types."""
    from girih.commands.spirv.info import show_info

    ctx.exit(show_info(file, definitions, as_json=format == "json"))


@spirv.command()
@click.argument("file", metavar="FILE")
@_output
@click.option("--raw-id", is_flag=True, help="Show ids as numbers instead of friendly names.")
@click.option("--no-indent", is_flag=True, help="Do not put results into a column.")
@click.option("--no-header", is_flag=True, help="Leave out the comments with the header.")
@click.pass_context
def dis(ctx: click.Context, file: str, output: str | None, raw_id: bool, no_indent: bool, no_header: bool) -> None:
    """Print a module as spirv-dis does."""
    from girih.commands.spirv.convert import disassemble_file

    ctx.exit(disassemble_file(file, output, friendly_names=not raw_id, indent=not no_indent, header=not no_header))


@spirv.command("as")
@click.argument("file", metavar="FILE")
@_output
@click.pass_context
def assemble(ctx: click.Context, file: str, output: str | None) -> None:
    """Assemble a text into a binary module, as spirv-as does; without -o the name of FILE, ending in .spv."""
    from girih.commands.spirv.convert import assemble_file

    ctx.exit(assemble_file(file, output))


@spirv.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_values
@click.option("--environment", type=click.Choice(list(ENVIRONMENTS)), default="vulkan1.4", show_default=True,
              metavar="ENVIRONMENT",
              help="The environment whose rules hold: universal1.0 to universal1.6, vulkan1.0 to vulkan1.4, or "
                   "vulkan1.1spv1.4.")  # fmt: skip
@click.option("--block-layout", type=click.Choice(BLOCK_LAYOUTS), default=BLOCK_LAYOUTS[0], show_default=True,
              help="The rules of alignment for buffers: what features of the device allow.")  # fmt: skip
@click.option("--format", "format", type=click.Choice(["text", "json", "github", "sarif"]), default="text",
              show_default=True, help="Text, JSON, notes on GitHub, or a SARIF 2.1.0 log.")  # fmt: skip
@click.pass_context
def check(
    ctx: click.Context, files: tuple[str, ...], definitions: Mapping[str, str], environment: str, block_layout: str,
    format: str,
) -> None:  # fmt: skip
    """Report every rule of SPIR-V that modules break, with the lines of their sources where debug information has them.

    Specialisation constants have the values of -D, else their defaults.
    """
    from girih.commands.parts.verdict import report_files
    from girih.commands.spirv.judge import judged

    if files.count("-") > 1:
        raise click.UsageError(TWICE)
    ctx.exit(report_files([(file, judged(file, definitions, environment, block_layout)) for file in files], format))


@spirv.command()
@click.argument("file", metavar="FILE")
@_values
@_output
@click.pass_context
def specialise(ctx: click.Context, file: str, definitions: Mapping[str, str], output: str | None) -> None:
    """Write a module as it is compiled with values for its specialisation constants.

    Those without a value have their default. Without -o, or to a file whose name ends in .spvasm, the module is text.
    """
    from girih.commands.spirv.convert import specialise_file

    ctx.exit(specialise_file(file, definitions, output))
