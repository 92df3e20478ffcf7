"""What the rows are measured on: repositories, directories full of files, processes, a state that has seen much."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit import Machine, green


def files(directory: Path, number: int, in_each: int = 1000) -> None:
    """Empty files, `in_each` to a directory."""
    for first in range(0, number, in_each):
        inner = directory / f"{first // in_each:04}"
        inner.mkdir(parents=True)
        for name in range(min(in_each, number - first)):
            os.close(os.open(f"{inner}/{name:04}.raw", os.O_CREAT | os.O_WRONLY, 0o644))


def repository(machine: Machine, tracked: int = 20, dirty: int = 0) -> Path:
    """A repository of small tracked files, of which some have changed; git's index is warm."""
    root = machine.repository()
    for number in range(tracked):
        path = root / f"src/{number // 100:04}/{number % 100:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value = {number}\n")
    machine.commit(root)
    for number in range(0, tracked, tracked // dirty) if dirty else ():
        with (root / f"src/{number // 100:04}/{number % 100:02}.py").open("a") as file:
            file.write("changed = True\n")
    machine.git(root, "status", "--porcelain")
    return root


def worktrees(machine: Machine, root: Path, number: int) -> list[Path]:
    """Worktrees where an agent keeps them, each on a branch of its own."""
    made = [root / f".claude/worktrees/w{count:03}" for count in range(number)]
    (root / ".gitignore").write_text(".claude/\n")
    machine.commit(root)
    for path in made:
        machine.git(root, "worktree", "add", "--quiet", "-b", f"work-{path.name}", str(path))
        machine.git(path, "status", "--porcelain")
    return made


def projects(machine: Machine, number: int) -> None:
    """So many other projects in the state, each with a marker of a real one."""
    path = machine.repository("other")
    green(machine, path)
    one = machine.project_dir()
    for count in range(number - 1):
        shutil.copytree(one, one.with_name(f"{count:016x}"))
    shutil.rmtree(path)


_START = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    os.posix_spawn("/bin/sleep", ["sleep", "86400"], {})
print(flush=True)
time.sleep(86400)
"""


@contextmanager
def processes(number: int) -> Iterator[None]:
    """So many processes that sleep."""
    parent = subprocess.Popen([sys.executable, "-c", _START, str(number)], stdout=subprocess.PIPE, process_group=0)
    try:
        assert parent.stdout is not None
        parent.stdout.readline()
        yield
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
