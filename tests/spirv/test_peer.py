"""The peer answers as SPIRV-Tools' programs do."""

from __future__ import annotations

import pytest

from tests.spirv import peer

SMALL = """; SPIR-V
; Version: 1.3
; Generator: Khronos SPIR-V Tools Assembler; 0
; Bound: 2
; Schema: 0
               OpCapability Shader
               OpCapability Linkage
               OpMemoryModel Logical GLSL450
       %uint = OpTypeInt 32 0
"""


def test_assembles_disassembles_and_validates() -> None:
    module = peer.assemble(SMALL, "spv1.3")
    assert module[:8] == bytes.fromhex("0302230700030100")
    assert peer.disassemble(module) == SMALL
    assert peer.disassemble(module, ("no-header",)).endswith("\n%1 = OpTypeInt 32 0\n")
    assert peer.validate(module, "spv1.3") == (True, "")
    accepted, message = peer.validate(peer.assemble("%1 = OpTypeInt 32 0"), "vulkan1.1", ["scalar-block-layout"])
    assert not accepted
    assert "version" in message


def test_tells_what_it_refuses() -> None:
    with pytest.raises(peer.PeerError, match=r"1:1: Invalid Opcode name 'OpNone'"):
        peer.assemble("OpNone")
    with pytest.raises(peer.PeerError, match="Invalid SPIR-V magic number"):
        peer.disassemble(b"\0" * 20)
    with pytest.raises(ValueError, match="no environment 'mars'"):
        peer.validate(b"", "mars")
