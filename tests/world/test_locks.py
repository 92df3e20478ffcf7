from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import nested

from gate.errors import UnknownError
from gate.project import find_project
from gate.testing import World
from gate.world.holders import Holder
from gate.world.locks import NEVER_LOCKS, Lock, LockSearch, read_holder
from gate.world.processes import ProcessTable
from gate.world.worktrees import list_worktrees


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def search(world: World, time_left: float = 30.0, directory: Path | None = None) -> LockSearch:
    project = find_project(str(directory or world.root))
    return LockSearch(project, list_worktrees(project), lambda: time_left)


def names(locks: Iterator[Lock]) -> list[str]:
    return sorted(lock.name for lock in locks)


PLACES = (
    "HEAD.lock",
    "config.lock",
    "gc.pid",
    "index.lock",
    "info/sparse-checkout.lock",
    "logs/HEAD.lock",
    "logs/refs/heads/main.lock",
    "modules/lib/index.lock",
    "modules/libs/deep/refs/heads/main.lock",
    "modules/info/index.lock",
    "modules/lib/worktrees/w/index.lock",
    "next-index-4242.lock",
    "objects/info/commit-graph.lock",
    "objects/info/commit-graphs/commit-graph-chain.lock",
    "objects/maintenance.lock",
    "objects/pack/multi-pack-index.lock",
    "packed-refs.lock",
    "rebase-merge/git-rebase-todo.lock",
    "refs/bisect/bad.lock",
    "refs/heads/hooks/objects/lfs.lock",
    "refs/remotes/origin/HEAD.lock",
    "reftable/tables.list.lock",
    "shallow.lock",
)


def test_gits_places(world: World) -> None:
    world.repository()
    assert names(search(world).of_git()) == []
    for place in PLACES:
        world.file(".git/" + place)
    for other in (
        "index",
        "refs/heads/lock",
        "hooks/pre-commit.lock.sample",
        "lfs/objects/aa/bb/cc.lock",
        "modules/lib/objects/aa/bb.lock",
        "modules/lib/lfs/objects/aa/bb/cc.lock",
        "objects/aa/bb.lock",
        "objects/pack/tmp_pack_4aBcDe",
        "objects/pack/pack-1.keep",
        "annex/x.lock",
    ):
        world.file(".git/" + other)
    os.symlink("/nowhere", world.root / ".git" / "link.lock")
    os.mkdir(world.root / ".git" / "directory.lock")
    found = list(search(world).of_git())
    assert sorted(lock.name for lock in found) == sorted(".git/" + place for place in PLACES)
    assert all(lock.of_git for lock in found)


def test_a_submodule_whose_git_directory_is_whole_is_not_searched_twice(world: World) -> None:
    world.repository()
    for name in ("HEAD", "index.lock", "refs/heads/x.lock", "sub/index.lock", "modules/inner/config.lock"):
        world.file(".git/modules/lib/" + name)
    expected = ["index.lock", "modules/inner/config.lock", "refs/heads/x.lock"]
    assert names(search(world).of_git()) == [".git/modules/lib/" + name for name in expected]


def test_the_place_is_one_where_there_can_be_many(world: World) -> None:
    world.repository()
    for name in ("index.lock", "refs/heads/a.lock", "refs/tags/deep/b.lock"):
        world.file(".git/" + name)
    git = str(world.root / ".git")
    assert {lock.name: lock.place for lock in search(world).of_git()} == {
        ".git/index.lock": git + "/index.lock",
        ".git/refs/heads/a.lock": git + "/refs",
        ".git/refs/tags/deep/b.lock": git + "/refs",
    }


def test_locks_lie_in_the_worktree_that_they_stop(world: World) -> None:
    repository = world.repository()
    linked = world.directory / "linked"
    repository.git.worktree("add", "--quiet", str(linked))
    submodule = ".git/modules/lib/index.lock"
    for name in (".git/index.lock", ".git/packed-refs.lock", ".git/worktrees/linked/index.lock", submodule):
        world.file(name)
    world.file(".git/worktrees/gone/index.lock")  # its registration is broken
    assert {lock.name: lock.worktree for lock in search(world, directory=linked).of_git()} == {
        ".git/index.lock": str(world.root),
        ".git/packed-refs.lock": None,
        ".git/worktrees/linked/index.lock": str(linked),
        ".git/worktrees/gone/index.lock": None,
        submodule: str(world.root),
    }


