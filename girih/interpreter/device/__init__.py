"""The meaning of the device language (`girih.ops.device`): importing this room fills MEANINGS."""

from girih.interpreter.device import matrices, memory

__all__ = ["matrices", "memory"]
