"""Random tensor programs against the loop: `python -m tests.addressing.tensor_programs_long --target cpu`."""

from __future__ import annotations

import argparse
import random

from tests.addressing.tensor_programs import check_program, program_of


def run(count: int, seed: int, target: str) -> int:
    """Check `count` random programs; the number of those that were executed."""
    draw = random.Random(seed)
    return sum(check_program(program_of(draw), target) for _ in range(count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="interpreter")
    options = parser.parse_args()
    done = run(options.count, options.seed, options.target)
    print(f"{options.count} random tensor programs on {options.target}, {done} executed, agree with the loop "
          f"(seed {options.seed})")  # fmt: skip


if __name__ == "__main__":
    main()
