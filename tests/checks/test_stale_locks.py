from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate_checks.stale_locks import gate_check
from worlds import repository

from gate.api import DEBT, UNKNOWN, Check, Chosen, Finding, say
from gate.testing import World, run_check
from gate.world.processes import ProcessTable

CHECK: Check = gate_check()
MINUTE, HOUR, DAY = 60, 3600, 86400
HERE = os.uname().nodename


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path)


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


DEBTS = {
    "an index.lock that nobody holds": (
        git_lock("index.lock"),
        ".git/index.lock has been there for 3 h with no holder",
    ),
    "just over half an hour": (
        git_lock("index.lock", 30 * MINUTE + 1),
        ".git/index.lock has been there for 30 min with no holder",
    ),
    "with the next index in it": (
        git_lock("index.lock", content=b"DIRC\0\0\0\2" + b"4242\n" * 9000),
        ".git/index.lock has been there for 3 h with no holder",
    ),
    "a lock of a ref": (
        git_lock("refs/heads/feature/x.lock", 4.9 * DAY),
        ".git/refs/heads/feature/x.lock has been there for 4 d with no holder",
    ),
    "a lock of a log": (
        git_lock("logs/refs/remotes/origin/main.lock", 50 * DAY),
        ".git/logs/refs/remotes/origin/main.lock has been there for 50 d with no holder",
    ),
    "a lock of the maintenance": (
        git_lock("objects/maintenance.lock", 50 * DAY),
        ".git/objects/maintenance.lock has been there for 50 d with no holder",
    ),
    "a submodule's in a linked worktree": (
        git_lock("worktrees/w/modules/lib/index.lock", DAY),
        ".git/worktrees/w/modules/lib/index.lock has been there for 24 h with no holder",
    ),
    "a submodule's": (
        git_lock("modules/lib/index.lock", DAY),
        ".git/modules/lib/index.lock has been there for 24 h with no holder",
    ),
    "a gc.pid whose process is dead, however young": (
        git_lock("gc.pid", 12, f"4242 {HERE}"),
        ".git/gc.pid: its holder (pid 4242) is dead, 12 s old",
    ),
    "an empty gc.pid": (git_lock("gc.pid", DAY), ".git/gc.pid has been there for 24 h with no holder"),
    "another container's gc.pid": (
        git_lock("gc.pid", 50 * DAY, "17 8c1f0a2b3c4d"),
        ".git/gc.pid has been there for 50 d; its holder is on another host: 8c1f0a2b3c4d",
    ),
    "another program's lock in git's place": (
        git_lock("fak-commit.lock", 5 * MINUTE, "82772"),
        ".git/fak-commit.lock: its holder (pid 82772) is dead, 5 min old",
    ),
    "git elsewhere does not hold it": (
        both(git_lock("index.lock"), held_by("git", "gc", directory="/srv/other")),
        ".git/index.lock has been there for 3 h with no holder",
    ),
    "git that only watches does not hold it": (
        both(
            git_lock("index.lock"),
            lambda world: world.processes.add("git", "fsmonitor--daemon", "run", directory=str(world.root)),
        ),
        ".git/index.lock has been there for 3 h with no holder",
    ),
    "a dead session's lock": (lock("4242\n", 2 * DAY), ".pilot.lock: its holder (pid 4242) is dead, 48 h old"),
    "a dead session's lock, however young": (
        lock("4242\n", 0),
        ".pilot.lock: its holder (pid 4242) is dead, 0 s old",
    ),
    "from the future": (lock("4242", -DAY), ".pilot.lock: its holder (pid 4242) is dead, 0 s old"),
    "in JSON": (
        lock('{"pid": 4242, "startTime": 1790000000000}', HOUR, ".deepstorm/.pilot.lock"),
        ".deepstorm/.pilot.lock: its holder (pid 4242) is dead, 60 min old",
    ),
    "a daemon's, where its client's directory is elsewhere": (
        both(
            lambda world: world.environ.update(CLAUDE_CONFIG_DIR=str(world.home / "c")),
            lambda world: world.file(str(world.home / "c/daemon.lock"), '{"pid": 25200}', age=3 * DAY),
            lambda world: world.file(str(world.home / "c/.x.jsonl.lock"), "4242", age=3 * DAY),
        ),
        "/c/daemon.lock: its holder (pid 25200) is dead, 3 d old",
    ),
    "a client's": (
        lock('{"sessionId": "x", "pid": 25200, "procStart": "99"}', 3 * DAY, ".claude/scheduled_tasks.lock"),
        ".claude/scheduled_tasks.lock: its holder (pid 25200) is dead, 3 d old",
    ),
    "a zombie's": (
        both(lock("4242", HOUR), held_by("claude", pid=4242, age=2 * HOUR, state="Z")),
        ".pilot.lock: its holder (pid 4242) is dead, 60 min old",
    ),
    "a recycled pid": (
        both(lock("4242", 3 * DAY), held_by("gui", pid=4242, age=2 * DAY)),
        ".pilot.lock: its holder (pid 4242, by now another process's) is dead, 3 d old",
    ),
    "an empty lock, by age alone": (lock("", 49 * HOUR), ".pilot.lock has been there for 49 h with no holder"),
    "a torn lock, by age alone": (
        lock('{"pid": 42', 49 * HOUR),
        ".pilot.lock has been there for 49 h with no holder",
    ),
    "another host's, by age alone": (
        lock("4242 elsewhere", 50 * DAY),
        ".pilot.lock has been there for 50 d; its holder is on another host: elsewhere",
    ),
    "a directory": (
        directory(".claude/history.jsonl.lock", 3 * DAY),
        ".claude/history.jsonl.lock has been there for 3 d with no holder",
    ),
}


