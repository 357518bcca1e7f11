"""Binding: Python objects become the arguments of a launch, for every target alike.

`names`     the arguments of a call, by position and by name, as one for each parameter
`views`     Python objects as NumPy arrays over the same memory: the buffer protocol, DLPack
`devices`   arrays in the memory of a device, described without being read
`seen`      type, shape, strides and device of an array of any library, without touching its elements
`scalars`   numbers that fit a scalar type, exactly
`layout`    arrays against memref types: element type, shape, strides
`groups`    the offset and the shapes of a group; of each member the part that is its memref
`claims`    arrays that were accepted; those that share memory, and where their bytes lie
`sharing`   members of groups that share memory with what the kernel writes
`memory`    a run of bytes with marks of what was written, and its views as elements of any type
`bound`     memrefs and groups as an executor sees them: a view, an offset, a shape, strides
`arrays`    all arguments of a launch: `bind` gives them private memory, `accept` the caller's own
`brackets`  the grid that a program writes in brackets
`grid`      the grid that a kernel says for the arguments of a launch
`report`    the codes of what can be wrong, and the list in which it is collected
"""
