"""Pictures of address models: the place in memory of each element of a tile, and what happens to those outside.

Every model object of `girih.addressing` can be drawn without options; `DrawOptions` lists the choices. `svg`, `text`
and files that end in `.svg` need nothing else; `figure` and `.png` need matplotlib, the extra `girih[draw]`. Equal
models and options always give equal SVG and equal text. Of large tiles a part is drawn, and the picture says what is
left out.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from girih.draw.models import picture
from girih.draw.options import PAPER_LIMITS, TERMINAL_LIMITS, DrawOptions, whole
from girih.draw.picture import DrawingError
from girih.draw.terminal import NARROWEST, in_terminal
from girih.draw.vector import svg as in_svg

__all__ = ["DrawOptions", "DrawingError", "figure", "save", "svg", "text"]

ENDINGS = (".svg", ".png")
"""The endings of files that `save` writes."""


def figure(model: object, **options: Unpack[DrawOptions]) -> Any:
    """The picture of a model of `girih.addressing` as a `matplotlib.figure.Figure`, as large as it needs to be.

    `options` are those of `DrawOptions`. Raises `DrawingError` for a `model` of another type, for options that are
    malformed or that the model does not have, and without matplotlib; `AddressingError` for operands that the model
    refuses.
    """
    return _paper().figure(picture(model, options, PAPER_LIMITS))


def svg(model: object, **options: Unpack[DrawOptions]) -> str:
    """The picture of a model of `girih.addressing` as SVG, from `<svg` on; it follows the colour scheme of its reader.

    Words are text, which can be searched. `options` are those of `DrawOptions`. Raises `DrawingError` for a `model` of
    another type and for options that are malformed or that the model does not have; `AddressingError` for operands that
    the model refuses.
    """
    return in_svg(picture(model, options, PAPER_LIMITS))


def save(model: object, path: str | Path, **options: Unpack[DrawOptions]) -> None:
    """Write the picture of a model of `girih.addressing` to a file that ends in `.svg` or `.png`.

    `options` are those of `DrawOptions`. Raises `DrawingError` for a `model` of another type, for options that are
    malformed or that the model does not have, for another ending, for a file that cannot be written, and for `.png`
    without matplotlib; `AddressingError` for operands that the model refuses.
    """
    if not isinstance(path, str | PathLike):
        raise DrawingError(f"path = {path!r} is no path; pass the name of a file that ends in {' or '.join(ENDINGS)}")
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise DrawingError(f"{target}: a picture ends in {' or '.join(ENDINGS)}")
    drawn = picture(model, options, PAPER_LIMITS)
    is_svg = target.suffix.lower() == ".svg"
    paper = None if is_svg else _paper()
    try:
        if paper is None:
            target.write_text(in_svg(drawn), encoding="utf-8")
        else:
            paper.save(drawn, target)
    except OSError as error:
        raise DrawingError(f"{target}: the picture cannot be written ({error.strerror or error})") from error


def text(model: object, *, width: int = 100, **options: Unpack[DrawOptions]) -> str:
    """The picture of a model of `girih.addressing` as text of at most `width` characters a line, the last line ended.

    It is ASCII without colours; letters before the numbers tell the classes apart. `options` are those of
    `DrawOptions`. Raises `DrawingError` for a `model` of another type, for options that are malformed or that the model
    does not have, and for a width under 30; `AddressingError` for operands that the model refuses.
    """
    if whole("width", width, 1) < NARROWEST:
        raise DrawingError(f"width = {width}: a picture needs {NARROWEST} characters")
    return in_terminal(picture(model, options, TERMINAL_LIMITS), width)


def _paper() -> Any:
    """The module that needs matplotlib, loaded when it draws. Raises `DrawingError` without matplotlib."""
    try:
        return import_module("girih.draw.paper")
    except ImportError as error:
        raise DrawingError(f"figures and PNG need matplotlib ({error}); pip install 'girih[draw]'") from None


def __dir__() -> list[str]:
    return sorted(__all__)
