"""The finding that a record of a launch holds, in the interpreter's words, for all targets alike."""

from __future__ import annotations

from collections.abc import Sequence

from girih.analysis.sources import source_at
from girih.back.llvm.lower.sites import MEMBER, Site
from girih.diagnostics import Finding, in_words
from girih.facts.elements import in_the_array
from girih.facts.findings import AT_ADDRESS
from girih.ir.core import Function
from girih.source import Span


def finding_of(
    site: Site, function: Function, values: Sequence[int], group: tuple[int, int, int], subgroup: int, lane: int
) -> Finding:
    """The finding of a check that failed.

    `values` are those that were kept of the site's index, shape and number, as words with a sign; `group` is the
    work-group, `subgroup` and `lane` are -1 where none is meant.
    """
    if site.code == AT_ADDRESS:
        values = [value & 2**64 - 1 for value in values]
    end = site.index_count + site.shape_count
    index = tuple(values[: site.index_count]) if site.index_count else None
    shape = tuple(values[site.index_count : end]) if site.shape_count else None
    member = str((*values[end : end + 1], 0)[0]) if site.numbered else MEMBER
    message, place = site.message.replace(MEMBER, member), site.place.replace(MEMBER, member)
    if index is not None and shape is not None:
        message = f"{message}: {in_words(place, index, shape)}"
    known = lane if lane >= 0 and site.by_lane else None
    component = divmod(known, site.columns) if known is not None and site.columns else None
    found = Finding(
        site.code,
        message,
        Span(source_at(function, site.source), *site.span),
        None if site.argument is None else site.argument.replace(MEMBER, member),
        index,
        shape,
        group,
        subgroup if subgroup >= 0 else None,
        known if component is None else None,
        component,
    )
    return in_the_array(function, found)