def test_a_bare_repository(world: World) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", str(world.root)], check=True)
    world.file("packed-refs.lock")
    world.file(".pilot.lock")
    found = search(world)
    assert names(found.of_git()) == ["packed-refs.lock"]
    assert [(lock.name, lock.worktree) for lock in found.matching([".pilot.lock"])] == [
        (".pilot.lock", str(world.root))
    ]


def test_outside_a_repository_only_patterns_count(world: World) -> None:
    world.file("index.lock")
    assert names(search(world).of_git()) == []
    assert [lock.worktree for lock in search(world).matching(["index.lock"])] == [str(world.root)]


def test_patterns(world: World) -> None:
    for name in (
        "a.lock",
        "b.lock",
        ".hidden.lock",
        ".claude/c.lock",
        ".claude/.d.lock",
        "deep/er/e.lock",
        "deep/.in/f.lock",
        "deep/g",
        "[x]/h.lock",
    ):
        world.file(name, "4242")
    os.symlink(world.root / "deep", world.root / "followed")

    def matching(*patterns: str) -> list[str]:
        return names(search(world).matching(patterns))

    assert matching("a.lock") == ["a.lock"]
    assert matching("none.lock", "a.lock/none", "", ".", "/") == []
    assert matching("*.lock") == ["a.lock", "b.lock"]
    assert matching("*.lock", "a.lock", "./b.lock") == ["a.lock", "b.lock"]  # each once
    assert matching(".*.lock") == [".hidden.lock"]
    assert matching(".claude/*.lock") == [".claude/c.lock"]
    assert matching("**/*.lock") == ["[x]/h.lock", "a.lock", "b.lock", "deep/er/e.lock"]
    assert matching("deep/**/.in/*") == ["deep/.in/f.lock"]
    assert matching("*/er/[d-e].lock") == ["deep/er/e.lock"]  # and not by the link
    assert matching(str(world.root / "deep") + "/?") == ["deep/g"]
    assert matching("followed/g") == ["deep/g"]  # a name is followed: its owner wrote it


def test_a_wildcards_place_is_the_directory(world: World) -> None:
    world.file(".claude/c.lock")
    directory = str(world.root / ".claude")
    assert [lock.place for lock in search(world).matching([".claude/*.lock"])] == [directory]
    assert [lock.place for lock in search(world).matching([".claude/c.lock"])] == [directory + "/c.lock"]


def test_a_relative_pattern_is_looked_for_in_every_worktree(world: World) -> None:
    repository = world.repository()
    linked = world.directory / "linked"
    repository.git.worktree("add", "--quiet", str(linked))
    repository.git.worktree("add", "--quiet", str(world.directory / "missing"))
    subprocess.run(["rm", "-r", str(world.directory / "missing")], check=True)
    world.file(".pilot.lock", "4242")
    world.file(str(linked / ".pilot.lock"), "4242")
    found = {lock.path: lock.worktree for lock in search(world).matching([".pilot.lock"])}
    assert found == {str(tree / ".pilot.lock"): str(tree) for tree in (world.root, linked)}


@pytest.mark.parametrize("name", sorted(NEVER_LOCKS))
def test_what_is_called_so_is_no_lock(world: World, name: str) -> None:
    world.file(name, "4242")
    world.file(name.upper() if name[0] != "." else name, "4242")
    assert names(search(world).matching(["*", ".*"])) == []


def test_the_names_that_the_contract_lists_are_known() -> None:
    assert {"poetry.lock", "package-lock.json", "cargo.lock", "uv.lock", "flake.lock"} <= NEVER_LOCKS
    assert all(name == name.lower() for name in NEVER_LOCKS)


def test_a_long_file_is_a_list_of_versions_and_no_lock(world: World) -> None:
    world.file("skills.lock", b"pid: 4242\n" * 409)
    world.file("plugins.lock", b"pid: 4242\n" * 410)
    assert names(search(world).matching(["*.lock"])) == ["skills.lock"]


