"""`gate` and `session-gate`, and `python -m gate`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the program and exit. What a green start takes is looked at before anything else is imported."""
    _open_closed_streams()
    _keep_strangers_out()
    arguments = sys.argv[1:]
    try:
        if arguments[:1] != ["hook"]:
            from gate import interrupt

            interrupt.listen()
        code = _silently(arguments)
        if code is None:
            from gate.commands import cli

            code = cli.main(arguments)
        _flush()
    except KeyboardInterrupt:
        code = 130
    except OSError:
        code = 2
    # A check that hangs must not hold the exit, and a daemon thread that prints during an orderly one aborts it.
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:  # a check did that; what we print goes its own way
            stream.flush()


def _open_closed_streams() -> None:
    """Where a caller closed our streams (`>&-`), what is opened next would take their place and be written into."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, mode, closefd=False))  # noqa: SIM115


def _keep_strangers_out() -> None:
    """Import nothing from where PYTHONPATH or the working directory (`python -m gate`) lead: other people's modules
    could lie there. What clients call is started without both (`-I`).
    """
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep) + ([os.curdir] if __name__ == "__main__" else [])
    strangers = {os.path.abspath(path) for path in given if path} - {own}
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) not in strangers]


def _silently(arguments: list[str]) -> int | None:
    # What a client calls; every other option than --client is somebody's who types.
    if arguments[:1] == ["hook"] and all(word[:1] != "-" or word[:8] == "--client" for word in arguments):
        from gate import silent

        return silent.main(arguments[1:])
    if arguments == ["start"]:
        from gate import silent
        from gate.errors import GateError

        try:
            return silent.start_by_hand(os.environ)
        except GateError as error:
            sys.stderr.write(f"session-gate: error: {error}\n")
            return 2
    return None


if __name__ == "__main__":
    main()
