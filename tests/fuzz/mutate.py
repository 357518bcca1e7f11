"""Texts that are wrong in many ways: tokens in any order, and valid programs with something done to them.

The same random source gives the same texts.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from girih.ops.tile import TILE_LANGUAGE

ROOT = Path(__file__).resolve().parent.parent.parent

_TOKEN = re.compile(r'\s+|;[^\n]*|"[^"\n]*"?|[%@$!]?[A-Za-z_][\w]*|-?\d[\w.]*|->|<=|.', re.DOTALL)
_NUMBER = re.compile(r"(?<![\w%.])-?\d+(?:\.\d+)?(?![\w.])")

_ODD = [*"\0\x7f\t\r\u00a0\u2028\u202e\ufeff\U0001f40d\u0661\u00b2\\\"'#?%$@!;{}()[]<>=-", "e\u0301", "!calc("]
_NUMBER_WORDS = """
0 -1 1 2 7 64 256 2147483648 9223372036854775807 9223372036854775808 1e999 -0.0 0x1p-1074 nan inf 1. .5 1e 0x 007 1_000
"""
_NUMBERS = (*_NUMBER_WORDS.split(), "1" * 400)
_LANGUAGE_WORDS = """
func @f %a %0 %1 attributes memref<f32x4> memref<f32x?> memref<f32x4x?,strided<1,?>> group<memref<f32x4>x3> f32 i32
index coopmatrix<f32x8x8,matrix_a> bool c64 x ? init as else true false subgroup_size unroll strided local offset .t .n
tensor_layout<2,repeat> tensor_view<2,true,1,0> work_group decode .2x2 .row_blocked_interleaved
.row -> <= = , : ( ) { } [ ] < > $x "a" 1.5 4 -1 [1.0, }
"""
_WORDS = (*_LANGUAGE_WORDS.split(), "\n", "\n", "!calc(1 0 /)", "$x = 4\n", "func @f() {\n", *TILE_LANGUAGE.ops)


@cache
def programs() -> tuple[str, ...]:
    """The texts that mutations start from: the corpus of the instructions and the kernels."""
    paths = [*ROOT.glob("tests/ops/*/*.tl"), *ROOT.glob("girih/kernels/*.tl")]
    texts = [path.read_text(encoding="utf-8") for path in sorted(paths)]
    return tuple(piece for text in texts for piece in _pieces(text))


def _pieces(text: str) -> list[str]:
    """Single functions of a file, with what stands in front of the first: short programs show more per second."""
    starts = [match.start() for match in re.finditer(r"^func ", text, re.MULTILINE)]
    bounds = [0, *starts[1:], len(text)]
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


def tokens(text: str) -> list[str]:
    """The text cut into words, white space and comments included: joined, they are the text again."""
    return _TOKEN.findall(text)


def soup(source: random.Random) -> str:
    """Tokens of the language in any order."""
    return " ".join(source.choices(_WORDS, k=source.randrange(1, 80)))


def _delete(source: random.Random, words: list[str]) -> None:
    begin = source.randrange(len(words))
    del words[begin : begin + source.choice((1, 1, 1, 2, 5))]


def _duplicate(source: random.Random, words: list[str]) -> None:
    begin = source.randrange(len(words))
    words[begin:begin] = words[begin : begin + source.choice((1, 1, 3, 20))]


def _swap(source: random.Random, words: list[str]) -> None:
    a, b = source.randrange(len(words)), source.randrange(len(words))
    words[a], words[b] = words[b], words[a]


def _number(source: random.Random, words: list[str]) -> None:
    places = [k for k, word in enumerate(words) if _NUMBER.fullmatch(word)]
    if places:
        words[source.choice(places)] = source.choice(_NUMBERS)


def _odd(source: random.Random, words: list[str]) -> None:
    words.insert(source.randrange(len(words) + 1), source.choice(_ODD))


def _word(source: random.Random, words: list[str]) -> None:
    words[source.randrange(len(words))] = source.choice(_WORDS)


def _exchange(source: random.Random, words: list[str]) -> None:
    """A word gives way to another word of the program: a value for a value, a type for a type."""
    first = source.choice(words)
    alike = [w for w in words if w[:1] == first[:1] and w != first] or words
    words[words.index(first)] = source.choice(alike)


def _cut(source: random.Random, words: list[str]) -> None:
    del words[source.randrange(len(words)) :]


MUTATIONS: Sequence[Callable[[random.Random, list[str]], None]] = (
    _delete, _duplicate, _swap, _number, _number, _odd, _word, _exchange, _exchange, _exchange,
)  # fmt: skip


def mutated(source: random.Random, text: str) -> str:
    """A text to which one to four things were done."""
    words = tokens(text)
    for _ in range(source.choice((1, 1, 2, 4))):
        if words:
            source.choice(MUTATIONS)(source, words)
    if words and source.random() < 0.05:
        _cut(source, words)
    return "".join(words)


def spliced(source: random.Random, a: str, b: str) -> str:
    """The beginning of one text and the end of another."""
    first, second = tokens(a), tokens(b)
    return "".join(first[: source.randrange(len(first) + 1)] + second[source.randrange(len(second) + 1) :])


def broken_text(source: random.Random) -> str:
    """Any of the above."""
    known = programs()
    match source.randrange(10):
        case 0:
            return soup(source)
        case 1:
            return spliced(source, source.choice(known), source.choice(known))
        case _:
            return mutated(source, source.choice(known))
