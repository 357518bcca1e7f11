"""Compute shaders give what NumPy says, on the interpreter and on the CPU, and what is wrong in them is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from tests.cases import every_case, long
from tests.shaders.cases import Binding, Shader, as_type, shaders

SHADERS = shaders()
FAMILIES = sorted({one.path.parent.name for one in SHADERS})


def launch(one: Shader, target: str, given: dict[Binding, Any] | None = None, **options: Any) -> dict[Binding, Any]:
    """The buffers of a shader after a launch; without given ones, new ones."""
    buffers = one.buffers if given is None else given
    push = bytearray(one.push)
    held: dict[Binding, Any] = dict(buffers)
    if "address" in one.heads:
        held = {key: girih.Buffer(array, target=target) for key, array in buffers.items()}
    for place, offset, name, *more in one.addresses:
        number = np.uint64(held[_key(name)].address + int(more[0] if more else 0)).tobytes()
        at = int(offset)
        if place == "push":
            push[at : at + 8] = number
        else:
            key = (0, int(place))
            array = buffers[key]
            array.view(np.uint8)[at : at + 8] = np.frombuffer(number, np.uint8)
    pushed = {"push_constants": bytes(push)} if push else {}
    if one.head("steps") and target == "interpreter":
        options = {"max_steps": int(one.head("steps") or 0), **options}
    kernel = one.load(target)["main"]
    (kernel.options(**options) if options else kernel)[one.grid](held, **pushed)
    return buffers


def _key(name: str) -> Binding:
    first, second = name.split(":")
    return int(first), int(second)


def agrees(one: Shader, buffers: dict[Binding, Any]) -> None:
    """Assert that buffers have what the shader says."""
    for key, wanted, close in one.results:
        came = buffers[key]
        if close:
            np.testing.assert_allclose(came, as_type(wanted, came.dtype), rtol=close, atol=close)
        else:
            np.testing.assert_array_equal(came, as_type(wanted, came.dtype))


@pytest.mark.parametrize("target", ["interpreter", *long(["cpu"])])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_shader_computes_what_numpy_says(family: str, target: str) -> None:
    with every_case() as case:
        for one in SHADERS:
            if one.path.parent.name == family and not one.fault:
                with case(one.name):
                    agrees(one, launch(one, target))


def test_what_is_wrong_is_found_at_its_line() -> None:
    with every_case() as case:
        for one in SHADERS:
            if one.fault and one.head("finding"):
                with case(one.name):
                    buffers = one.buffers
                    with pytest.raises(girih.KernelError) as raised:
                        launch(one, "interpreter", buffers)
                    if not one.addresses:
                        np.testing.assert_equal(buffers, one.buffers)
                    codes = {f"run.{word}" for word in (one.head("finding") or "").split()}
                    found = [f for f in raised.value.findings if f.code in codes]
                    others = {f.code for f in raised.value.findings if f.span.line in one.wanted_lines} - codes
                    assert found and not others, [f.render() for f in raised.value.findings]
                    for f in found:
                        assert f.span.line in one.wanted_lines, f.render()


def test_what_robust_access_defines_is_a_warning() -> None:
    with every_case() as case:
        for one in SHADERS:
            if one.fault and one.head("warning"):
                with case(one.name):
                    kernel = one.load("interpreter")["main"]
                    kernel[one.grid](one.buffers, push_constants=one.push)
                    told = [d for d in kernel.remarks if d.severity == "warning"]
                    assert [d.code for d in told] == [f"run.{one.head('warning')}"]
                    assert told[0].span.line in one.wanted_lines


def test_compiled_code_stops_at_what_it_checks() -> None:
    """Bounds, addresses, divisions, shifts and barriers; not races, nor what was never written.

    A barrier that whole subgroups miss is not noticed either.
    """
    unseen = ("race", "uninitialized", "undef", "budget", "aliasing")
    with every_case() as case:
        for one in SHADERS:
            codes = {f"run.{word}" for word in (one.head("finding") or "").split()}
            if one.fault and codes and not codes & {f"run.{word}" for word in unseen}:
                if one.path.stem == "barrier_in_a_branch":
                    continue
                with case(one.name):
                    with pytest.raises(girih.KernelError) as raised:
                        launch(one, "cpu")
                    (found,) = raised.value.findings
                    assert found.code in codes and found.span.line in one.wanted_lines, found.render()
