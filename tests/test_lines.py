"""The lines that note themselves are those that a trace function sees."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.lines import LineNotes, noting

PROGRAM = '''"""A module."""
from __future__ import annotations
from contextlib import suppress
COUNT = 0
def decorated(function):
    """A comment and a statement."""
    return function
@decorated
@decorated
def raises():
    raise KeyError
    return 0
class Thing:
    """A class."""
    size = 2
    def __init__(self):
        self.held = [lambda: 1 for _ in range(3)]
        if self.size > 2: return
        elif self.held:
            global COUNT
            COUNT += 1
        else:
            COUNT -= 1
    @property
    def area(self):
        def inner():
            nonlocal_sum = self.size
            yield nonlocal_sum
        return sum(inner())
def control(value):
    for k in range(2):
        if k:
            continue
        while value > 100:
            break
    else:
        value += 0
    with suppress(ZeroDivisionError):
        value / 0
        value = None
    try:
        [][value]
    except KeyError:
        value = 1
    except (IndexError, TypeError) as error:
        del error
    except OSError:
        value = 2
    finally:
        value = 3
    try:
        int("x")
    except:
        pass
    match value:
        case 1:
            return 1
        case 3 if COUNT:
            return 3
        case _:
            return 0
with suppress(KeyError):
    raises()
control(Thing().area)
'''


def traced(code: CodeType, names: dict[str, Any]) -> set[int]:
    """The lines of code that a trace function sees."""
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != code.co_filename:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, names)
    finally:
        sys.settrace(before)
    return lines


def test_what_is_noted_is_what_is_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noted_program.py").write_text(PROGRAM, encoding="utf-8")
    notes = LineNotes("noted_program")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [notes, *sys.meta_path])
    seen = traced(compile(PROGRAM, "a program", "exec"), {"__name__": "program"})
    docstrings = {1, 14}
    for _ in range(2):
        # The second module is made of code that was kept.
        monkeypatch.delitem(sys.modules, "noted_program", raising=False)
        importlib.import_module("noted_program")
    assert notes.reached() == {str(tmp_path / "noted_program.py"): seen - docstrings}


def test_a_program_with_notes_has_its_own_lines_and_names() -> None:
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(noting(ast.parse(PROGRAM)), "a program", "exec"), names)
    assert names["Thing"].__init__.__code__.co_firstlineno == 16
    assert names["Thing"].__doc__ == "A class."
    assert [name for name in vars(names["Thing"]) if not name.startswith("__")] == ["size", "area"]