@pytest.mark.parametrize("case", DEBTS)
def test_debt(world: World, case: str) -> None:
    make, expected = DEBTS[case]
    make(world)
    (finding,) = run(world)
    assert finding.kind == DEBT
    assert text(finding).removeprefix(str(world.home)) == expected


PLACES = (
    "index.lock", "HEAD.lock", "ORIG_HEAD.lock", "FETCH_HEAD.lock", "packed-refs.lock", "config.lock",
    "config.worktree.lock", "shallow.lock", "MERGE_RR.lock", "gc.pid", "gc.pid.lock", "refs/heads/main.lock",
    "refs/heads/feature/deep/er.lock", "refs/remotes/origin/HEAD.lock", "refs/tags/v1.lock", "refs/stash.lock",
    "logs/HEAD.lock", "logs/refs/heads/main.lock", "logs/refs/stash.lock", "info/refs.lock",
    "info/sparse-checkout.lock", "objects/maintenance.lock", "objects/schedule.lock",
    "objects/info/commit-graph.lock", "objects/info/alternates.lock", "objects/pack/multi-pack-index.lock",
    "reftable/tables.list.lock", "sequencer/todo.lock", "rebase-merge/git-rebase-todo.lock",
)  # fmt: skip
"""Where git takes locks, in its directory, in a submodule's and (as far as it is there) in a worktree's."""


@pytest.mark.parametrize("where", ["", "worktrees/w/", "modules/lib/", "modules/libs/deep/", "worktrees/w/modules/s/"])
def test_every_place_where_git_locks(tmp_path: Path, where: str) -> None:
    world = World(tmp_path)
    world.repository(commit=False)
    places = [".git/" + where + place for place in PLACES]
    for place in places:
        world.file(place, age=3 * HOUR)
    found = run(world)
    assert {finding.kind for finding in found} == {DEBT}
    assert sorted(subject.name for finding in found for subject in finding.subjects) == sorted(places)
    for place in places:
        world.age(world.root / place, 20 * MINUTE)
    assert run(world) == []


# What is none.

