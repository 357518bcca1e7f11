"""Rows about things that are no programs: what a rule row is does not depend on what it is applied to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from girih.rules.apply import Label, failures
from girih.rules.codes import Code, codes_of, explained
from girih.rules.predicates import Divides, Equal, Holds, Satisfies, When, at_least, each_at_least
from girih.rules.row import Predicate, Row, Subject, Undetermined
from girih.rules.terms import computed, count, held, number, show
from girih.source import Source, Span

SOURCE = Source("door 3 by 7\n", "house.txt")
WHOLE, FIRST, SECOND = Span(SOURCE, 0, 11), Span(SOURCE, 5, 6), Span(SOURCE, 10, 11)


@dataclass(frozen=True)
class Door:
    """Something with fields that rows can name."""

    width: int = 3
    height: int = 7
    locked: bool = False
    panes: tuple[int, ...] = ()


def door(**fields: Any) -> Subject[str]:
    return Subject(Door(**fields), "summer")


def where(row: Row, subject: Subject[Any]) -> tuple[list[Label], list[Label]]:
    places = {"width": FIRST, "height": SECOND}
    return [(places[name], name) for name in row.blames.split()], []


def told(*rows: Row, **fields: Any) -> list[str]:
    return [d.code for d in failures("door", rows, door(**fields), WHOLE, where)]


def unknown(subject: Subject[Any]) -> Any:
    raise Undetermined


SQUARE = Row("square", "width height", Equal(held("width"), held("height")), "a door is square", "house 1")
WIDE = Row("wide", "width", at_least(held("width"), 5), "a door is wide", "house 2", "take another one")
WARM = Row("warm", "", Holds("it is winter", lambda s: s.facts == "winter"), "doors are for winter", "house 3",
           severity="warning")  # fmt: skip


def test_every_row_that_fails_is_reported() -> None:
    assert told(WIDE, WARM) == ["door.wide", "door.warm"]
    assert told(WIDE, WARM, width=6) == ["door.warm"]


def test_a_part_in_error_causes_no_further_diagnostics() -> None:
    assert told(SQUARE, WIDE) == ["door.square"]
    assert told(WIDE, SQUARE) == ["door.wide"]
    assert told(SQUARE, WIDE, height=3) == ["door.wide"]


def test_a_warning_leaves_its_part_to_the_other_rows() -> None:
    doubt = Row("doubt", "width", at_least(held("width"), 9), "a door is very wide", "house 4", severity="warning")
    assert told(doubt, WIDE) == ["door.doubt", "door.wide"]


def test_an_undetermined_row_says_nothing() -> None:
    lost = computed("lost", unknown)
    assert told(Row("lost", "width", Equal(lost, number(1)), "found", ""), WIDE) == ["door.wide"]
    speechless = Holds("it can be told", lambda s: False, unknown)
    assert told(Row("told", "width", speechless, "told", ""), WIDE) == ["door.wide"]


def test_a_diagnostic_says_what_was_expected_what_came_where_and_what_to_do() -> None:
    (found,) = failures("door", [WIDE], door(), WHOLE, where)
    assert (found.message, found.hint) == ("expected: a door is wide; found: width is 3", "take another one")
    assert (found.span, found.labels) == (FIRST, ((FIRST, "width"),))
    (found,) = failures("door", [WARM], door(), WHOLE, where)
    assert (found.span, found.message, found.severity) == (WHOLE, "expected: doors are for winter", "warning")


PREDICATES: list[tuple[Predicate, str, str]] = [
    (Equal(held("width"), number(4)), "width = 4", "width is 3, not 4"),
    (Equal(held("width"), held("height")), "width = height", "width is 3, height is 7"),
    (Satisfies(held("locked"), "is set", bool), "locked is set", "locked is false"),
    (at_least(count("panes"), 3), "number of panes ≥ 3", "number of panes is 2"),
    (each_at_least(held("panes"), 2), "panes each ≥ 2", "panes is 1x2"),
    (Divides(held("width"), held("height")), "height mod width = 0", "height is 7, width is 3"),
    (Holds("it is known", lambda s: False, lambda s: s.facts), "it is known", "summer"),
]


@pytest.mark.parametrize(("predicate", "text", "came"), PREDICATES, ids=lambda value: type(value).__name__)
def test_a_predicate_prints_itself_and_says_what_came(predicate: Predicate, text: str, came: str) -> None:
    subject = door(panes=(1, 2))
    assert predicate.text == text
    assert not predicate.holds(subject)
    assert predicate.came(subject) == came
    assert predicate.hint(subject) is None


def test_a_predicate_that_counts_only_where_a_modifier_is_set() -> None:
    mended = Equal(held("width"), number(4), lambda left, right: f"add {right - left}")
    locked = When("locked", mended)
    assert locked.text == "with .locked: width = 4"
    assert locked.holds(door())
    assert not locked.holds(door(locked=True))
    assert (locked.came(door()), locked.hint(door())) == ("width is 3, not 4", "add 1")


def test_quantities_as_they_are_shown() -> None:
    assert [show(value) for value in (None, (), (1, None), True, 2.5)] == ["?", "()", "1x?", "true", "2.5"]


def test_a_row_as_it_is_looked_up() -> None:
    (code,) = codes_of("spirv.OpDoor", [WIDE])
    assert code == Code("spirv.OpDoor.wide", "error", "a door is wide", "width ≥ 5", "width", "house 2")
    assert (code.owner, code.id) == ("spirv.OpDoor", "wide")
    assert explained(code) == [
        "spirv.OpDoor.wide (error)",
        "",
        "  a door is wide",
        "",
        "  rule    width ≥ 5",
        "  blames  width",
        "  source  house 2",
    ]
