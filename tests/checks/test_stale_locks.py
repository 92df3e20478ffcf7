from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from locks_left import (
    DAY,
    HERE,
    HOUR,
    LIVE,
    MINUTE,
    Make,
    at_home,
    both,
    directory,
    git_lock,
    held_by,
    lock,
    lock_worktree,
    run,
    text,
    texts,
)

from gate.api import DEBT, UNKNOWN, say
from gate.testing import World

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
