"""Every rule of every module of the address models: a source, something it accepts, something it rejects, words."""

from __future__ import annotations

import json
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

from girih import addressing
from girih.addressing import RULES
from tests.addressing import test_access_rules, test_tensor_map_rules

for module in pkgutil.iter_modules(addressing.__path__):
    import_module(f"girih.addressing.{module.name}")

SOURCE = re.compile(
    r"(00[0-4] .+|PTX ISA|driver|measured|girih|CUDA programming guide|SPV_ARM_cooperative_matrix_layouts revision 2)$"
)
EXAMPLES = [one.rule for one in test_access_rules.EXAMPLES] + [*test_tensor_map_rules.EXAMPLES]
EXPLAINED = json.loads((Path(addressing.__file__).parent.parent / "data" / "address_rules.json").read_text("utf-8"))
NOT_SHOWN = {"load_store.decoded"}
"""Rules whose examples are functions, which have no text."""


def test_every_rule_is_kept_once_and_broken_once() -> None:
    assert sorted(EXAMPLES) == sorted(RULES)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_says_what_holds_and_who_says_so(name: str) -> None:
    rule = RULES[name]
    assert rule.id == name and re.fullmatch(r"[a-z_]+\.[a-z_0-9]+", name)
    assert rule.says and rule.says[-1] not in ".;,"
    sources = re.split(r", (?=00[0-4] |PTX|driver|measured|girih)", rule.source)
    assert all(SOURCE.match(source) for source in sources), sources


def test_every_rule_is_explained_with_what_it_accepts_and_rejects() -> None:
    assert EXPLAINED.keys() == RULES.keys()
    shown = {name for name, rule in EXPLAINED.items() if rule["accepted"] and rule["rejected"] and rule["told"]}
    assert RULES.keys() - shown == NOT_SHOWN
