"""Locks as they are left, and what a check says of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gate_checks.stale_locks import gate_check

from gate.api import Check, Finding
from gate.testing import World, run_check

CHECK: Check = gate_check()
MINUTE, HOUR, DAY = 60, 3600, 86400
HERE = os.uname().nodename


def run(world: World, **options: Any) -> list[Finding]:
    return run_check(CHECK, world, **options)


def text(finding: Finding) -> str:
    return str(finding.summarise(finding.subjects))


def texts(world: World, **options: Any) -> list[str]:
    return sorted(text(finding) for finding in run(world, **options))


@contextmanager
def child(program: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A real process that has said that it is ready, and ends with the block."""
    command = [sys.executable, "-c", program + "; print(flush=True); input()", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.communicate(b"\n")


# What is debt: each row makes a lock in a fresh world, and has the line that a person then reads.

Make = Callable[[World], object]


def git_lock(name: str, age: float = 3 * HOUR, content: str | bytes = "") -> Make:
    return lambda world: world.file(".git/" + name, content, age=age)


def lock(content: str | bytes, age: float, name: str = ".pilot.lock") -> Make:
    return lambda world: world.file(name, content, age=age)


def held_by(*arguments: Any, **options: Any) -> Make:
    return lambda world: world.processes.add(*arguments, **options)


def both(*makers: Make) -> Make:
    return lambda world: [make(world) for make in makers]


def directory(name: str, age: float) -> Make:
    def make(world: World) -> None:
        os.makedirs(world.root / name)
        world.age(world.root / name, age)

    return make


def at_home(content: str, age: float) -> Make:
    return lambda world: world.file(str(world.home / ".claude" / "daemon.lock"), content, age=age)


# What is none.

LIVE = {"pid": 4242, "age": 100 * DAY}


def lock_worktree(world: World, reason: str, age: float) -> Path:
    path = world.directory / "tree"
    git = ("git", "worktree")
    subprocess.run((*git, "add", "--quiet", str(path)), cwd=world.root, check=True, capture_output=True)
    subprocess.run((*git, "lock", "--reason", reason, str(path)), cwd=world.root, check=True)
    world.age(world.root / ".git" / "worktrees" / "tree" / "locked", age)
    return path
