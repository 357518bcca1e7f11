"""The numbers of shaders as Vulkan lets an implementation compute them, where the choices of a launch say so.

Guarantee: without a seed, and without execution modes that ask for another result, instructions are executed as they
are, at no cost.
"""

from girih.interpreter.latitude.adapted import number_adapter

__all__ = ["number_adapter"]
