"""Drivers of OpenCL, through ctypes: devices, programs in SPIR-V, launches.

`api`       the functions of OpenCL that are called, and errors in words
`library`   where the loader or a runtime is found
`devices`   devices and what they have
`program`   SPIR-V as a kernel of a device
`memory`    the arrays of a launch as buffers of a device
`launch`    an emitted kernel on a device, with its findings
"""
