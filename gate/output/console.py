"""The terminal: where results go, in which colour, and what is said while checks run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TextIO

import click

from gate.output.wrap import wrap

_COLOURS = {
    "problem": "red",
    "warning": "yellow",
    "good": "green",
    "debt": "red",
    "unknown": "yellow",
    "deferred": "cyan",
    "note": "blue",
    "clean": "green",
    "ok": "green",
}


class Console:
    """Standard output kept aside, so that a check which prints does not mix with the results.

    What checks print goes to standard error. `colour` is off where nobody sees it, or by NO_COLOR.
    """

    def __init__(self, environ: Mapping[str, str], no_color: bool = False) -> None:
        sys.stdout.flush()
        self.stream: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
        os.dup2(2, 1)
        plain = no_color or environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        self.colour = not plain and self.stream.isatty()
        self.width = _columns(self.stream, environ)

    def print(self, text: str = "") -> None:
        """One line to standard output."""
        self.stream.write(text + "\n")

    def fill(self, text: str, hanging: str = "") -> None:
        """One line to standard output, on a terminal broken at words; what follows its first begins with `hanging`."""
        for part in wrap(text, self.width, hanging):
            self.print(part)

    def word(self, word: str, width: int = 0) -> str:
        """An outcome or kind in its colour."""
        padded = word.ljust(width)
        return click.style(padded, fg=_COLOURS.get(word)) if self.colour else padded

    def strong(self, text: str) -> str:
        """A heading."""
        return click.style(text, bold=True) if self.colour else text


def _columns(stream: TextIO, environ: Mapping[str, str]) -> int | None:
    """The width of the terminal that a stream is, None for a file or a pipe."""
    if not stream.isatty():
        return None
    given = environ.get("COLUMNS", "")
    try:
        return int(given) if given.isdecimal() else os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


class Progress:
    """Says on a terminal which checks still run, once a run lasts; silent everywhere else."""

    PATIENCE = 0.4
    """Seconds before anything is said: most runs are over by then."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown = False
        self._on = sys.stderr.isatty()

    def __call__(self, running: Sequence[str]) -> None:
        """Name the checks that still run."""
        if self._on and running and time.monotonic() - self._started > self.PATIENCE:
            self._shown = True
            sys.stderr.write("\r\x1b[K" + f"still running: {', '.join(running)}"[:78])
            sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
