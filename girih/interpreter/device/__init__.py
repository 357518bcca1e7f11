"""The meaning of the device language (`girih.ops.device`): importing this room fills MEANINGS."""

from girih.interpreter.device import bits, control, floats, functions, integers, matrices, memory, private

__all__ = ["bits", "control", "floats", "functions", "integers", "matrices", "memory", "private"]