LIVE = {"pid": 4242, "age": 100 * DAY}
CLEAN: dict[str, Make] = {
    "no lock": lambda world: None,
    "git's lock of a moment": git_lock("index.lock", 20),
    "just under half an hour": git_lock("index.lock", 30 * MINUTE - 1),
    "from the future": git_lock("index.lock", -DAY),
    "a pack that is being written": git_lock("objects/pack/tmp_pack_4aBcDe", 9 * DAY),
    "a pack that is kept": git_lock("objects/pack/pack-1.keep", 9 * DAY),
    "a branch that is called lock": git_lock("refs/heads/lock", 9 * DAY, "0" * 40),
    "git's with its editor open": both(
        git_lock("index.lock"),
        lambda world: world.processes.add("git", "commit", "-a", directory=str(world.root), age=3 * HOUR),
    ),
    "git at work in a subdirectory": both(
        git_lock("index.lock"), lambda world: world.processes.add("git", "add", directory=str(world.root / "src"))
    ),
    "git's that somebody has open": lambda world: world.processes.add(
        "jj", holds=[world.file(".git/index.lock", age=3 * HOUR)]
    ),
    "a live gc": both(
        git_lock("gc.pid", 9 * HOUR, f"4242 {HERE}"), held_by("git", "gc", pid=4242, age=10 * HOUR, directory="/")
    ),
    "another container's gc, a day old": git_lock("gc.pid", DAY, "17 8c1f0a2b3c4d"),
    "another program's live lock in git's place": both(git_lock("fak.lock", DAY, "4242"), held_by("fak", **LIVE)),
    "a live session's of any age": both(lock("4242", 99 * DAY), held_by("claude", **LIVE)),
    "a live session's in JSON": both(lock('{"pid": 4242}', 99 * DAY), held_by("claude", **LIVE)),
    "a holder that started with its lock": both(lock("4242", HOUR), held_by("claude", pid=4242, age=HOUR - 0.9)),
    "a holder whose start is not known": both(
        lock("4242", 99 * DAY), lambda world: world.processes.add("claude", pid=4242, age=world.clock.now())
    ),
    "a holder that may not be inspected": both(lock("4242", 99 * DAY), held_by("claude", **LIVE, hidden=True)),
    "another host's, whose pid is nobody's here": lock("4242 elsewhere", 47 * HOUR),
    "another namespace's": lock('{"pid": 4242, "ns": "pid:[1]"}', 47 * HOUR),
    "an empty lock": lock("", 47 * HOUR),
    "a torn lock": lock('{"pid": 42', 47 * HOUR),
    "a half UUID": lock("4242abcd-0000-4000-8000-00000000000a", 47 * HOUR),
    "a file that somebody has open": lambda world: world.processes.add(
        "claude", holds=[world.file(".pilot.lock", age=99 * DAY)]
    ),
    "a list of versions": lock('[[package]]\nname = "pid: 4242"\n' * 200, 99 * DAY, ".claude/skills.lock"),
    "what no pattern names": lock("4242", 99 * DAY, "mine.lock"),
    "a live daemon's": both(at_home("4242", 9 * DAY), held_by("claude", **LIVE)),
}


@pytest.mark.parametrize("case", CLEAN)
def test_clean(world: World, case: str) -> None:
    CLEAN[case](world)
    assert texts(world) == []


@pytest.mark.parametrize(
    "name",
    [
        "poetry.lock", "package-lock.json", "yarn.lock", "Cargo.lock", "uv.lock", "flake.lock", "Gemfile.lock",
        "composer.lock", "Pipfile.lock", "pdm.lock", "mix.lock", "pubspec.lock", "deno.lock", "bun.lock",
        "target/debug/.cargo-lock",
    ],
)  # fmt: skip
def test_what_is_called_a_lock_and_is_none(world: World, name: str) -> None:
    world.file(name, "", age=99 * DAY)
    world.file("other.lock", "", age=99 * DAY)
    found = texts(world, paths=("**/*.lock", "**/*lock.json", "**/.*lock"))
    assert found == ["other.lock has been there for 99 d with no holder"]


