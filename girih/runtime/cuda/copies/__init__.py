"""Memory that a launch takes for itself, and copies of arrays to where tensor maps have them.

`lines`       copies line after line, and the pool of a device
`lines.ptx`   the kernel that copies them
"""
