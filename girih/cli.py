"""The `girih` command: its arguments and help; the work of a subcommand is in `girih.commands`.

`EXIT_STATUS` is the rule of all commands. No exception is shown raw: an unforeseen one is reported as a defect, with
its traceback if GIRIH_TRACEBACK is set.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, TextIO

import click
from click.core import ParameterSource

from girih import __version__
from girih.bench.events import CHECK_MODES
from girih.commands.parts.calls import definitions_of, grid_of, named_values
from girih.environment import VARIABLES, warn_of_unknown_variables
from girih.ir.core import ORDERS, Order
from girih.runtime.targets import CHECKING, CHECKS, DEFAULT_CHECKS, FORMS, PROGRAM_FORM

EXIT_STATUS = (
    "0 all is well (warnings too); 1 the input is wrong or cannot be read, a run found something, or the output cannot "
    "be written; 2 the call is wrong; 130 interrupted."
)
INTERRUPTED = 130
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE)
"""The errors of a stream that cannot be written: the disk is full, for example, or the reader is gone."""

BENCH_GROUPS = ("gemm", "threads", "tiles", "batched", "streamed", "rows", "attention", "vectors", "functions",
                "compile", "start", "cache", "calls")  # fmt: skip
"""The groups of the standard set of `girih bench`."""

_SETTINGS = {"help_option_names": ["-h", "--help"]}

_definitions = click.option(
    "-D", "--define", "definitions", multiple=True, metavar="NAME=VALUE",
    callback=lambda _context, _option, value: definitions_of(value),
    help="Replace the definition `$NAME = ...` of the file, for instance -D headdim=64. May be repeated.",
)  # fmt: skip
_values = click.option(
    "-D", "--define", "definitions", multiple=True, metavar="NAME=VALUE",
    callback=lambda _context, _option, value: named_values(text.strip().removeprefix("$") for text in value),
    help="Replace the definition `$NAME = ...` of the file, for instance -D headdim=64; of a shader the value of a "
         "specialisation constant, by SpecId or name: -D 3=64. May be repeated.",
)  # fmt: skip
_format = click.option(
    "--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Text for people, JSON for programs.",
)  # fmt: skip
_checks = click.option(
    "--checks", type=click.Choice(CHECKS), default=CHECKS[0], show_default=True,
    help="Which checks compiled code makes.",
)  # fmt: skip

_order = click.option(
    "--order", type=click.Choice(ORDERS), default="F", show_default=True,
    help="Which axis of an array is mode 0, the first (F) or the last (C), where the kernel does not say.",
)  # fmt: skip

_python_order = click.option(
    "--order", type=click.Choice(ORDERS), default=None,
    help="Of a kernel in Python: the order of arrays that are not from files.  [default: C]",
)  # fmt: skip


def _named_first(function: str | None, arguments: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The name of a function and arguments, where the first of these may stand in place of the name."""
    if function is not None and "=" in function:
        return None, (function, *arguments)
    return function, arguments


_LATE = {"address": "girih.commands.address.command", "spirv": "girih.commands.spirv.command"}
"""Subcommands with many options of their own, and the modules that have them: `girih check` need not load these."""


class Commands(click.Group):
    """The group of subcommands, which turns exceptions into words and an exit status."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of a name, None for an unknown one; one of `_LATE` is imported by this call."""
        if cmd_name in _LATE:
            loaded: click.Command = getattr(import_module(_LATE[cmd_name]), cmd_name)
            return loaded
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand, with errors in words."""
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                warn_of_unknown_variables()
                return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            for note in getattr(interrupt, "__notes__", ()):
                click.echo(note, err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except MemoryError:
            raise click.ClickException("there is not enough memory for this") from None
        except Exception as error:
            if _is_setting(error):
                raise click.UsageError(str(error)) from None
            if _is_of_output(error):
                raise
            if os.environ.get("GIRIH_TRACEBACK"):
                raise
            raise click.ClickException(_defect(error)) from error

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Parse and run, as `click` does; for output that cannot be written too, the error is in words."""
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            if not _is_of_output(error):
                raise
            _refuse_output(error)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning without a line of Python, which means nothing to the user of a command."""
    click.echo(f"warning: {message}", err=True)


def _is_of_output(error: Exception) -> bool:
    """Whether an error is that standard output or standard error cannot be written; errors of files have a name."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE


