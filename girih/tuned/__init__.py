"""What `girih.tune` chose: choices, the file that keeps them, and which of them a launch takes.

`choices`    a choice, what it holds for, and how far that is from a launch
`file`       the file, which `girih.load`, `girih.loads` and `@girih.kernel` take in place of definitions
`selection`  the arguments of a launch as choices know them, and the choice for a launch
"""
