"""Programs with tensor copies against what an NVIDIA H200 did: bytes, and illegal instructions."""

from __future__ import annotations

import pytest

import girih
from girih.addressing import AddressingError
from tests.addressing.test_tensor_map_golden import map_of
from tests.cases import every_case, long
from tests.tensor_maps import golden


@pytest.mark.parametrize(("target", "step"), [("interpreter", 3), *long([("interpreter", 1), ("cpu", 1)])])
def test_copies_that_succeeded(target: str, step: int) -> None:
    chosen = golden.cases("ok")
    assert len(chosen) == 873
    with every_case() as case:
        for one in chosen[::step]:
            with case(f"{one['id']} {one['tag']}"):
                golden.check(golden.target(target), one)


def test_compiled_copies_of_each_kind() -> None:
    """A few cases of the types that routines of their own copy; `make test-long` has all."""
    seen: set[str] = set()
    with every_case() as case:
        for one in golden.cases("ok"):
            asked = one["tensorMap"]
            kind = f"{one['tag']} {asked['swizzle']} {asked['oobFill']}"
            if kind not in seen and asked["tensorDataType"] in ("u8", "tf32"):
                seen.add(kind)
                with case(f"{one['id']} {kind}"):
                    golden.check(golden.target("cpu"), one)
    assert len(seen) > 25


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_illegal_instructions_are_findings(target: str) -> None:
    chosen = golden.cases("illegal_instruction")
    assert len(chosen) == 31
    with every_case() as case:
        for one in chosen:
            with case(f"{one['id']} {one['tag']}"), pytest.raises(girih.KernelError) as caught:
                golden.check(golden.target(target), one)
            assert {found.code for found in caught.value.findings} == {"run.tensor_copy"}


def test_what_the_driver_refused_is_no_map() -> None:
    chosen = golden.cases("encode_refused")
    assert len(chosen) == 73
    for one in chosen:
        with pytest.raises(AddressingError):
            map_of(one["tensorMap"])