def _refuse_output(error: OSError) -> NoReturn:
    """Say that the output is lost, if standard error can be written, and exit."""
    with suppress(OSError):
        click.echo(f"Error: the output cannot be written: {error.strerror or error}", err=True)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError, ValueError):
            if not stream.isatty():  # Python writes what a stream still buffers at exit, which would fail once more.
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(1)


def _is_setting(error: Exception) -> bool:
    """Whether an error is that of an environment variable."""
    from girih.diagnostics import SettingError

    return isinstance(error, SettingError)


def _defect(error: Exception) -> str:
    from girih.diagnostics import InternalError

    known = error if isinstance(error, InternalError) else InternalError(f"{type(error).__name__}: {error}")
    return f"internal error: {known}\nSet GIRIH_TRACEBACK=1 to see where it happened."


def _variables() -> str:
    """The paragraph of help on environment variables, which `click` does not wrap."""
    width = max(map(len, VARIABLES))
    rows = [f"  {name:<{width}}  {says}" for name, says in VARIABLES.items()]
    return "\n".join(["\b", "Environment variables:", *rows])


@click.group(cls=Commands, context_settings=_SETTINGS, epilog=f"Exit status: {EXIT_STATUS}\n\n{_variables()}")
@click.version_option(__version__, prog_name="girih", message="%(prog)s %(version)s")
def main() -> None:
    """Check, explain and run kernels in the tensor language; check SPIR-V modules."""


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-D",
    "--define",
    "definitions",
    multiple=True,
    metavar="NAME=VALUE",
    callback=lambda _context, _option, value: named_values(value),
    help="Replace the definition `$NAME = ...` of a program, or a specialisation constant by SpecId or name.",
)
@click.option(
    "--format", "format", type=click.Choice(["text", "json", "github", "sarif"]), default="text", show_default=True,
    help="Text for people, JSON for programs, notes in pull requests of GitHub, or a SARIF 2.1.0 log.",
)  # fmt: skip
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...], definitions: dict[str, str], format: str) -> None:
    """Report every error and warning of files, without running them; `-` reads a program from standard input.

    A FILE is a program, or by its ending a SPIR-V module (.spv, .spvasm), a shader (.comp, .glsl, .slang, .hlsl), for
    which a compiler is called, or Python with kernels (.py), which is imported.
    """
    from girih.commands.check import check_files

    ctx.exit(check_files(files, definitions, format))


@main.command(
    epilog="""\b
Values of arguments:
  2, -1.5, 1e-3, inf, true, 1+2j   a number; for a 0-d memref its element
  null                             no memory behind the memref or group
  a.npy                            an array from a file, axis i is mode i
  zeros, ones, random, arange, uninitialized
                                   an array of the parameter's type, or
  random:f32:64x64                 ... of this element type and shape
  tiled:a.npy:box=64x16:swizzle=128B  a tensor map and its array, whose last axis is innermost;
                                   im2col:a.npy:lower=-1x-1:upper=-1x-1:channels=64:pixels=32
  [a.npy,zeros:f32:4]              a group; with an offset [...]@3, and with the shapes
                                   of its memrefs [...]@3:[4x5,2x2]
Of Python (.py) FUNCTION is a kernel that the file decorates, left out if it is the only one; NAME=VALUE gives its
constants too, as Python writes them: tile=64, dtype=f16. Sizes and types are those of the arrays: A=zeros:f16:64x64.
Of a shader (.spv, .spvasm, .comp, .glsl, .slang, .hlsl) FUNCTION is an entry point, left out if it is the only one;
NAME is SET:BINDING, as in 0:1=a.npy, or the name of a buffer or block. A .bin file is the bytes of a buffer; types are
also u8, u16, u32 and u64; an array of buffers is [a.npy,b.npy].
random draws floating-point numbers from [0, 1) and integers from 0..99; arange counts 0, 1, 2, ... along the first mode
first. Arrays are copied into the layout that the parameter asks for; saved files are in C order.
"""
)
@click.argument("file", metavar="FILE")
@click.argument("function", metavar="[FUNCTION]", required=False)
@click.argument("arguments", nargs=-1, metavar="NAME=VALUE...")
@click.option("--grid", metavar="X[,Y[,Z]]", help="Number of work-groups; left out, the kernel's own grid, or 1.",
              callback=lambda _context, _option, value: None if value is None else grid_of(value))  # fmt: skip
