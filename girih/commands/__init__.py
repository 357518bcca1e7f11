"""The work of each subcommand of `girih`, given its parsed arguments: one file per subcommand."""
