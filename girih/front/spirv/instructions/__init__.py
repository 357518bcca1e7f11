"""The translations of instructions, a file for each family: importing this room fills the table of `handlers`."""

from girih.front.spirv.instructions import chains, composites, memory

__all__ = ["chains", "composites", "memory"]
