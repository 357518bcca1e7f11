"""The code of kernels for NVIDIA's GPUs: PTX, and the machine code that assemblers make of it.

`assembler`  PTX as machine code, by whichever assembler is there; `nvjitlink` is one of them
`resources`  registers, spills, occupancy
`kept`       kernels compiled for an architecture, kept on disk
`sass`       machine code as text
"""
