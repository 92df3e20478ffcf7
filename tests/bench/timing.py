"""Pairs: two things that are measured in turn, and what comes out."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

TIMEOUT = 600


def nothing() -> None:
    """What there is to do between two runs that leave nothing behind."""


class Pair(NamedTuple):
    """What is compared: each call runs once and gives its seconds (or MiB). `ready` comes before each run of ours, and
    `settle` after it: a child that was left behind must not run beside the reference.
    """

    ours: Callable[[], float]
    reference: Callable[[], float]
    ready: Callable[[], object] = nothing
    settle: Callable[[], object] = nothing


class Row(NamedTuple):
    """A line of the table: `what` against `reference`, at most `limit`; `load` builds what it takes. With `adds`, the
    limit is how much more ours may be, not how many times as much.
    """

    name: str
    what: str
    reference: str
    limit: float
    load: Callable[[Any], AbstractContextManager[Pair]]
    runs: int = 15
    unit: str = "s"
    adds: bool = False


class Figure(NamedTuple):
    """What was measured for a row."""

    row: Row
    ours: Sequence[float]
    reference: Sequence[float]

    @property
    def ratio(self) -> float:
        """The medians' ratio, or their difference."""
        ours, reference = statistics.median(self.ours), statistics.median(self.reference)
        return ours - reference if self.row.adds else ours / reference


def measure(row: Row, pair: Pair, runs: int) -> Figure:
    """Run both in turn, after one of each that does not count: caches are warm for both, or for neither."""
    ours, reference = [], []
    for number in range(-1, runs):
        pair.ready()
        one = pair.ours()
        pair.settle()
        other = pair.reference()
        if number >= 0:
            ours.append(one)
            reference.append(other)
    return Figure(row, ours, reference)


class Command:
    """A command that is timed from outside. `codes` are the exit codes that it may have, and `said` must be in what it
    prints: what fails at once is fast.
    """

    def __init__(
        self,
        *command: str | Path,
        cwd: Path,
        environ: Mapping[str, str],
        codes: Collection[int] = (0,),
        said: str = "",
        silent: bool = False,
        given: bytes = b"",
    ) -> None:
        self.command, self.cwd, self.environ, self.codes = list(map(str, command)), cwd, dict(environ), codes
        self.said, self.silent, self.given = said.encode(), silent, given

    def __call__(self) -> float:
        """Run it; how many seconds it took."""
        started = time.perf_counter()
        done = subprocess.run(
            self.command,
            cwd=self.cwd,
            env=self.environ,
            input=self.given,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        seconds = time.perf_counter() - started
        self._check(done.returncode, done.stdout, done.stderr)
        return seconds

    def peak(self) -> float:
        """Run it; the most memory that it or a process below it took (MiB resident)."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # a process of its own: the peak of all children ever is all that the system tells
            self()
            os.write(write, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            kilobytes = answer.read()
        os.waitpid(child, 0)
        return int(kilobytes) / 1024

    def _check(self, code: int, output: bytes, errors: bytes) -> None:
        right = code in self.codes and self.said in output and not (self.silent and output)
        if not right:
            raise SystemExit(f"{self.command}: exit {code}\n{output.decode()[-2000:]}\n{errors.decode()[-2000:]}")
