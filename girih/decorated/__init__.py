"""Kernels in Python: the decorator, the kernel that it makes, its variants."""

from __future__ import annotations

from girih.decorated.decorator import kernel
from girih.decorated.python_kernel import PythonKernel
from girih.decorated.variants import Variant, VariantKey, Variants, VariantWarning

__all__ = ["PythonKernel", "Variant", "VariantKey", "VariantWarning", "Variants", "kernel"]
