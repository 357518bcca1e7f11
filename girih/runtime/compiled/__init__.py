"""Launches of kernels that LLVM compiled, as far as they are the same for all processors.

`slots`          accepted arguments as the slots that a kernel reads, in memory of this process or of a device
`descriptor`     tensor maps as the descriptors that slots refer to
`printing`       the records of prints as lines
`jit`            object files as code of this process
`functions`      functions in machine code as functions of Python
`narrow_floats`  numbers of Python rounded to bf16 and f16 in machine code
`record`         the failure record of a launch as a finding
"""
