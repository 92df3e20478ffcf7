"""Ctrl-C where a file system gives no answer.

Python raises KeyboardInterrupt in the main thread once the system call there returns, and on a mount that hangs it does
not: a command could not even be interrupted. So another thread looks whether an interrupt waits to be taken.
"""

from __future__ import annotations

import _thread
import os
import time

TICK = 0.5
"""Seconds between two looks. A thread that can take a signal takes it at once; one that waits over two looks hangs."""

INTERRUPTED = 130
"""The exit code of a program that a person interrupted, as shells have it."""

_SIGINT = 1 << (2 - 1)
"""Its bit in what proc(5) calls SigPnd (of the main thread) and ShdPnd (of the process)."""


def listen() -> None:
    """Begin to look, for commands that are typed. Linux only: elsewhere nothing tells."""
    if os.path.exists("/proc/self/status"):
        _thread.start_new_thread(_look, ())


def _look() -> None:
    waited = False
    while True:
        time.sleep(TICK)
        waits = _is_pending()
        if waits and waited:
            os.write(2, b"session-gate: interrupted\n")
            os._exit(INTERRUPTED)
        waited = waits


def _is_pending() -> bool:
    try:
        with open("/proc/self/status", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    return any(int(line[7:], 16) & _SIGINT for line in lines if line.startswith((b"SigPnd:", b"ShdPnd:")))