def test_what_is_no_file_link_or_directory_is_no_lock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(world.root / "fifo.lock")
    monkeypatch.chdir(world.root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.lock")
        assert names(search(world).matching(["*.lock"])) == []


def test_what_a_lock_says_whatever_it_is(world: World) -> None:
    world.file("file.lock", '{"pid": 4242}')
    world.file("directory.lock/owner.json", '{"pid": 4243}')
    world.file("other.lock/pid", "4244\n")
    os.mkdir(world.root / "empty.lock")
    os.symlink("web-4245", world.root / "SingletonLock")
    world.file("cache/1.0/.in_use/4246")
    found = search(world).matching(["*.lock", "SingletonLock", "cache/**/.in_use/*"])
    assert {lock.name: lock.holder for lock in found} == {
        "file.lock": Holder(4242),
        "directory.lock": Holder(4243),
        "other.lock": Holder(4244),
        "empty.lock": Holder(),
        "SingletonLock": Holder(4245, "web"),
        "cache/1.0/.in_use/4246": Holder(4246),
    }


def test_a_link_as_a_lock_is_not_followed(world: World) -> None:
    world.file("secret", "4242")
    os.symlink("secret", world.root / "a.lock")
    (lock,) = search(world).matching(["a.lock"])
    assert lock.path == str(world.root / "a.lock")
    assert lock.holder == Holder()


def test_the_real_path_is_the_key(world: World) -> None:
    world.file("real/a.lock")
    os.symlink("real", world.root / "alias")
    assert [lock.path for lock in search(world).matching(["alias/a.lock", "real/a.lock"])] == [
        str(world.root / "real" / "a.lock")
    ]


def test_in_gits_places_only_what_is_plainly_a_holder_is_read(world: World) -> None:
    world.repository()
    texts = {
        "gc.pid": b"4242 web",
        "fak-commit.lock": b"4243",
        "writer.lock": b'{"pid": 4244}',
        "index.lock": b"DIRC\0\0\0\2",
        "config.lock": b"[x]\n\tpid = 4245\n",
        "HEAD.lock": b"ref: refs/heads/pid: 4246\n",
        "refs/heads/a.lock": b"42424242" * 5 + b"\n",
        "refs/heads/b.lock": b"",
    }
    for name, text in texts.items():
        world.file(".git/" + name, text)
    found = {lock.name.removeprefix(".git/"): lock.holder for lock in search(world).of_git()}
    assert found.pop("gc.pid") == Holder(4242, "web")
    assert found.pop("fak-commit.lock") == Holder(4243)
    assert found.pop("writer.lock") == Holder(4244)
    assert set(found.values()) == {Holder()}
    assert len(found) == 5


def test_locked_worktrees(world: World) -> None:
    repository = world.repository()
    reasons = {
        "client": "claude session x (pid 4242)",
        "missing": "claude session x (pid 4242)",
        "adding": "initializing",
        "person": "on the USB disk of 2024",
        "number": "4242",
        "silent": "",
    }
    for name, reason in reasons.items():
        repository.git.worktree("add", "--quiet", str(world.directory / name))
        repository.git.worktree("lock", "--reason", reason, str(world.directory / name))
    repository.git.worktree("add", "--quiet", str(world.directory / "free"))
    subprocess.run(["rm", "-r", str(world.directory / "missing")], check=True)
    found = {lock.name: lock for lock in search(world).of_worktrees()}
    assert {name: (lock.holder, lock.of_git) for name, lock in found.items()} == {
        ".git/worktrees/client/locked": (Holder(4242), False),
        ".git/worktrees/missing/locked": (Holder(4242, away=True), False),
        ".git/worktrees/adding/locked": (Holder(), True),
    }
    assert found[".git/worktrees/client/locked"].worktree == str(world.directory / "client")


def test_a_second_look(world: World) -> None:
    path = world.file("a.lock", "4242", age=60)
    (lock,) = search(world).matching(["a.lock"])
    assert lock.is_still_there()
    world.age(path, 59)
    assert not lock.is_still_there()
    (again,) = search(world).matching(["a.lock"])
    assert again.state != lock.state
    os.unlink(path)
    assert not again.is_still_there()


def test_who_has_it_open_or_under_flock(world: World) -> None:
    path = world.file("a.lock")
    (lock,) = search(world).matching(["a.lock"])
    assert not lock.is_in_use(world.processes)
    world.processes.add("claude", holds=[path])
    assert lock.is_in_use(world.processes)
    world.processes.vanish(next(iter(world.processes)))
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not lock.is_in_use(world.processes)  # ours is shared, and so is a reader's
        fcntl.flock(file, fcntl.LOCK_EX)
        assert lock.is_in_use(world.processes)
    assert not lock.is_in_use(world.processes)


def test_a_real_process_that_has_it_open(world: World) -> None:
    path = world.file("a.lock")
    (lock,) = search(world).matching(["a.lock"])
    program = "import sys; file = open(sys.argv[1]); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        child.stdout.readline()
        assert lock.is_in_use(ProcessTable())
        child.communicate(b"\n")
    assert not lock.is_in_use(ProcessTable())


def test_a_lock_that_may_not_be_read_is_not_known(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.file("a.lock", "4242")
    os.chmod(path, 0)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    (lock,) = search(world).matching(["a.lock"])
    with pytest.raises(UnknownError, match="may not be read"):
        lock.is_in_use(world.processes)


def test_a_directory_that_may_not_be_read_is_a_gap() -> None:
    with tempfile.TemporaryDirectory() as reachable:  # pytest's own directories are closed to others
        os.chmod(reachable, 0o755)
        world = World(reachable)
        world.repository()
        world.file(".git/index.lock")
        world.file(".git/refs/heads/secret/a.lock")
        directory = world.root / ".git" / "refs" / "heads" / "secret"
        os.chmod(directory, 0)
        found = search(world)
        if os.geteuid() == 0:
            os.seteuid(65534)
            try:
                assert names(found.of_git()) == [".git/index.lock"]
            finally:
                os.seteuid(0)
        else:
            assert names(found.of_git()) == [".git/index.lock"]
        os.chmod(directory, 0o700)
        assert found.gaps == {str(directory): "Permission denied"}


def test_an_error_while_listing_is_a_gap(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.repository()
    world.file(".git/index.lock")
    heads = str(world.root / ".git" / "refs" / "heads")
    scandir = os.scandir

    def broken(path: str) -> object:
        if path == heads:
            raise OSError(5, "Input/output error")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", broken)
    found = search(world)
    assert names(found.of_git()) == [".git/index.lock"]
    assert found.gaps == {heads: "Input/output error"}


def test_when_the_time_is_over_the_search_ends_and_says_where(world: World) -> None:
    world.repository()
    world.file(".git/index.lock")
    for number in range(50):
        world.file(f".git/refs/heads/{number}.lock")
    left = iter([10.0] * 60 + [0.9] * 1000)
    project = find_project(str(world.root))
    found = LockSearch(project, list_worktrees(project), lambda: next(left))
    some = names(found.of_git())
    assert ".git/index.lock" in some
    assert 1 < len(some) < 51
    assert found.gaps == {str(world.root / ".git" / "refs" / "heads"): "the time was over"}
    assert found.is_over("later")
    assert names(found.matching(["*"])) == []
    assert len(found.gaps) == 1


def test_no_time_at_all(world: World) -> None:
    world.repository()
    world.file(".git/index.lock")
    found = search(world, time_left=0.01)
    assert names(found.of_git()) == []
    assert found.gaps


def test_submodules_in_one_another_without_an_end(world: World) -> None:
    """They are looked at to a depth at which nobody has any; what lies deeper is said not to have been looked at."""
    world.file(".git/HEAD", "ref: refs/heads/main\n")
    (world.root / ".git/objects").mkdir()
    with nested(world.root / ".git/modules/a", "modules/a") as bottom:
        (bottom / "index.lock").touch()
        world.file(".git/modules/a/modules/a/index.lock")
        found = search(world)
        assert names(found.of_git()) == [".git/modules/a/modules/a/index.lock"]
        assert set(found.gaps.values()) == {"it lies too deep"}


PATTERNS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(PATTERNS | st.text("[]!*?.a\\^-", min_size=1, max_size=6), max_size=4))
def test_any_pattern_names_locks_or_nothing(tmp_path_factory: pytest.TempPathFactory, patterns: list[str]) -> None:
    root = tmp_path_factory.getbasetemp() / "any-patterns"
    for name in ("a/b", "[", ".h"):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "x.lock").write_text("4242")
    project = find_project(str(root))
    found = LockSearch(project, [], lambda: 5.0)
    inside = [pattern for pattern in patterns if not pattern.startswith("/") and ".." not in pattern]
    for lock in found.matching(inside):
        assert lock.path.startswith(f"{root}/")
        assert lock.holder.pid in (None, 4242)
        assert lock.is_still_there()


@given(st.binary(max_size=300), st.booleans())
def test_any_content_names_a_holder_or_nobody(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, of_git: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.lock"
    path.write_bytes(content)
    holder = read_holder(str(path), path.stat(), of_git)
    assert holder.pid is None or str(holder.pid).encode() in content
