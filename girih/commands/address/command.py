"""`girih address`: the click commands; their work is in `report`. Imports neither NumPy nor the models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import click

from girih.commands.address.parameters import KINDS, PARAMETERS

_ABOUT = {
    "tensor-layout": "A tensor layout, with a view if one is given (000, 001).",
    "tensor-map": "A CUDA tensor map and one copy through it (004); also from a pasted dump of its parameters.",
    "blocked-interleaved": "A matrix in interleaved blocks (002).",
    "strided": "A memref with strides (003).",
    "convolution": "A convolution as im2col copies: the tensor map, the offsets of every tap, one copy (004).",
}
_PASTE = """\b
--paste reads C source with a call of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col and the arrays above it, or
lines `globalDim = 64, 32`, `swizzle: CU_TENSOR_MAP_SWIZZLE_128B` as debug prints show them. Options
replace what it says.
"""


@click.group()
def address() -> None:
    """Check, count and draw one address model: which bytes does this tile touch?"""


def _symbols(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> Mapping[str, str]:
    """The numbers of `NAME=NUMBER` options by name."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name.strip()) or not value.strip():
            raise click.BadParameter(f"{text!r} is not NAME=NUMBER", param_hint="-D")
        found[name.strip()] = value.strip()
    return found


def _command(model: str) -> click.Command:
    """The subcommand of a model: its parameters as options, then the options that all models share."""
    own: list[click.Parameter] = []
    for one in PARAMETERS[model]:
        if one.kind == "flag":
            own.append(click.Option([one.option], is_flag=True, default=None, help=one.help))
        else:
            own.append(click.Option([one.option], metavar=KINDS[one.kind].metavar, help=one.help))
    if model == "tensor-map":
        own.append(click.Option(["--paste"], metavar="FILE", help="Read a dump of the driver's parameters; - is "
                                "standard input."))  # fmt: skip
        own.append(click.Option(["-D", "--define", "symbols"], multiple=True, metavar="NAME=NUMBER", callback=_symbols,
                                help="With --paste: what a name in the dump stands for. May be repeated."))  # fmt: skip
        own.append(click.Option(["--as", "language"], type=click.Choice(["c", "ptx", "python"]),
                                help="Write the map and the copy as code instead of the answer."))  # fmt: skip
    if model != "convolution":
        own.append(click.Option(["--to"], type=click.Choice([name for name in PARAMETERS if name != "convolution"]),
                                help="Find the model of this kind that says the same."))  # fmt: skip
    own += [
        click.Option(["--from", "file"], metavar="FILE", help="Read parameters from a JSON object, such as the output "
                     "of --json; - is standard input. Options replace them."),
        click.Option(["--draw"], metavar="FILE", help="Save the picture (.svg, or .png with girih[draw])."),
        click.Option(["--picture/--no-picture"], default=True, show_default=True, help="Show the picture as text."),
        click.Option(["--json", "json"], is_flag=True, help="The same as --format json."),
        click.Option(["--format", "format"], type=click.Choice(["text", "json"]), default="text", show_default=True,
                     help="Text for people, JSON for programs."),
    ]  # fmt: skip
    return click.Command(
        model,
        callback=_callback(model),
        params=own,
        help=_ABOUT[model],
        epilog=_PASTE if model == "tensor-map" else None,
    )


def _callback(model: str) -> Callable[..., None]:
    def call(file: str | None, draw: str | None, picture: bool, json: bool, format: str, **given: Any) -> None:
        from girih.commands.address.report import AddressCall
        from girih.commands.address.report import address as run

        paste, symbols, to = given.pop("paste", None), given.pop("symbols", None), given.pop("to", None)
        language, as_json = given.pop("language", None), json or format == "json"
        made = AddressCall(model, given, file, paste, symbols or {}, to, draw, picture, as_json, language)
        click.get_current_context().exit(run(made))

    return call


for _model in PARAMETERS:
    address.add_command(_command(_model))
