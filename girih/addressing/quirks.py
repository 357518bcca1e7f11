"""The known differences between a driver and the specification, by name; models follow the text unless asked otherwise.

`nvidia-580` is NVIDIA's Vulkan driver 580.159.04 on an H200: implicit strides of a tensor layout divide a dimension by
its block size rounding down; and in the plain two-dimensional case without a view, elements of the matrix past the end
of the span are filled (loads) or dropped (stores) where the text repeats the span.
"""

from __future__ import annotations

from girih.addressing.errors import RuleReport, rule

NVIDIA_580 = "nvidia-580"
QUIRKS = (NVIDIA_580,)
"""The names that `quirks=` takes."""

UNKNOWN_QUIRKS = rule("quirks.name", "quirks are None or the name of a driver whose deviations were measured", "girih")


def check_quirks(report: RuleReport, quirks: object) -> None:
    """Note a name that is not one of `QUIRKS`, and not None, which stands for the text of the specification."""
    if quirks is not None:
        report.word("quirks", quirks, QUIRKS, UNKNOWN_QUIRKS)
