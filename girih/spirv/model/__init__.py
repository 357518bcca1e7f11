"""What rules ask of a module beyond its instructions: types and values, annotations, functions, flow of control."""
