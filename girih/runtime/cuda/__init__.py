"""Kernels on NVIDIA's GPUs, by the driver's own functions (docs/design/cuda.md).

`driver`     the driver's functions through cuda-bindings, and their failures
`device`     a device of this process: its context, its memory, the code that it has loaded
`assembler`  PTX as machine code, by whichever assembler is there
`compiled`   kernels compiled for an architecture, and kept on disk
`launch`     the memory of a launch: NumPy arrays that are copied, arrays of the device as they are
`executor`   a kernel as something to be called
`target`     the target
"""
