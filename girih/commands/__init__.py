"""What each subcommand of `girih` does, given parsed arguments: one file per subcommand."""
