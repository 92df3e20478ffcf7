"""Every remedy is executed literally, as a model might do, where the names are as bad as they can be: nothing is lost.

A remedy is a read-only command to look with, and words that say what clears the thing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import GATE
from worlds import repository

from gate.registry import BUILT_IN, load_registry
from gate.testing import World, run_check

BAD = "$(touch pwned); `touch pwned` & 'it' \"is\" -rf *"
FORBIDDEN = re.compile(
    r"--force|\s-f\s|\brm\b|\brmdir\b|\bpkill\b|\bkillall\b|\bkill\b|--hard|\bgit clean|\bgit stash (drop|clear|pop)|"
    r"\bgit checkout\b|\bgit reset\b|\bgit restore\b|--abort|--quit|branch -D|\bgit gc\b|\bxargs\b|-delete\b"
)
CHECKS = {registered.check.name: registered.check for registered in load_registry().checks}
DAY = 86400.0


def recorders(world: World) -> None:
    for _ in range(4):
        world.processes.add("arecord", BAD, environ=world.client())


def processes(world: World) -> None:
    world.processes.add("sleep", BAD, environ=world.client(), directory=str(world.root))
    world.processes.add("tmux: server", environ=world.client())


def capture(world: World) -> None:
    world.fill("capture-live/" + BAD, files=30)


def output(world: World) -> None:
    world.fill(f"claude-{os.getuid()}/-home-you/0c0ffee0-0000-4000-8000-0123456789ab/tasks", 1, 1 << 20)


def locks(world: World) -> None:
    world.file(".git/index.lock", age=DAY)
    world.file(f".git/refs/heads/{BAD}.lock", age=DAY)
    world.file(".pilot.lock", "999999\n", age=3 * DAY)


def broken(world: World) -> None:
    world.git("config", "core.hooksPath", f"../{BAD}")


def operations(world: World) -> None:
    world.git("checkout", "--quiet", "-b", "other")
    for branch, text in (("other", "one\n"), ("main", "two\n")):
        world.git("checkout", "--quiet", branch)
        world.file("README", text)
        world.git("commit", "--quiet", "--all", "--message", BAD)
    subprocess.run(["git", "merge", "other"], cwd=world.root, env=world.environ, capture_output=True, check=False)


def paths(world: World) -> None:
    for name in (BAD, "new\nline", "-rf", b"caf\xe9"):
        world.file(name, "unsaved\n")
    world.worktree("tree " + BAD, branch="tree")
    world.file("README", "changed\n")


def stranded(world: World) -> None:
    tree = world.worktree(".claude/worktrees/task", branch="worktree-task")
    world.file(str(tree / BAD), "work\n")
    world.git("add", "--all", cwd=tree)
    world.git("commit", "--quiet", "--message", BAD, cwd=tree)
    world.file("README", "stashed\n")
    world.git("stash", "push", "--quiet", "--message", BAD)


def junk(world: World) -> None:
    for name in ("nul", "tmpclaude-12ab-cwd", "claude-12ab-cwd", f".claude/worktrees/{BAD}/a"):
        world.file(name, "x")
    world.git("add", "--all", "--force")
    world.git("commit", "--quiet", "--message", "everything")


def worktrees(world: World) -> None:
    world.worktree(".claude/worktrees/empty")
    tree = world.worktree(
        f".claude/worktrees/{BAD}", branch="worktree-bad", locked="claude session x (pid 999999 start 1)"
    )
    world.file(str(tree / "unsaved"), "work\n")
    world.worktree(".worktrees/gone").rename(world.directory / "moved away")
    world.pass_time(7 * DAY)


def sessions(world: World) -> None:
    began = int((world.clock.now() - 4 * DAY) * 1000)
    value = {"pid": 999999, "sessionId": "0c0ffee0-0000-4000-8000-0123456789ab", "cwd": str(world.root)}
    value |= {"startedAt": began, "procStart": "1", "version": "2.1.197", "kind": "interactive", "status": "busy"}
    text = json.dumps(value)
    world.file(str(world.home / ".claude/sessions/999999.json"), text, age=3 * DAY)


REPLAYS: dict[str, tuple[Callable[[World], None], dict[str, object]]] = {
    "capture_streams": (recorders, {}),
    "left_processes": (processes, {}),
    "temp_size": (capture, {}),
    "runaway_output": (output, {"max_file": 1 << 16}),
    "stale_locks": (locks, {}),
    "broken_repository": (broken, {}),
    "unfinished_operation": (operations, {}),
    "uncommitted_paths": (paths, {}),
    "stranded_work": (stranded, {}),
    "tree_junk": (junk, {}),
    "old_worktrees": (worktrees, {}),
    "dead_sessions": (sessions, {}),
}


def everything(directory: Path) -> dict[bytes, tuple[int, bytes]]:
    """What is there: types, modes, contents. Not an index, in which `git status` keeps what it saw of times."""
    found = {}
    for parent, folders, files in os.walk(os.fsencode(directory)):
        for name in [*folders, *files]:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else b""
            if stat.S_ISREG(status.st_mode) and name != b"index":
                link = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).digest()
            found[path] = (status.st_mode, link)
    return found


def test_every_check_is_replayed() -> None:
    assert set(REPLAYS) == set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_remedy_that_is_executed_changes_nothing(name: str, tmp_path: Path) -> None:
    world = repository(tmp_path / "world")
    leave, options = REPLAYS[name]
    leave(world)
    remedies = {str(finding.remedy) for finding in run_check(CHECKS[name], world, **options)}
    assert remedies
    assert "" not in remedies
    environ = {**world.environ, "PATH": f"{GATE.parent}{os.pathsep}{world.environ['PATH']}"}
    environ |= {"SESSION_GATE_STATE_DIR": str(tmp_path / "state"), "SESSION_GATE_CONFIG": str(tmp_path / "none.toml")}
    before = everything(world.directory)
    for remedy in remedies:
        assert not FORBIDDEN.search(remedy), remedy
        look, shows, _ = remedy.partition(" shows ")
        for command in (look if shows else "", remedy):
            subprocess.run(
                ["sh", "-c", command],
                cwd=world.root,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=60,
            )
            assert everything(world.directory) == before, command
