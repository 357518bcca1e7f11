"""A process that runs cases of a part: `python -m tests.gpu.worker PART TARGET`, one name a line on standard input.

A line of JSON answers each: what became of it, and with `leaves` that the process ends. What kernels print goes to
standard error.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings

from tests.gpu.outcomes import DIFFERS, FAILED, LEFT_OUT, REFUSED, RIGHT, Outcome
from tests.gpu.parts import PARTS, LeftOutError, Part


def outcome_of(part: Part, case: str, target: str) -> tuple[Outcome, bool]:
    """What becomes of a case, and whether the process must end: something else went wrong than results."""
    import girih

    try:
        part.run(case, target)
    except LeftOutError as error:
        return Outcome(case, LEFT_OUT, str(error)), False
    except girih.CompileError as error:
        return Outcome(case, REFUSED, error.diagnostics[0].message), False
    except (AssertionError, ExceptionGroup, girih.KernelError, girih.LaunchError):
        why = traceback.format_exc(limit=-4)
        # Nothing runs in this process after a context was lost.
        return Outcome(case, DIFFERS, why), "run.cuda_lost" in why
    except BaseException:
        return Outcome(case, FAILED, traceback.format_exc(limit=-6)), True
    return Outcome(case, RIGHT), False


def main(words: list[str]) -> int:
    """Answer names with outcomes."""
    name, target = words
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    part = PARTS[name]
    part.prepare()

    def answer(content: object) -> None:
        answers.write(f"{json.dumps(content)}\n")
        answers.flush()

    answer("ready")
    for line in sys.stdin:
        outcome, leaves = outcome_of(part, line.rstrip("\n"), target)
        answer({**outcome.to_json(), "leaves": leaves})
        if leaves:
            break
    # A context that is lost may hang while the process cleans up.
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
