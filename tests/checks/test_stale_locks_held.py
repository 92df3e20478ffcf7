"""Locks that real processes hold, and some that nobody does."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from locks_left import DAY, HOUR, child, run, texts

from gate.testing import World
from gate.world.processes import ProcessTable

# The same with the real process table.


@pytest.fixture
def real(world: World) -> World:
    world.processes = ProcessTable()  # type: ignore[assignment]
    world.clock = type(world.clock)(now=time.time(), boot="a-boot")
    return world


def test_a_live_holder_by_pid(real: World) -> None:
    with child("import os") as process:
        real.file(".pilot.lock", str(process.pid))
        assert run(real) == []
    real.processes = ProcessTable()  # type: ignore[assignment]
    assert texts(real) == [f".pilot.lock: its holder (pid {process.pid}) is dead, 0 s old"]


def test_a_recycled_pid(real: World) -> None:
    with child("import os") as process:
        real.file(".pilot.lock", str(process.pid), age=HOUR)
        expected = f".pilot.lock: its holder (pid {process.pid}, by now another process's) is dead, 60 min old"
        assert texts(real) == [expected]


def test_a_zombie_holder(real: World) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        real.file(".pilot.lock", str(process.pid))
        assert texts(real) == [f".pilot.lock: its holder (pid {process.pid}) is dead, 0 s old"]
    finally:
        process.wait()


def test_a_live_holder_by_its_open_file(real: World) -> None:
    path = real.file(".git/objects/maintenance.lock", age=HOUR)
    with child("import sys; file = open(sys.argv[1])", path):
        assert run(real) == []
    real.processes = ProcessTable()  # type: ignore[assignment]
    assert len(run(real)) == 1


def test_a_real_git_at_work(real: World) -> None:
    real.file(".git/index.lock", age=3 * HOUR)
    command = ["git", "cat-file", "--batch"]
    with subprocess.Popen(command, cwd=real.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"HEAD\n")
        process.stdin.flush()
        assert b"commit" in process.stdout.readline()
        assert run(real) == []
        process.communicate()
    real.processes = ProcessTable()  # type: ignore[assignment]
    assert texts(real) == [".git/index.lock has been there for 3 h with no holder"]


def test_a_real_commit_with_its_editor_open(real: World) -> None:
    """`git commit -a` keeps index.lock, though not open, for as long as its editor runs."""
    real.file("README", "changed\n")
    ready, go = real.directory / "ready", real.directory / "go"
    os.mkfifo(ready)
    os.mkfifo(go)
    editor = f"sh -c 'echo >{ready}; cat {go}; exit 1'"
    command = ["git", "-c", f"core.editor={editor}", "commit", "--quiet", "-a"]
    with subprocess.Popen(command, cwd=real.root, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        ready.read_text()
        path = real.root / ".git" / "index.lock"
        assert path.exists()
        real.age(path, 3 * DAY)
        found = run(real)
        go.write_text("")
        process.wait(60)
    assert found == []
    assert not path.exists()


def test_our_own_git_does_not_hide_a_lock(real: World) -> None:
    """The suite's checks run side by side, and another one's git works in the same repository at the same time."""
    real.file(".git/index.lock", age=3 * HOUR)
    command = ["git", "--no-optional-locks", "-C", str(real.root), "cat-file", "--batch"]
    with subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"HEAD\n")
        process.stdin.flush()
        assert b"commit" in process.stdout.readline()
        found = texts(real)
        process.communicate()
    assert found == [".git/index.lock has been there for 3 h with no holder"]
