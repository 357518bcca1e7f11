"""Write girih/data/address_rules.json: for `girih explain`, every rule of the address models with an accepted and a
rejected example.

The examples are those of the tests, which are calls of small helpers: with names that only record what is done with
them in place of the models, a helper gives the call as a text. A text is in the file only if, when it is run, it is
accepted or rejected as it should be. `python tools/draw_pictures.py` writes the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from girih import addressing
from girih.addressing import RULES, AddressingError, Rule, Violation

ROOT = Path(__file__).resolve().parent.parent
ARRAYS = {"MEMORY": "memory", "SHARED": "shared", "READ_ONLY": "read_only"}
"""The arrays of the tests under the names that examples show: bytes of global and of shared memory."""

Use = Callable[[], object]


class Noted:
    """A stand-in for a value: calls, attributes, items and operators give another one, whose text records them."""

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def __repr__(self) -> str:
        return str(self.__dict__["_text"])

    def __getattr__(self, name: str) -> Noted:
        if name.startswith("__"):
            raise AttributeError(name)
        return Noted(f"{self!r}.{name}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} cannot be noted")

    def __call__(self, *values: object, **named: object) -> Noted:
        words = [*(_text(value) for value in values), *(f"{name}={_text(value)}" for name, value in named.items())]
        return Noted(f"{self!r}({', '.join(words)})")

    def __getitem__(self, key: object) -> Noted:
        return Noted(f"{self!r}[{_text(key)}]")


def _text(value: object) -> str:
    if isinstance(value, slice):
        ends = ["" if one is None else str(one) for one in (value.start, value.stop)]
        return ":".join(ends if value.step is None else [*ends, str(value.step)])
    text = repr(value)
    return text if '"' in text else text.replace("'", '"')


@contextmanager
def noting(module: ModuleType) -> Iterator[None]:
    """A context in which the models and NumPy are stand-ins that record, for the helpers of a module of tests."""
    names = {name: Noted(name) for name in (*addressing.__all__, "np", "ml_dtypes", "plan_convolution")}
    names |= {name: Noted(shown) for name, shown in ARRAYS.items()}
    stand_ins: dict[str, Any] = {**names, "lints_of": lambda found: found}
    before = {name: getattr(module, name) for name in stand_ins if hasattr(module, name)}
    for name in before:
        setattr(module, name, stand_ins[name])
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def text_of(use: Use, module: ModuleType) -> str | None:
    """The text of a use of the models as one expression; None for a use that is not one expression."""
    with noting(module):
        try:
            found = use()
        except Exception:
            return None
    return repr(found) if isinstance(found, Noted) else None


def violations_of(text: str) -> Sequence[Violation] | None:
    """The violations by an example, lints included; None where it is not Python or fails otherwise."""
    read_only = np.zeros(1 << 16, np.uint8)
    read_only.flags.writeable = False
    names = {name: getattr(addressing, name) for name in addressing.__all__}
    names |= {"np": np, "ml_dtypes": ml_dtypes, "read_only": read_only}
    names |= {name: np.zeros(1 << 16, np.uint8) for name in ("memory", "shared")}
    try:
        found = eval(text, names)
    except AddressingError as error:
        return error.violations
    except Exception:
        return None
    return [one for one in found if isinstance(one, Violation)] if isinstance(found, tuple) else ()


def examples() -> dict[str, tuple[ModuleType, Use, Sequence[Use]]]:
    """The module of the tests, the use that the rule accepts, and the uses that it rejects, by the rule's id."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    access: Any = import_module("tests.addressing.test_access_rules")
    maps: Any = import_module("tests.addressing.test_tensor_map_rules")
    return {one.rule: (access, one.good, one.bad) for one in access.EXAMPLES} | {
        name: (maps, good, (bad,)) for name, (good, bad) in maps.EXAMPLES.items()
    }


def entry(rule: Rule, page: str, module: ModuleType, good: Use, bad: Sequence[Use]) -> dict[str, str | None]:
    """The entry of a rule: its words, `page` of the guide, and the first examples that can be shown."""
    found: dict[str, str | None] = {"says": rule.says, "severity": rule.severity, "source": rule.source, "page": page}
    found |= dict.fromkeys(("accepted", "rejected", "told"))
    text = text_of(good, module)
    told = violations_of(text) if text else None
    if told is not None and rule.id not in {one.rule for one in told if one.severity == "lint"} and not _errors(told):
        found["accepted"] = text
    for use in bad:
        text = text_of(use, module)
        told = violations_of(text) if text else None
        for violation in told or ():
            if violation.rule == rule.id and found["rejected"] is None:
                found |= {"rejected": text, "told": f"{violation.message}; {violation.fix}"}
    return found


def _errors(told: Sequence[Violation]) -> bool:
    return any(one.severity == "error" for one in told)


def collect(pages: dict[str, str]) -> str:
    """The text of the file; `pages` maps the beginnings of ids to the pages of the guide that explain them."""
    known = examples()
    rules = {name: entry(RULES[name], pages[name.split(".")[0]], *known[name]) for name in sorted(RULES)}
    return json.dumps(rules, indent=1, ensure_ascii=False) + "\n"