def test_outside_a_repository(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file(".pilot.lock", "4242", age=3 * DAY)
    (finding,) = run(world)
    assert text(finding) == ".pilot.lock: its holder (pid 4242) is dead, 3 d old"
    assert finding.subjects[0].worktree == str(world.root)


def test_a_bare_repository(tmp_path: Path) -> None:
    world = World(tmp_path)
    subprocess.run(["git", "init", "--quiet", "--bare", str(world.root)], check=True)
    world.file("packed-refs.lock", age=HOUR)
    assert texts(world) == ["packed-refs.lock has been there for 60 min with no holder"]
    world.processes.add("git", "gc", directory=str(world.root))
    assert texts(world) == []


def test_a_linked_worktree(world: World) -> None:
    linked = world.directory / "linked"
    subprocess.run(["git", "worktree", "add", "--quiet", str(linked)], cwd=world.root, check=True, capture_output=True)
    world.file(".git/worktrees/linked/index.lock", age=HOUR)
    world.file(str(linked / ".pilot.lock"), "4242", age=HOUR)
    found = {text(finding): finding.subjects[0].worktree for finding in run(world)}
    assert found == {
        ".git/worktrees/linked/index.lock has been there for 60 min with no holder": str(linked),
        f"{linked}/.pilot.lock: its holder (pid 4242) is dead, 60 min old": str(linked),
    }
    world.processes.add("git", "rebase", "main", directory=str(linked / "deep"))
    assert len(run(world)) == 1


def test_a_real_submodule(world: World) -> None:
    library = World(world.directory / "library")
    library.repository()
    add = ("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "libs/one")
    subprocess.run(add, cwd=world.root, check=True)
    world.file(".git/modules/libs/one/index.lock", age=DAY)
    (finding,) = run(world)
    assert text(finding) == ".git/modules/libs/one/index.lock has been there for 24 h with no holder"
    assert finding.subjects[0].worktree == str(world.root)
    world.processes.add("git", "checkout", directory=str(world.root / "libs" / "one"))
    assert run(world) == []


def lock_worktree(world: World, reason: str, age: float) -> Path:
    path = world.directory / "tree"
    git = ("git", "worktree")
    subprocess.run((*git, "add", "--quiet", str(path)), cwd=world.root, check=True, capture_output=True)
    subprocess.run((*git, "lock", "--reason", reason, str(path)), cwd=world.root, check=True)
    world.age(world.root / ".git" / "worktrees" / "tree" / "locked", age)
    return path


def test_a_worktree_locked_by_a_dead_session(world: World) -> None:
    path = lock_worktree(world, "claude session x (pid 4242 start 99)", 35 * DAY)
    (finding,) = run(world)
    assert text(finding) == ".git/worktrees/tree/locked: its holder (pid 4242) is dead, 35 d old"
    assert finding.subjects[0].worktree == str(path)
    assert str(finding.remedy) == (
        f"git -C {world.root} worktree list --verbose and ps -p 4242 show it; "
        f"once nobody works there, git worktree unlock {path} clears it"
    )
    subprocess.run(("git", "worktree", "unlock", str(path)), cwd=world.root, check=True)
    assert run(world) == []


@pytest.mark.parametrize("reason", ["on the USB disk", "4242", "", "PID 12 experiments", "added with --lock"])
def test_a_persons_lock_is_never_stale(world: World, reason: str) -> None:
    lock_worktree(world, reason, 999 * DAY)
    assert run(world) == []


def test_whoever_reads_a_worktrees_lock_does_not_hold_it(world: World) -> None:
    """Any git in the repository reads it: the finding came and went with them."""
    lock_worktree(world, "claude session x (pid 4242 start 99)", 35 * DAY)
    path = world.root / ".git" / "worktrees" / "tree" / "locked"
    world.processes.add("git", "worktree", "list", holds=[path])
    assert texts(world) == [".git/worktrees/tree/locked: its holder (pid 4242) is dead, 35 d old"]


def test_a_worktree_locked_by_a_live_session(world: World) -> None:
    process = world.processes.add("claude", pid=4242, age=36 * DAY)
    lock_worktree(world, "claude session x (pid 4242)", 35 * DAY)
    assert run(world) == []
    world.processes.vanish(process)
    world.processes = type(world.processes)(world.clock)
    world.processes.add("gui", pid=4242, age=DAY)
    assert texts(world) == [
        ".git/worktrees/tree/locked: its holder (pid 4242, by now another process's) is dead, 35 d old"
    ]


def test_a_locked_worktree_that_cannot_be_seen_from_here_may_be_a_containers(world: World) -> None:
    path = lock_worktree(world, "claude session x (pid 17)", DAY)
    subprocess.run(["rm", "-r", str(path)], check=True)
    assert run(world) == []
    world.age(world.root / ".git" / "worktrees" / "tree" / "locked", 35 * DAY)
    expected = ".git/worktrees/tree/locked has been there for 35 d; its holder is where its worktree is, not here"
    assert texts(world) == [expected]


def test_a_worktree_that_git_did_not_finish(world: World) -> None:
    lock_worktree(world, "initializing", 20 * MINUTE)
    assert run(world) == []
    world.age(world.root / ".git" / "worktrees" / "tree" / "locked", 38 * DAY)
    assert texts(world) == [".git/worktrees/tree/locked has been there for 38 d with no holder"]
    world.processes.add("git", "reset", "--hard", directory=str(world.directory / "tree"))
    assert run(world) == []


def test_a_daemons_lock_in_the_home(world: World) -> None:
    at_home("25200", 3 * DAY)(world)
    (finding,) = run(world)
    path = world.home / ".claude" / "daemon.lock"
    assert text(finding) == str(say("{}: its holder (pid 25200) is dead, 3 d old", path))
    assert finding.key == finding.subjects[0].key == str(path)
    assert finding.subjects[0].worktree is None


def test_markers_that_are_called_like_the_pid(world: World) -> None:
    world.processes.add("claude", pid=2093, age=9 * DAY)
    for pid in (2093, 2320, 29905):
        world.file(str(world.home / f".claude/plugins/cache/m/p/1.0/.in_use/{pid}"), age=DAY)
    (finding,) = run(world, paths=("~/.claude/plugins/cache/**/.in_use/*",))
    assert [os.path.basename(subject.key) for subject in finding.subjects] in (["2320", "29905"], ["29905", "2320"])
    assert text(finding).startswith("2 locks in ")
    assert len(finding.details) == 2


def test_a_browsers_lock_is_a_link_to_nothing(world: World) -> None:
    profile = world.home / "profile"
    os.makedirs(profile)
    paths = ("$HOME/profile/SingletonLock",)
    for target, debts in ((f"{HERE}-4242", 1), ("elsewhere-4242", 0)):
        os.symlink(target, profile / "SingletonLock")
        assert len(run(world, paths=paths)) == debts
        os.unlink(profile / "SingletonLock")
    os.symlink(f"{HERE}-4242", profile / "SingletonLock")
    world.processes.add("chrome", pid=4242, age=DAY)
    world.age(profile / "SingletonLock", HOUR)
    assert run(world, paths=paths) == []


def test_a_file_under_flock_is_held(world: World) -> None:
    path = world.file(".pilot.lock", "4242", age=99 * DAY)
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert run(world) == []
    assert len(run(world)) == 1


def test_a_git_that_may_not_be_inspected_is_said(world: World) -> None:
    world.file(".git/index.lock", age=HOUR)
    hidden = world.processes.add("git", hidden=True)
    (finding,) = run(world)
    assert finding.kind == UNKNOWN
    assert text(finding) == (
        ".git/index.lock: whether it is held is not known: "
        f'"git (process {hidden.pid}) may be at work there, and may not be inspected"'
    )
    assert finding.subjects[0].key == str(world.root / ".git" / "index.lock")


def test_another_users_lock_that_names_nobody_is_not_known_to_be_free(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that user's processes have open cannot be seen; whether a process lives can."""
    world.file(".git/index.lock", age=3 * HOUR)
    world.file(".pilot.lock", "4242", age=HOUR)
    monkeypatch.setattr(os, "geteuid", lambda: os.lstat(world.root).st_uid + 1)
    why = '"it is another user\'s, whose open files cannot be seen"'
    assert sorted((finding.kind, text(finding)) for finding in run(world)) == [
        (DEBT, ".pilot.lock: its holder (pid 4242) is dead, 60 min old"),
        (UNKNOWN, f".git/index.lock: whether it is held is not known: {why}"),
    ]
    world.age(world.root / ".git/index.lock", 20)
    assert len(run(world)) == 1
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    world.age(world.root / ".git/index.lock", 3 * HOUR)
    assert [finding.kind for finding in run(world)] == [DEBT, DEBT]


def test_a_lock_from_the_future_grows_old_as_well(world: World) -> None:
    world.file(".git/index.lock", age=-365 * DAY)
    world.file(".pilot.lock", age=-365 * DAY)
    assert run(world) == []
    world.clock = type(world.clock)(now=world.clock.now() + HOUR + 30, boot="a-boot")
    assert texts(world) == [".git/index.lock has been there for 60 min with no holder"]
    world.clock = type(world.clock)(now=world.clock.now() + 48 * HOUR, boot="a-boot")
    assert len(run(world)) == 2


def test_a_hidden_git_does_not_matter_to_what_names_its_holder(world: World) -> None:
    world.file(".git/gc.pid", "4242", age=HOUR)
    world.processes.add("git", hidden=True)
    assert [finding.kind for finding in run(world)] == [DEBT]


def test_a_lock_that_goes_while_one_looks_is_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.file(".git/index.lock", age=HOUR)

    def holders(wanted: str) -> list[int]:
        assert wanted == path
        os.unlink(path)
        return []

    monkeypatch.setattr(world.processes, "holders", holders)
    assert run(world) == []


def test_a_lock_that_is_taken_anew_while_one_looks_is_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.file(".git/index.lock", age=HOUR)
    monkeypatch.setattr(world.processes, "holders", lambda _: world.age(path, 0) or [])
    assert run(world) == []


def test_many_locks_of_one_place_are_one_finding(world: World) -> None:
    for number in range(30):
        world.file(f".git/refs/remotes/origin/b{number:02}.lock", age=DAY + number * MINUTE)
    world.file(".git/HEAD.lock", age=HOUR)
    world.file(".git/index.lock", age=HOUR)
    findings = {finding.key: finding for finding in run(world)}
    git = str(world.root / ".git")
    assert set(findings) == {git + "/HEAD.lock", git + "/index.lock", git + "/refs"}
    many = findings[git + "/refs"]
    assert text(many) == (
        "30 locks in .git/refs, the oldest: .git/refs/remotes/origin/b29.lock has been there for 24 h with no holder"
    )
    assert len(many.subjects) == len({subject.key for subject in many.subjects}) == 30
    assert len(many.details) == 10
    chosen = many.subjects[3:4]
    assert str(many.summarise(chosen)) == ".git/refs/remotes/origin/b26.lock has been there for 24 h with no holder"


def test_the_engines_words_about_the_others_are_in_the_summary(world: World) -> None:
    for name in ("a", "b"):
        world.file(f".git/refs/heads/{name}.lock", age=DAY)
    (finding,) = run(world)
    assert callable(finding.summary)
    chosen = Chosen(finding.subjects[:1], say(" since {}", "then"))
    assert str(finding.summary(chosen)).endswith("with no holder since then")


def test_the_subject(world: World) -> None:
    path = world.file(".git/index.lock", age=HOUR)
    (finding,) = run(world)
    (subject,) = finding.subjects
    status = os.lstat(path)
    assert (subject.key, subject.name) == (path, ".git/index.lock")
    assert subject.changed == status.st_mtime
    assert subject.worktree == str(world.root)
    before = subject.fingerprint
    (again,) = run(world)
    assert again.subjects[0].fingerprint == before
    world.age(path, HOUR - 1)
    assert run(world)[0].subjects[0].fingerprint != before


def test_the_remedy_only_looks(world: World) -> None:
    world.file(".git/index.lock", age=HOUR)
    world.file(".pilot.lock", "4242", age=HOUR)
    remedies = {finding.subjects[0].name: str(finding.remedy) for finding in run(world)}
    ends = "git takes it away when it ends; once nobody holds it, it can be removed"
    assert remedies == {
        ".git/index.lock": str(say("ls -l {} shows it; " + ends, world.root / ".git" / "index.lock")),
        ".pilot.lock": str(
            say("ls -l {} and ps -p 4242 show it; once nobody holds it, it can be removed", world.root / ".pilot.lock")
        ),
    }
    for remedy in remedies.values():
        assert not {"rm", "kill", "-f", "--force", "unlink"} & set(remedy.split())


def test_other_peoples_text_is_quoted(world: World) -> None:
    world.file(".claude/a\x1b[31m\nb.lock", '{"pid": 4242}', age=HOUR)
    world.file(".pilot.lock", '{"pid": 1, "host": "x\\u202e<b>`"}', age=99 * DAY)
    for line in texts(world):
        assert line.isascii()
        assert line.isprintable()
        assert "<" not in line


def test_the_limits_are_options(world: World) -> None:
    world.file(".git/index.lock", age=10 * MINUTE)
    world.file(".pilot.lock", age=10 * MINUTE)
    assert run(world) == []
    assert len(run(world, git_max_age=300.0)) == 1
    assert len(run(world, max_age=300.0)) == 1
    assert len(run(world, git_max_age=300.0, max_age=300.0, paths=())) == 1


def test_what_the_time_did_not_reach_is_said_and_what_was_found_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.file(".git/index.lock", age=HOUR)
    for number in range(200):
        world.file(f".git/refs/heads/{number}", "0" * 40)
    context = world.context(CHECK)
    left = iter([10.0] * 100 + [0.0] * 1000)
    monkeypatch.setattr(type(context), "time_left", lambda _: next(left))
    found = list(CHECK.run(context))
    assert [(finding.kind, text(finding)) for finding in found] == [
        (DEBT, ".git/index.lock has been there for 60 min with no holder"),
        (UNKNOWN, '.git/refs/heads was not searched for locks to its end: "the time was over"'),
    ]


def test_when_looking_at_one_lock_took_all_the_time_the_next_is_a_gap(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("a.lock", "b.lock", "c.lock"):
        world.file(name, "4242", age=HOUR)
    context = world.context(CHECK, paths=("a.lock", "b.lock", "c.lock"))
    holders = world.processes.holders

    def slow(path: str) -> list[int]:
        context.deadline = time.monotonic()
        return holders(path)

    world.processes.holders = slow  # type: ignore[method-assign]
    assert [(finding.kind, text(finding)) for finding in CHECK.run(context)] == [
        (DEBT, "a.lock: its holder (pid 4242) is dead, 60 min old"),
        (UNKNOWN, 'b.lock was not searched for locks to its end: "the time was over"'),
    ]


def test_what_is_not_known_says_who_knows_it(world: World) -> None:
    path = world.file(".git/index.lock", age=HOUR)
    world.processes.add("git", "gc", hidden=True)
    (finding,) = run(world)
    assert finding.kind == UNKNOWN
    assert str(finding.remedy) == (
        f"ls -l {path} shows it; whoever owns it, or root, can tell whether it is held: gate run stale_locks; "
        "git takes it away when it ends; once nobody holds it, it can be removed"
    )


def test_a_check_whose_time_is_over_says_so(world: World) -> None:
    world.file(".git/index.lock", age=HOUR)
    context = replace(world.context(CHECK), deadline=time.monotonic() - 1)
    assert [finding.kind for finding in CHECK.run(context)] == [UNKNOWN]


def test_it_reads_the_table_only_for_a_lock_that_is_old_enough(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.file(".git/index.lock", age=MINUTE)
    world.file(".pilot.lock", age=MINUTE)
    monkeypatch.setattr(type(world.processes), "snapshot", property(lambda _: pytest.fail("read the process table")))
    assert run(world) == []


def test_the_incident_says_why() -> None:
    assert CHECK.incident_title
    assert CHECK.label == "LOCK"
    assert len(CHECK.incident.splitlines()) < 60
    assert "#5253" in CHECK.incident


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
