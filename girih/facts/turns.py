"""The numbers ln 2 and 1 in turns (of 2 pi), with the bits that exact angles of any number of f64 need."""

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

# floor(2^1216 / (2 pi)), likewise.
RADIAN_IN_TURNS = int(
    "28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e9093"
    "74b801924bba827464873f877ac72c4a69cfba208d7d4baed1213a671c09ad17df904e64758e"
    "60d4ce7d272117e2ef7e4a0ec7fe25fff7816603fbcbc462d6829b47db4d9fb3c9f2c26dd3d1"
    "8fd9a797fa8b5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e357421580cc11bf1edaea",
    16,
)
