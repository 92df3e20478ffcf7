"""The program that a client's hook runs: `PYTHON -I -S …/gate/hook.py start --client claude`.

Python compiles the file that it is started with anew each time, and keeps what that one imports compiled: so there is
next to nothing in it.
"""

from __future__ import annotations

import gc
import os
import sys


def run() -> None:
    """Go the silent path and end the process, always with 0."""
    # It is over before there is garbage worth looking for, and looking takes a twentieth of its time.
    gc.disable()
    # -I and -S keep the working directory and site-packages away; at the end of the path nothing of the standard
    # library is shadowed by what lies beside this package.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from gate import silent

    code = silent.main(sys.argv[1:])
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    finally:
        os._exit(code)  # an interpreter's orderly shutdown costs a sixth of the whole start


if __name__ == "__main__":
    run()
