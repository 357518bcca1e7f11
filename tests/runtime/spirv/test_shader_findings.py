"""Findings of shaders name invocations as GLSL does, and what lies at the bytes that they are about."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from tests.cases import every_case
from tests.shaders.cases import Shader, shaders
from tests.shaders.test_shaders import launch

FAULTY = {one.path.stem: one for one in shaders() if one.fault}


def finding(one: Shader, target: str) -> girih.Finding:
    """The first finding of a shader."""
    with pytest.raises(girih.KernelError) as raised:
        launch(one, target)
    return raised.value.findings[0]


def test_a_finding_names_invocation_and_member() -> None:
    members = {
        "buffer_read_past_the_end": ((31, 0, 0), "a load outside its memory: bytes 256 to 259 of %A", "`a[64]`"),
        "race_in_shared_memory": ((0, 0, 0), "a load of %tile races with a store of another work-item", "`tile[1]`"),
        "shared_never_written": ((7, 0, 0), "a load of %tile before it is written", "`tile[7]`"),
    }
    with every_case() as case:
        for name, (invocation, words, member) in members.items():
            with case(name):
                found = finding(FAULTY[name], "interpreter")
                assert found.invocation == invocation
                assert words in found.message and found.message.endswith(member)
                assert f"invocation {invocation}, subgroup" in found.render()
    compiled = finding(FAULTY["buffer_read_past_the_end"], "cpu")
    assert (compiled.invocation, compiled.message.endswith("`a[64]`")) == ((31, 0, 0), True)


def test_a_race_names_both_invocations() -> None:
    other = finding(FAULTY["race_in_shared_memory"], "interpreter").other
    assert other is not None and other.invocation == (1, 0, 0)
    assert other.to_json()["invocation"] == (1, 0, 0)


def test_what_is_no_single_invocation_has_none() -> None:
    found = finding(FAULTY["matrix_load_past_the_end"], "interpreter")
    assert found.invocation is None or found.lane is not None
    assert np.all(np.asarray(found.work_group) == 0)