@_values
@click.option("--push", metavar="VALUES",
              help="Of a shader: push constants, i32:5,f32:0.5 side by side, or by the names of members, "
                   "n=5,v=1:2:3.")  # fmt: skip
@click.option("--expect", "expected", multiple=True, metavar="SET:BINDING=FILE.npy",
              help="Of a shader: compare a buffer with what a driver wrote; exit status 1 if they differ by more than "
                   "the bits of NaN, the sign of zero, and --ulps. May be repeated.")  # fmt: skip
@click.option("--ulps", type=click.IntRange(0), default=0, show_default=True, metavar="N",
              help="With --expect and --against: units in the last place by which numbers may differ.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(0), default=4, show_default=True, metavar="N",
              help="With --expect and --against: where a buffer differs, run the shader in every way that Vulkan "
                   "allows, and with N seeds, and say what covers the difference; 0 for not.")  # fmt: skip
@click.option("--against", metavar="TARGET",
              help="Run on this target too and compare every array; exit status 1 if one differs by more than the bits "
                   "of NaN, the sign of zero, and --ulps.")  # fmt: skip
@click.option(
    "--save",
    "saves",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="Write an argument to a file if nothing was wrong; a group to [FILE.npy,...]. May be repeated.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seeds `random` arguments.")
@click.option(
    "--choices",
    type=click.IntRange(0),
    metavar="SEED",
    help="Vary what the language leaves open: order and batches of work-groups, order of sums and the like.",
)
@click.option(
    "--max-steps", type=click.IntRange(1), metavar="N", help="Stop a batch of work-groups after N instructions."
)
@click.option("--no-races", "races", is_flag=True, flag_value=False, default=None,
              help="Do not look for races between work-items, which takes time and memory.")  # fmt: skip
@click.option("--target", default=CHECKING, show_default=True, metavar="TARGET",
              help="What runs the kernel; `girih targets` lists the targets.")  # fmt: skip
@_checks
@_order
@_format
@click.pass_context
def run(
    ctx: click.Context,
    file: str,
    function: str | None,
    arguments: tuple[str, ...],
    grid: tuple[int, ...] | None,
    definitions: dict[str, str],
    push: str | None,
    expected: tuple[str, ...],
    ulps: int,
    seeds: int,
    against: str | None,
    saves: tuple[str, ...],
    seed: int,
    choices: int | None,
    max_steps: int | None,
    races: bool | None,
    target: str,
    checks: str,
    order: Order,
    format: str,
) -> None:
    """Run a kernel of a program or of Python, or a compute shader, on arrays.

    In the interpreter every access is checked, and races between work-items are looked for.
    """
    from girih.commands.parts.run_request import RunRequest
    from girih.commands.run import run_kernel

    function, arguments = _named_first(function, arguments)
    chosen = ctx.get_parameter_source("order") is not ParameterSource.DEFAULT
    request = RunRequest(
        file,
        function,
        arguments,
        grid,
        definitions,
        saves,
        seed,
        choices,
        max_steps,
        races,
        target,
        checks,
        order,
        format == "json",
        push,
        expected,
        ulps,
        seeds,
        against,
        order if chosen else None,
        checks if ctx.get_parameter_source("checks") is not ParameterSource.DEFAULT else None,
    )
    ctx.exit(run_kernel(request))


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", "check_only", is_flag=True, help="Write nothing; exit status 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.pass_context
def fmt(ctx: click.Context, files: tuple[str, ...], check_only: bool, diff: bool) -> None:
    """Format files in the canonical layout; `-` reads standard input and writes standard output.

    Comments, definitions and names stay. A file with errors of syntax or types is not changed.
    """
    from girih.commands.format import format_files

    ctx.exit(format_files(files, check=check_only, diff=diff))


@main.command()
@click.argument("file", metavar="FILE")
@click.argument("function", metavar="[FUNCTION]", required=False)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE...]")
@click.option("--as", "form", required=True, type=click.Choice([PROGRAM_FORM, *FORMS]),
              help="The canonical text, or what a target compiles the kernels to.")  # fmt: skip
