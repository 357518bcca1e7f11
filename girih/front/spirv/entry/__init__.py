"""What is around the code of an entry point: its parameters, the variables of the module, and what is refused."""
