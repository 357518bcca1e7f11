"""Tile kernels in execution: what a GPU would do with a form, and which rule of it the form breaks."""