@click.option("--target", default=None, metavar="TARGET",
              help="What to compile for, such as `cpu:haswell`; `girih targets` lists the targets. GLSL without one is "
                   "for the smallest kind of Vulkan device that accepts the kernel.")  # fmt: skip
@click.option("--checks", type=click.Choice(CHECKS), default=CHECKS[0],
              help="Which checks the code makes.  [default: bounds; for spirv and glsl off]")  # fmt: skip
@_values
@_python_order
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output.")
@click.option("--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Remarks as text for people, or JSON for programs.")  # fmt: skip
@click.pass_context
def emit(
    ctx: click.Context,
    file: str,
    function: str | None,
    arguments: tuple[str, ...],
    form: str,
    target: str | None,
    checks: str,
    definitions: dict[str, str],
    order: Order | None,
    output: str | None,
    format: str,
) -> None:
    """Check a file, and write it or one function of it in another form, or what the compiler remarks on it.

    A FILE is a program, or by its ending a SPIR-V module, a shader, or a Python file with kernels. These are compiled
    for their annotations, and for the arguments that are given as for `girih run`, A=zeros:f32:64x64.
    """
    from girih.commands.emit import EmitRequest, emit_file

    if ctx.get_parameter_source("checks") is ParameterSource.DEFAULT:
        checks = DEFAULT_CHECKS
    function, arguments = _named_first(function, arguments)
    request = EmitRequest(file, function, form, target, checks, definitions, output, format, arguments, order)
    ctx.exit(emit_file(request))


@main.command()
@click.argument("topic", metavar="CODE|MNEMONIC|NAME", required=False)
@click.option("--list", "list_all", is_flag=True, help="List all codes, rules and instructions, with a line each.")
@click.option("--names", "list_names", is_flag=True, help="List all names of the specifications and additions.")
@_format
@click.pass_context
def explain(ctx: click.Context, topic: str | None, list_all: bool, list_names: bool, format: str) -> None:
    """Explain a code such as `axpby.shape`, an instruction such as `axpby`, a rule such as `tensor_map.box_dim`, a
    name of the specifications such as `clampMode`; of SPIR-V, `OpIAdd` or `spirv.OpIAdd.operands`, and with `spirv`
    what there is."""
    from girih.commands import explain as command

    as_json, option = format == "json", "--list" if list_all else "--names"
    if topic is not None and (list_all or list_names):
        raise click.UsageError(f"{option} lists everything: leave out {topic}, or {option} to explain it")
    if list_all and list_names:
        raise click.UsageError("--list and --names are two lists: give one of them")
    if topic is not None:
        ctx.exit(command.explain_topic(topic, as_json=as_json))
    if not (list_all or list_names):
        raise click.UsageError("give a code or an instruction, as in `girih explain axpby.shape`, --list or --names")
    ctx.exit(command.list_topics(as_json=as_json) if list_all else command.list_names(as_json=as_json))


@main.command()
@click.argument("file", metavar="FILE")
@click.argument("function", metavar="[FUNCTION]", required=False)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE...]")
@_values
@_python_order
@click.option(
    "--format", "format", type=click.Choice(["text", "json", "svg", "html"]), default=None,
    help="Text for people, JSON for programs, or a picture with control flow and uses. If left out, the name of the "
    "output decides, and without an output it is text.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead of standard output: .txt, .json, .svg "
              "or .html.")  # fmt: skip
@click.pass_context
def show(
    ctx: click.Context,
    file: str,
    function: str | None,
    arguments: tuple[str, ...],
    definitions: dict[str, str],
    order: Order | None,
    format: str | None,
    output: str | None,
) -> None:
    """Show the structure of kernels: regions, values with types and uses, memory read and written.

    A FILE is a program, or by its ending a SPIR-V module, a shader, or a Python file with kernels, shown for their
    annotations, and for the arguments that are given as for `girih run`, A=zeros:f32:64x64.
    """
    from girih.commands.show import show_file

    function, arguments = _named_first(function, arguments)
    ctx.exit(show_file(file, function, definitions, format, output, arguments, order))


