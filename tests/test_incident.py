"""The incident that began it, replayed on one machine through the installed command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import NO_PROCESSES, Client, Machine

HOUR = 3600
STREAMS = 326
NAMES = [b"plain.py", b'quo"ted', b"new\nline", b"not-utf8-\xff\xfe", b" leading and trailing ", "café".encode()]


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)


def age_tree(root: Path, seconds: float) -> None:
    for directory, names, files in os.walk(root, topdown=False):
        for name in [*names, *files]:
            age(Path(directory, name), seconds)
    age(root, seconds)


@pytest.fixture
def recorders(machine: Machine, project: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Real processes of a recorder's name; ended one by one, by their pids."""
    program = machine.directory / "arecord"
    shutil.copy(shutil.which("sleep") or "", program)
    started = [subprocess.Popen([program, "600"], cwd=project, env=machine.environ) for _ in range(STREAMS)]
    yield started
    end(started)


def end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait(60)


@pytest.fixture
def repository(machine: Machine) -> Path:
    """A repository whose only commit is ten days old."""
    machine.environ |= {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    path = machine.repository()
    for who in ("AUTHOR", "COMMITTER"):
        del machine.environ[f"GIT_{who}_DATE"]
    (path / ".git" / "info" / "exclude").write_text(".deepstorm/\n")
    return path


@pytest.fixture
def project(repository: Path) -> Path:
    return repository


def leave_everything(machine: Machine, project: Path) -> None:
    """What the sessions of the account left, but for the recorders."""
    capture = machine.temp / "capture-live"
    capture.mkdir()
    with open(capture / "stream.raw", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 600 << 20)
    lock = project / ".deepstorm" / ".pilot.lock"
    lock.parent.mkdir()
    with subprocess.Popen(["true"]) as holder:
        pid = holder.pid
    lock.write_text(str(pid))
    age(lock, 49 * HOUR)
    for name in NAMES:
        with open(os.path.join(os.fsencode(project), name), "wb") as file:
            file.write(b"work\n")
    tree = machine.directory / "sweep-nightly"
    machine.git(project, "worktree", "add", "--quiet", "-b", "sweep", str(tree))
    age_tree(tree, 6 * 24 * HOUR)
    age_tree(project / ".git" / "worktrees" / "sweep-nightly", 6 * 24 * HOUR)


def clear_everything(machine: Machine, project: Path) -> None:
    shutil.rmtree(machine.temp / "capture-live")
    (project / ".deepstorm" / ".pilot.lock").unlink()
    for name in NAMES:
        os.unlink(os.path.join(os.fsencode(project), name))
    machine.git(project, "worktree", "remove", str(machine.directory / "sweep-nightly"))


def test_the_whole_incident(machine: Machine, project: Path, recorders: list[subprocess.Popen[bytes]]) -> None:
    machine.config.write_text(NO_PROCESSES)
    other = machine.repository("another")
    leave_everything(machine, project)

    ended = machine.text("end", cwd=project, code=1)
    for label in ("AUDIO", "TMP", "LOCK", "REPO", "WORKTREE"):
        assert f"{label}" in ended

    text = machine.text("start", cwd=project)
    lines = text.splitlines()
    assert lines[0].startswith("SESSION-GATE DEBT")
    (audio,) = [line for line in lines if line.startswith("  - AUDIO: ")]
    counted = re.fullmatch(r"  - AUDIO: (\d+) capture streams \(expect 1\)", audio)
    assert counted is not None
    assert int(counted[1]) >= STREAMS, "what records on this machine beside them is counted too"
    assert "  - TMP: capture-live holds 600 MiB in 1 file (limit 512 MiB or 20 files)" in lines
    (lock,) = [line for line in lines if line.startswith("  - LOCK: ")]
    assert ".deepstorm/.pilot.lock" in lock
    assert "dead" in lock
    (paths,) = [line for line in lines if line.startswith("  - REPO: ")]
    assert "6 uncommitted paths" in paths
    for shown in (
        "plain.py",
        '"quo\\"ted"',
        '"new\\nline"',
        '"not-utf8-\\xff\\xfe"',
        '" leading and trailing "',
        "café",
    ):
        assert shown in paths
    (tree,) = [line for line in lines if line.startswith("  - WORKTREE: ")]
    assert "sweep-nightly" in tree
    assert len(text) <= 2001

    assert machine.text("start", cwd=other) == ""
    assert machine.text("status", cwd=other, code=0, SESSION_GATE_STATE_DIR=str(machine.state)).count("debt") == 0

    end(recorders)
    clear_everything(machine, project)
    assert "nothing left behind" in machine.text("end", cwd=project)
    assert machine.verdict(project) == "green"
    assert machine.text("start", cwd=project) == ""


def test_a_killed_session_is_answered_for_by_the_next(machine: Machine, project: Path, tmp_path: Path) -> None:
    machine.text("end", cwd=project)
    client = Client(machine, project, "first")
    assert client.start() == ""
    machine.settle()
    leave_everything(machine, project)
    client.kill()
    second = Client(machine, project, "second")
    text = second.start()
    second.kill()
    machine.settle()
    assert "no end recorded" in text
    for label in ("TMP", "LOCK", "REPO", "WORKTREE"):
        assert f"  - {label}: " in text
