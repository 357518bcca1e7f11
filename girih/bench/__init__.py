"""Measurements of kernels on the CPU against the best libraries, for `girih bench`.

`session` starts a process of its own for every number of threads, because OpenBLAS reads its settings once, when NumPy
loads it. That process (`child`) checks every result against NumPy, then times girih and its peers in turns, and sends
rows (`rows`) as JSON. Nothing here prints.
"""