@main.command()
@click.argument("name", metavar="[NAME]", required=False)
@_format
@click.pass_context
def kernels(ctx: click.Context, name: str | None, format: str) -> None:
    """List the kernels that come with girih, or print one with its definitions."""
    from girih.commands.kernels import list_kernels, show_kernel

    as_json = format == "json"
    ctx.exit(list_kernels(as_json=as_json) if name is None else show_kernel(name, as_json=as_json))


@main.command()
@click.argument("name", metavar="[NAME]", required=False)
@_format
@click.pass_context
def targets(ctx: click.Context, name: str | None, format: str) -> None:
    """List the targets, or show what one can do: types, matrices, limits, options.

    NAME is a target as `--target` takes it, such as `cpu:haswell`.
    """
    from girih.commands.targets import list_targets, show_target

    as_json = format == "json"
    ctx.exit(list_targets(as_json=as_json) if name is None else show_target(name, as_json=as_json))


@main.command(
    epilog="""\b
girih bench                       the standard set, against NumPy, torch and libxsmm
girih bench softmax -D type=f16   a kernel of the library, in sizes that are typical of it
girih bench FILE FUNCTION --grid 8,8 A=random:f32:512x512 ...
                                  a kernel of a file, also of Python; arguments as for
                                  `girih run`; a file with one kernel needs no FUNCTION
girih bench softmax --target cuda a kernel on an NVIDIA GPU, on arrays that are there
Every result is compared with NumPy's, or the interpreter's, before it is timed. A ratio is the peer's time over ours:
above 1, girih is faster. Kernels have the checks that `girih.load` gives them unless --checks says otherwise. Kernels
and peers are timed in turns; the table shows medians.
"""
)
@click.argument("target", metavar="[FILE|NAME]", required=False)
@click.argument("function", metavar="[FUNCTION]", required=False)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE...]")
@click.option("--grid", metavar="X[,Y[,Z]]", help="Number of work-groups; left out, the kernel's own grid, or 1.",
              callback=lambda _context, _option, value: () if value is None else grid_of(value))  # fmt: skip
@_definitions
@click.option("--group", "groups", multiple=True, metavar="GROUP", type=click.Choice(BENCH_GROUPS),
              help=f"Only this group of the standard set; may be repeated: {', '.join(BENCH_GROUPS)}.")  # fmt: skip
@click.option("--against", multiple=True, type=click.Choice(["numpy", "torch", "libxsmm"]), help="Compare with this "
              "peer, which must be installed; all installed ones if left out. May be repeated.")  # fmt: skip
@click.option("--target", "on", default="cpu", show_default=True, metavar="TARGET", help="Measure a kernel on the CPU, "
              "or on an NVIDIA GPU: `cuda`, or `cuda:0`; arrays are there before it is timed.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads for girih and its peers; if left "
              "out, 1 for a kernel, 2 for the part of the standard set that is about threads.")  # fmt: skip
@click.option("--checks", type=click.Choice(list(CHECK_MODES)), default=next(iter(CHECK_MODES)), show_default=True,
              help="What compiled code checks; `both` compares without checks and shows what they cost.")  # fmt: skip
@click.option("--quick", is_flag=True, help="Measure for a shorter time, less exactly.")
@click.option("--validate/--no-validate", default=True, show_default=True,
              help="Run a kernel of a file in the interpreter first, to check its result.")  # fmt: skip
@click.option("--flops", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Operations of one launch of a kernel of a file, for its rate.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seeds `random` arguments.")
@click.option("--plot", metavar="FILE", help="Draw a roofline picture (.svg, .png or .pdf; needs girih[draw]).")
@click.option("--json", "json", is_flag=True, help="The same as --format json.")
@_format
@click.pass_context
def bench(ctx: click.Context, /, grid: tuple[int, ...], json: bool, format: str, **given: Any) -> None:
    """Time a kernel, or the standard set, against NumPy, torch and libxsmm."""
    from girih.commands.bench import BenchCall
    from girih.commands.bench import bench as run_bench

    ctx.exit(run_bench(BenchCall(grid=grid, as_json=json or format == "json", **given)))


for late in _LATE:
    main.add_command(click.Command(late))  # a placeholder, so that the name is known
