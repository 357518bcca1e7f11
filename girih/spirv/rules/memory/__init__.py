"""Rules about memory: variables, accesses, pointers into composites, logical pointers, explicit layout."""
