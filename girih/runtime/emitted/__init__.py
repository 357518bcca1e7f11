"""Launches of emitted kernels, as far as they are the same for all drivers.

`members`   arguments as the members of push constants, or parameters by value, and as the records of groups
`narrow`    whether arguments are within what narrow modules are compiled for
`record`    the findings record of a launch, read
"""
