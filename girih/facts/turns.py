"""The number ln 2 in turns (of 2 pi), with the bits that the exact angle of 2^(iy) needs for any y of f64."""

from __future__ import annotations

TURN_BITS = 1216
"""The number of bits behind the point: those that the largest f64 moves in front of it, and 245 more."""

# floor(2^1216 ln 2 / (2 pi)), from Machin's series for pi and ln 2 in integers; `tests/facts` computes it again.
LN2_IN_TURNS = int(
    "1c3dc98f7e969bbb2d82160b957fbcf76384efb34752570d875c804ebaa7e3f29dba19bf26d2"
    "2f92057d72dbf62fb88440e536cc0835bad48c3fea6ba432f1cd544d633b59f036cf1243456f"
    "76468a7d5a0900abd7a3e708effc572f1c7c17fb7f82ec188aa323d9dcc271169d408a0abab4"
    "3090d71549eedd67cd178b418a3a2c6958e894f98a463a97ff6afab0351e73fb6c6dbf1e2d0e",
    16,
)
