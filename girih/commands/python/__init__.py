"""Files of Python for the commands: the kernels that they define, and the arguments that these are specialised by."""
