"""The meaning of the device language (`girih.ops.device`): importing this room fills MEANINGS."""

from girih.interpreter.device import bits, floats, functions, integers, matrices, memory

__all__ = ["bits", "floats", "functions", "integers", "matrices", "memory"]
