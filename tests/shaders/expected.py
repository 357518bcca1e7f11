"""What some shaders compute, where it takes more than an expression to say it."""

from __future__ import annotations

from typing import Any

import numpy as np


def loop_values(numbers: Any) -> Any:
    """Of each number, how often x := 3x mod 101 until it ends with 7, at most 21 times, and the last x."""
    found = []
    for number in numbers:
        x, turns = int(number), 1
        while x % 10 != 7 and turns < 21:
            x, turns = x * 3 % 101, turns + 1
        found += [turns, x]
    return np.array(found)


def std140_to_std430(numbers: Any) -> Any:
    """A struct of vec3, float, float[4] and mat2 with the strides of std430, given with those of std140."""
    result = np.zeros(64)
    result[0:4] = numbers[0:4]
    result[4:8] = numbers[4:20:4]
    result[8:12] = numbers[[20, 21, 24, 25]]
    return result


def matrices(numbers: Any) -> Any:
    """Of 3x3 matrices m + 5: the matrix again, its determinant, and the products with (1, 2, 3) from both sides."""
    found: list[float] = []
    for column_major in numbers.reshape(-1, 3, 3).astype(float):
        matrix, vector = column_major.T + 5 * np.eye(3), np.array([1, 2, 3])
        found += [*matrix.T.ravel(), np.linalg.det(matrix), *(matrix @ vector), *(vector @ matrix)]
    return np.array(found)
