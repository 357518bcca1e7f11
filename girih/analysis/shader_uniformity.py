"""What differs between work-items in functions of the device language."""

from __future__ import annotations

from collections.abc import Mapping

from girih.analysis.active import ACTIVE_VISITS, ActivePromises
from girih.analysis.uniformity import VISITS, Lanes
from girih.ir.core import Op

_SHADER_VISITS: Mapping[type[Op], str] = {**VISITS, **ACTIVE_VISITS}


class ShaderPromises(ActivePromises):
    """The levels that the language promises, in functions of the device language."""

    visits = _SHADER_VISITS


class ShaderLanes(ShaderPromises, Lanes):
    """The levels where lanes are the elements of a vector, in functions of the device language."""
