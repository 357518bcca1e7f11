"""What rules of matrices ask of a module: states of tensor layouts, where pointers point, what functions reach."""
