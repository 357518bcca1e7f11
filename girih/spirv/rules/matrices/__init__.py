"""The rules of cooperative matrices: types, memory, products, tensor layouts and views, functions on elements."""
