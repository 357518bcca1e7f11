"""Random functions that are kernels and ordinary Python at once: on floats of 64 bits and small integers.

They use what means the same in both: scalars, elements, branches, loops, helpers. `RandomKernel.text` has types right.
"""

from __future__ import annotations

import textwrap
from random import Random

HEAD = """def helper(p, q):
    if p < q:
        return p * 0.5
    return q + 1.0

def kernel(X: gl.Matrix[gl.f64], Y: gl.Vector[gl.f64], n: gl.index, x: gl.f64, size: gl.constant) -> None:
"""


class RandomKernel:
    """The generator of one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.floats = ["x", "s"]
        self.integers = ["n", "k"]
        self.loops = 0

    def text(self) -> str:
        """The text of the kernel, with a helper."""
        start = f"s = {self.random.choice(('0.0', 'x', '1', 'Y[0]'))}\nk = {self.random.choice(('0', 'n', '7'))}\n"
        ends = "Y[0] = Y[0] + s\nY[k % 5] = s - x\n"
        body = start + self.block(3) + ends
        if self.random.random() < 0.3:
            # The same for a work-item: it takes the one point.
            body = "for point in gl.foreach(1):\n" + textwrap.indent(body, "    ")
        return HEAD + textwrap.indent(body, "    ")

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    # --- statements --------------------------------------------------------------------

    def block(self, depth: int) -> str:
        return "".join(self.statement(depth) for _ in range(self.random.randint(1, 3)))

    def inner(self, depth: int) -> str:
        floats, integers = list(self.floats), list(self.integers)
        text = textwrap.indent(self.block(max(depth - 1, 0)), "    ")
        self.floats, self.integers = floats, integers
        return text

    def statement(self, depth: int) -> str:
        choice = self.random.randint(0, 13 if depth > 0 else 7)
        if choice < 2:
            text = f" = {self.number(2)}\n"
            return self.target("st", self.floats) + text
        if choice == 2:
            text = f" = {self.integer(2)}\n"
            return self.target("km", self.integers) + text
        if choice == 3:
            return f"s {self.pick('+', '-', '*')}= {self.number(2)}\n"
        if choice == 4:
            return f"k {self.pick('+', '-', '//', '%', '*')}= {self.pick('2', '3', '5', '-3')}\nk = k % 97\n"
        if choice == 5:
            return f"Y[{self.place()}] {self.pick('', '+', '*')}= {self.number(2)}\n"
        if choice == 6:
            return f"X[{self.place()}, {self.place()}] = {self.number(2)}\n"
        if choice == 7:
            return f"s, k = {self.number(1)}, {self.integer(1)}\n"
        if choice < 11:
            other = f"else:\n{self.inner(depth)}" if self.random.random() < 0.6 else ""
            return f"if {self.truth(2)}:\n{self.inner(depth)}{other}"
        return self.loop(depth)

    def target(self, names: str, known: list[str]) -> str:
        """A name to be set, which what follows in the block may read."""
        name = self.pick(*names)
        if name not in known:
            known.append(name)
        return name

    def loop(self, depth: int) -> str:
        self.loops += 1
        name = f"i{self.loops}"
        ends = self.pick("3", "size", "n % 4", "1, 4", "k % 3, 5", "0, 7, 2", "2, n % 5 + 1, 2")
        kind = self.pick(f"range({ends})", f"range({ends})", "gl.unroll(range(3))", "(1, 2, 4)")
        self.integers.append(name)
        body = self.inner(depth)
        if self.random.random() < 0.4:
            begin = textwrap.indent(f"if {self.truth(1)}:\n{self.inner(0)}    continue\n", "    ")
            body = begin + body if self.random.random() < 0.5 else body + begin + self.inner(depth)
        self.integers.remove(name)
        return f"for {name} in {kind}:\n{body}"

    # --- expressions -------------------------------------------------------------------

    def place(self, depth: int = 1) -> str:
        return f"({self.integer(depth)}) % 5"

    def integer(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(*self.integers, "size", "X.shape[1]", "len(Y)", "3", "-2", "0")
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        return self.pick(
            f"({a} + {b})", f"({a} - {b})", f"({a} * 2)", f"({a} // 3)", f"({a} // -2)", f"({a} % 7)", f"({a} % -4)",
            f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"({a} if {self.truth(depth - 1)} else {b})", f"-{a}",
            f"({a} & 6)", f"({a} | 8)", f"(({a}) % 8 << 2)", f"({a} >> 1)", f"gl.cdiv({a}, 4)",
        )  # fmt: skip

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.pick(*self.floats, "1.5", "-0.25", "2.0", f"Y[{self.place(0)}]",
                             f"X[{self.place(0)}, {self.place(0)}]")  # fmt: skip
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} * 0.5)", f"({a} / 4.0)", f"-{a}", f"abs({a})",
            f"min({a}, {b})", f"max({a}, {b})", f"({a} if {self.truth(depth - 1)} else {b})", f"helper({a}, {b})",
            f"gl.f64({self.integer(depth - 1)})", f"(lambda p: p + {a})({b})", f"({a}, {b})[{self.pick('0', '1')}]",
            f"{a} ** 2",
        )  # fmt: skip

    def truth(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.4:
            relation = self.pick("<", "<=", ">", ">=", "==", "!=")
            lower = max(depth - 1, 0)
            if self.random.random() < 0.5:
                return f"{self.integer(lower)} {relation} {self.integer(lower)}"
            return f"{self.number(lower)} {relation} {self.number(lower)}"
        a, b = self.truth(depth - 1), self.truth(depth - 1)
        return self.pick(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"(0 <= {self.integer(0)} < 4)", "size > 2")
