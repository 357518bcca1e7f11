"""Kernels on NVIDIA's GPUs, by the driver's own functions (docs/design/cuda.md).

`driver`         the driver's functions through cuda-bindings, and their failures
`report`         the codes of what can go wrong, and failures in words
`device`         a device of this process: its context, the kernels that it has loaded, what it can do
`memory`         its memory for launches: blocks, tables of groups, failure records
`streams`        streams, and what kernels found there
`place`          the device and the stream of a launch, by its arguments
`regions`        the arrays of a launch, copied there and back or as they are
`kernel`         a kernel: compiled, loaded and launched
`quick`          launches like earlier ones in machine code
`plans`          what that machine code is told of a launch, and the code itself
`recipes`        the maps that a launch makes for a tile program, or why there are none
`variant`        the variant of a kernel that a launch takes, and CUDA's grid
`architectures`  the architecture that a target means
`code`           PTX and machine code: assemblers, what is kept on disk, what is shown
`executor`       a kernel as something to be called
`summary`        how devices execute the language
`target`         the target
"""
