"""Permissions and hints: what a program gives is what a function has, in words where it is wrong, also when built."""

from __future__ import annotations

from girih import check, parse
from girih.ir.check import check_module
from girih.ir.core import Dictionary, Entry, Function, Module, Region, RegionKind
from girih.ops.tile import TILE_LANGUAGE


def made(*entries: Entry) -> Function:
    body = Region(RegionKind.COLLECTIVE, ())
    return Function("f", TILE_LANGUAGE, (), body, Dictionary(entries))


def said(attributes: str) -> tuple[str, str, str | None]:
    (found,) = check(f"func @f() attributes {{{attributes}}} {{\n}}\n")
    return found.span.text, found.message.split("; found: ")[-1], found.hint


def test_a_function_has_what_its_attributes_say() -> None:
    text = """$hints = {cluster=[2, 1], persistent=true}
func @f() attributes {allow=["tf32"], hopper=$hints, subgroup_size=16} {
}
"""
    module = parse(text)
    (function,) = module.functions
    assert function.permissions == {"tf32"}
    assert function.hints("hopper") == {"cluster": (2, 1), "persistent": True}
    assert function.hints("volta") == {}
    assert str(module).splitlines()[0] == (
        'func @f() attributes {allow=["tf32"], hopper={cluster=[2, 1], persistent=true}, subgroup_size=16} {'
    )
    assert parse(str(module)) == module
    built = made(
        Entry("allow", ("tf32",)),
        Entry("hopper", Dictionary((Entry("cluster", (2, 1)), Entry("persistent", True)))),
        Entry("subgroup_size", 16),
    )
    assert Module((built,)) == module
    assert check_module(Module((built,))) == []
    assert made().permissions == frozenset()


def test_what_is_wrong_is_named_with_what_is_near() -> None:
    assert said('allow=["tf23"]') == ('allow=["tf23"]', '"tf23"', 'did you mean "tf32"?')
    assert said('allow=["fast"]') == ('allow=["fast"]', '"fast"', 'permissions are "contract", "reassociate", "tf32"')
    assert said("hoper={stages=2}") == (
        "hoper",
        "there is no machine `hoper` to give hints to",
        "did you mean `hopper`?",
    )
    assert said("volta={stages=2}")[1:] == ("there is no machine `volta` to give hints to", "hints are for hopper")
    assert said("num_stages=2")[1:] == ("there is no attribute `num_stages`", "did you mean `stages`?")
    assert said("hopper={stage=2}")[1:] == ("there is no attribute `stage`", "did you mean `stages`?")
    assert said("hopper={unroll=2}")[:2] == ("unroll=2", "`unroll`")
    assert said("hopper={cluster=[4,5]}")[:2] == ("cluster=[4,5]", "[4, 5]")
    assert said("hopper={cluster=[4,true]}")[:2] == ("cluster=[4,true]", "[4, true]")


def test_a_function_that_was_built_is_checked_alike() -> None:
    wrong = made(
        Entry("allow", ("fast",)),
        Entry("volta", Dictionary()),
        Entry("hopper", Dictionary((Entry("stagse", 2), Entry("consumers", 0)))),
    )
    codes = [d.code for d in check_module(Module((wrong,)))]
    assert codes == ["func.attributes", "func.permission", "func.hopper", "func.hopper_consumers"]
