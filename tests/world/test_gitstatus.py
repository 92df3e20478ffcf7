"""git's status: the parser with whatever it may be given, and real repositories under settings that hide things."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import copied, repository

from gate.errors import UnknownError
from gate.testing import World
from gate.world.git import Git
from gate.world.gitstatus import (
    ADDED,
    CONFLICT,
    COPIED,
    DELETED,
    MODIFIED,
    RENAMED,
    RETYPED,
    SUBMODULE,
    UNTRACKED,
    Entry,
    Status,
    in_two_threads,
    parse_status,
    plainly,
    read_status,
    read_statuses,
)

TIMEOUT = 20.0
ZERO = "0" * 40
HEAD = b"# branch.oid " + b"a" * 40 + b"\0# branch.head main\0"


def record(change: str, path: str, submodule: str = "N...") -> bytes:
    return os.fsencode(f"1 {change} {submodule} 100644 100644 100644 {ZERO} {ZERO} {path}\0")


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (".M", MODIFIED), ("M.", MODIFIED), ("MM", MODIFIED), (".T", RETYPED), ("T.", RETYPED), ("A.", ADDED),
        (".A", ADDED), ("AM", ADDED), ("AD", DELETED), ("D.", DELETED), (".D", DELETED), ("MD", DELETED),
    ],
)  # fmt: skip
def test_each_change_is_one_kind(change: str, kind: str) -> None:
    assert parse_status(HEAD + record(change, "a b\tc\nd")).entries == (Entry("a b\tc\nd", kind),)


@pytest.mark.parametrize(
    ("change", "submodule", "entry"),
    [
        (".M", "SC..", Entry("sub", SUBMODULE, moved=True)),
        (".M", "S.MU", Entry("sub", SUBMODULE)),
        ("M.", "S...", Entry("sub", SUBMODULE, moved=True)),
        (".D", "S...", Entry("sub", DELETED)),
        ("D.", "N...", Entry("sub", DELETED)),
    ],
)
def test_a_submodule(change: str, submodule: str, entry: Entry) -> None:
    assert parse_status(HEAD + record(change, "sub", submodule)).entries == (entry,)


def test_a_rename_is_one_path() -> None:
    for score, kind in (("R100", RENAMED), ("C75", COPIED)):
        renamed = f"2 R. N... 100644 100644 100644 {ZERO} {ZERO} {score} new name\0old\nname\0".encode()
        assert parse_status(HEAD + renamed + b"? x\0").entries == (
            Entry("new name", kind, origin="old\nname"),
            Entry("x", UNTRACKED),
        )


def test_the_rest() -> None:
    conflict = f"u UU N... 100644 100644 100644 100644 {ZERO} {ZERO} {ZERO} a b\0".encode()
    status = parse_status(HEAD + conflict + b"? new/\0! cache/\0! x\0# stash 3\0")
    assert status == Status("a" * 40, (Entry("a b", CONFLICT), Entry("new/", UNTRACKED)), ("cache/", "x"))
    assert parse_status(b"# branch.oid (initial)\0# branch.head main\0") == Status("", ())


def test_what_left_the_index_and_still_lies_there_is_one_path() -> None:
    assert parse_status(HEAD + record("D.", "a") + b"? a\0").entries == (Entry("a", UNTRACKED),)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "git gave an empty answer"),
        (b"\0", "git's answer could not be understood"),
        (b"? a\0", "git's answer had no header"),
        (b"# branch.head main\0", "git's answer had no header"),
        (HEAD[:-1], "git's answer was cut off"),
        (HEAD + record(".M", "a")[:-1], "git's answer was cut off"),
        (HEAD + record(".M", "a")[:40] + b"\0", "git's answer could not be understood"),
        (HEAD + record(".M", ""), "git's answer could not be understood"),
        (HEAD + record("M", "a"), "git's answer could not be understood"),
        (HEAD + record(".X", "a"), "git's answer could not be understood"),
        (HEAD + b"? \0", "git's answer could not be understood"),
        (HEAD + b"3 a\0", "git's answer could not be understood"),
        (HEAD + b" M a\0", "git's answer could not be understood"),
        (HEAD + f"2 R. N... 1 1 1 {ZERO} {ZERO} R100 new\0".encode(), "git's answer could not be understood"),
        (HEAD + b"error: something\0", "git's answer could not be understood"),
    ],
)
def test_half_an_answer_is_none(answer: bytes, reason: str) -> None:
    with pytest.raises(UnknownError) as caught:
        parse_status(answer)
    assert str(caught.value) == reason


NAMES = st.binary(min_size=1, max_size=30).filter(lambda name: b"\0" not in name)


@given(st.lists(st.tuples(st.sampled_from(["?", "1", "2", "u", "!"]), NAMES, NAMES), unique_by=lambda each: each[1]))
def test_names_of_any_bytes_come_back(parts: list[tuple[str, bytes, bytes]]) -> None:
    answer, expected = HEAD, {}
    for kind, name, other in parts:
        if kind == "1":
            answer += b"1 .M N... 100644 100644 100644 " + f"{ZERO} {ZERO} ".encode() + name + b"\0"
        elif kind == "2":
            fields = f"2 R. N... 100644 100644 100644 {ZERO} {ZERO} R100 "
            answer += fields.encode() + name + b"\0" + other + b"\0"
        elif kind == "u":
            answer += f"u UU N... 100644 100644 100644 100644 {ZERO} {ZERO} {ZERO} ".encode() + name + b"\0"
        else:
            answer += kind.encode() + b" " + name + b"\0"
        if kind != "!":
            expected[os.fsdecode(name).rstrip("/")] = os.fsdecode(name)
    assert [entry.path for entry in parse_status(answer).entries] == list(expected.values())


@given(st.binary(max_size=200))
def test_garbage_is_unknown_or_harmless(garbage: bytes) -> None:
    for answer in (garbage, HEAD + garbage, HEAD + garbage + b"\0"):
        try:
            status = parse_status(answer)
        except UnknownError:
            continue
        assert all(entry.path for entry in status.entries)


def test_words() -> None:
    inside = (Entry("a", MODIFIED), Entry("b", UNTRACKED))
    assert str(Entry("x", RENAMED, origin="old name").words) == 'renamed from "old name"'
    assert str(Entry("x", UNTRACKED).words) == "untracked"
    assert str(Entry("x", SUBMODULE, moved=True).words) == "submodule with new commits"
    assert str(Entry("x", SUBMODULE, inside=inside).words) == "submodule with modified content, untracked files"
    assert str(Entry("x", SUBMODULE, inside=inside[1:]).words) == "submodule with untracked files"
    assert str(plainly(UnknownError("a {b} failed"))) == "a {b} failed"


def test_a_line_about_it_alone() -> None:
    assert str(Entry("a b", MODIFIED).detail) == '"a b": modified'
    for name in ("nul", "NUL", "src/Aux.c", "con.tar.gz", "prn/"):
        assert str(Entry(name, UNTRACKED).detail) == f"{name}: untracked; Windows has no file of this name"
    for name in ("null", "src/nul/a", "com", ".nul", "nul-1"):
        assert str(Entry(name, UNTRACKED).detail) == f"{name}: untracked"


@pytest.mark.parametrize(
    ("path", "above"), [("a", []), ("a/", []), ("a/b", ["a"]), ("a/b/c.py", ["a", "a/b"]), ("a/b/c/", ["a", "a/b"])]
)
def test_the_directories_above(path: str, above: list[str]) -> None:
    assert Entry(path, UNTRACKED).directories == above


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def git(world: World, *arguments: str, cwd: str | Path | None = None) -> str:
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=cwd or world.root,
        env=world.environ,
        capture_output=True,
        check=True,
        timeout=TIMEOUT,
    )
    return os.fsdecode(done.stdout)


def status_of(world: World, path: str | Path | None = None, **options: object) -> Status:
    return read_status(Git(world.environ), str(path or world.root), TIMEOUT, **options)  # type: ignore[arg-type]


def kinds(status: Status) -> dict[str, str]:
    return {entry.path: entry.kind for entry in status.entries}


def make_a_bit_of_everything(world: World) -> dict[str, str]:
    for name in ("modified", "deleted", "renamed", "typed", "conflict"):
        world.file(name, f"{name}\n" * 10)
    world.file(".gitignore", "*.log\nbuild/\n")
    git(world, "add", "--all")
    git(world, "commit", "--quiet", "--message", "more")
    git(world, "checkout", "--quiet", "-b", "side")
    world.file("conflict", "theirs\n")
    git(world, "commit", "--quiet", "--all", "--message", "side")
    git(world, "checkout", "--quiet", "main")
    world.file("conflict", "ours\n")
    git(world, "commit", "--quiet", "--all", "--message", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(world, "merge", "side")
    world.file("modified", "otherwise\n")
    (world.root / "deleted").unlink()
    git(world, "mv", "renamed", "other name")
    (world.root / "typed").unlink()
    (world.root / "typed").symlink_to("modified")
    world.file("added", "new\n")
    git(world, "add", "added")
    world.file(b"odd \xff\n\"'", "")
    world.file("directory/a", "")
    world.file("directory/b", "")
    world.file("x.log", "")
    world.file("build/x", "")
    return {
        "modified": MODIFIED,
        "deleted": DELETED,
        "other name": RENAMED,
        "typed": RETYPED,
        "conflict": CONFLICT,
        "added": ADDED,
        "odd \udcff\n\"'": UNTRACKED,
        "directory/": UNTRACKED,
    }


def test_a_bit_of_everything(world: World) -> None:
    expected = make_a_bit_of_everything(world)
    status = status_of(world)
    assert kinds(status) == expected
    assert status.head == git(world, "rev-parse", "HEAD").strip()
    assert status.ignored == ()
    assert status_of(world, ignored=True).ignored == ("build/", "x.log")
    assert kinds(status_of(world, untracked=False)) == {n: k for n, k in expected.items() if k != UNTRACKED}


SETTINGS = {
    "status.showUntrackedFiles": "no",
    "status.short": "true",
    "status.branch": "false",
    "status.relativePaths": "true",
    "status.renames": "false",
    "status.renameLimit": "1",
    "status.aheadBehind": "true",
    "status.showStash": "true",
    "status.submoduleSummary": "true",
    "status.displayCommentPrefix": "true",
    "diff.renames": "false",
    "diff.renameLimit": "1",
    "diff.ignoreSubmodules": "all",
    "diff.noprefix": "true",
    "color.ui": "always",
    "color.status": "always",
    "core.quotePath": "true",
    "core.pager": "false",
    "column.ui": "always",
    "column.status": "always",
    "advice.statusHints": "true",
    "core.untrackedCache": "true",
    "core.preloadIndex": "false",
    "feature.manyFiles": "true",
    "core.fsmonitor": "true",
    "alias.status": "!false",
}


@pytest.mark.parametrize("where", ["--global", "--local"])
def test_the_users_settings_change_nothing(where: str, world: World) -> None:
    world.environ["GIT_CONFIG_GLOBAL"] = str(world.directory / "gitconfig")
    expected = make_a_bit_of_everything(world)
    (world.directory / "gitconfig").write_text("")
    for name, value in SETTINGS.items():
        git(world, "config", where, name, value)
    assert kinds(status_of(world)) == expected


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository(commit=False)
    assert status_of(world) == Status("", ())
    world.file("a", "")
    assert status_of(world) == Status("", (Entry("a", UNTRACKED),))


def add_submodule(world: World, name: str = "sub") -> None:
    inner = World(world.directory / "inner")
    inner.repository()
    world.repository()
    git(world, "submodule", "--quiet", "add", str(inner.root), name)
    git(world, "commit", "--quiet", "--message", "with a submodule")


def with_submodule(tmp_path: Path) -> World:
    return copied(tmp_path / "outer", World, add_submodule)


def modified_content(world: World, sub: Path) -> None:
    (sub / "README").write_text("otherwise\n")


def untracked_file(world: World, sub: Path) -> None:
    (sub / "new").write_text("")


def new_commit(world: World, sub: Path) -> None:
    git(world, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x", cwd=sub)


def staged_new_commit(world: World, sub: Path) -> None:
    new_commit(world, sub)
    git(world, "add", sub.name)


CHANGES = {
    modified_content: "submodule with modified content",
    untracked_file: "submodule with untracked files",
    new_commit: "submodule with new commits",
    staged_new_commit: "submodule with new commits",
}


@pytest.mark.parametrize("value", ["all", "dirty", "untracked", "none", ""])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_submodule_is_one_path_whatever_its_setting(
    change: Callable[[World, Path], None], value: str, tmp_path: Path
) -> None:
    world = with_submodule(tmp_path)
    assert status_of(world).entries == ()
    if value:
        git(world, "config", "--file", ".gitmodules", "submodule.sub.ignore", value)
        git(world, "commit", "--quiet", "--all", "--message", "ignore it")
        git(world, "config", "submodule.sub.ignore", value)
        git(world, "config", "diff.ignoreSubmodules", value)
        git(world, "config", "status.showUntrackedFiles", "no", cwd=world.root / "sub")
    assert status_of(world).entries == ()
    change(world, world.root / "sub")
    (entry,) = status_of(world).entries
    assert (entry.path, entry.kind) == ("sub", SUBMODULE)
    assert str(entry.words) == CHANGES[change]
    assert status_of(world).submodules == ("sub",)


def test_a_submodule_of_a_submodule_is_looked_into(tmp_path: Path) -> None:
    inner = World(tmp_path / "deep")
    add_submodule(inner, "below")
    outer = World(tmp_path / "outer")
    outer.repository()
    git(outer, "submodule", "--quiet", "add", str(inner.root), "sub")
    git(outer, "submodule", "--quiet", "update", "--init", "--recursive")
    git(outer, "commit", "--quiet", "--message", "with submodules")
    assert status_of(outer).entries == ()
    git(outer, "config", "submodule.below.ignore", "all", cwd=outer.root / "sub")
    (outer.root / "sub/below/README").write_text("otherwise\n")
    (entry,) = status_of(outer).entries
    assert str(entry.words) == "submodule with modified content"
    (deeper,) = entry.inside
    assert (deeper.path, str(deeper.words)) == ("below", "submodule with modified content")


def test_a_submodule_that_is_not_checked_out_is_nothing(tmp_path: Path) -> None:
    world = with_submodule(tmp_path)
    git(world, "submodule", "--quiet", "deinit", "--all")
    assert status_of(world) == Status(git(world, "rev-parse", "HEAD").strip(), ())


def test_a_submodule_that_cannot_be_asked_is_said(tmp_path: Path) -> None:
    world = with_submodule(tmp_path)
    world.file("new", "")
    (world.root / "sub/.git").write_text("gitdir: ../nowhere\n")
    status = status_of(world)
    assert "new" in kinds(status)
    assert status.unknown == (("sub", ".git leads to a directory that is not there"),)


def test_a_link_in_the_place_of_a_submodule_is_not_followed(tmp_path: Path) -> None:
    world = with_submodule(tmp_path)
    other = World(tmp_path / "other")
    other.repository()
    other.file("new", "")
    git(world, "rm", "--quiet", "--cached", "sub")
    git(world, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},link")
    (world.root / "link").symlink_to(other.root)
    status = status_of(world)
    assert status.unknown == (("link", "a symbolic link stands in its place"),)
    assert all(entry.inside == () for entry in status.entries)


def test_a_submodules_own_configuration_runs_nothing(tmp_path: Path) -> None:
    world = with_submodule(tmp_path)
    sprung = tmp_path / "sprung"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\ncat\n")
    trap.chmod(0o755)
    for name in ("filter.evil.clean", "core.fsmonitor"):
        git(world, "config", name, str(trap), cwd=world.root / "sub")
    attributes = world.root / ".git/modules/sub/info/attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=evil\n")
    (world.root / "sub/README").write_text("A PROJECT\n")
    assert kinds(status_of(world)) == {"sub": SUBMODULE}
    assert not sprung.exists()
    git(world, "status")
    assert sprung.exists(), "a trap that never snaps proves nothing"


def test_an_index_of_any_kind_is_searched_for_submodules(tmp_path: Path) -> None:
    world = with_submodule(tmp_path)
    untracked_file(world, world.root / "sub")
    for number, setting in enumerate((["index.version", "4"], ["core.splitIndex", "true"], ["index.sparse", "true"])):
        git(world, "config", *setting)
        world.file(f"more{number}", "")
        git(world, "add", f"more{number}")
        git(world, "commit", "--quiet", "--message", "rewrites the index")
        assert kinds(status_of(world)) == {"sub": SUBMODULE}, setting


def test_another_worktree_inside_is_no_path_of_this_one(world: World) -> None:
    inside = [world.root / ".claude/worktrees/one", world.root / ".claude/worktrees/two", world.root / "linked"]
    for path in inside:
        git(world, "worktree", "add", "--quiet", str(path))
    everything = [str(world.root), *map(str, inside)]

    def entries(path: Path) -> dict[str, str]:
        return kinds(status_of(world, path, others=everything))

    assert kinds(status_of(world)) == {".claude/": UNTRACKED, "linked/": UNTRACKED}
    assert entries(world.root) == {}
    (inside[0] / "new").write_text("")
    assert entries(world.root) == {}
    assert entries(inside[0]) == {"new": UNTRACKED}
    world.file(".claude/settings.json", "{}")
    world.file(".claude/worktrees/stray", "")
    world.file("other/new", "")
    assert entries(world.root) == {
        ".claude/settings.json": UNTRACKED,
        ".claude/worktrees/stray": UNTRACKED,
        "other/": UNTRACKED,
    }
    git(world, "init", "--quiet", str(world.root / ".claude/worktrees/own"))
    assert ".claude/worktrees/own/" in entries(world.root)


def relocated(world: World, target: str) -> None:
    git(world, "config", "core.worktree", target)


def relocated_by_an_include(world: World, target: str) -> None:
    git(world, "config", "--file", ".git/more", "core.worktree", target)
    git(world, "config", "include.path", "more")


def relocated_on_one_line(world: World, target: str) -> None:
    with (world.root / ".git/config").open("a") as config:
        config.write(f'[Core] WorkTree = "{target}"\n')


@pytest.mark.parametrize("how", [relocated, relocated_on_one_line], ids=lambda how: how.__name__)
def test_another_directory_than_was_asked_for_is_not_looked_at(how: Callable[[World, str], None], world: World) -> None:
    how(world, str(world.home))
    (world.home / "private").write_text("")
    with pytest.raises(UnknownError, match=r"core.worktree in its configuration leads to another directory"):
        status_of(world)


@pytest.mark.parametrize("how", [relocated, relocated_by_an_include], ids=lambda how: how.__name__)
def test_a_setting_that_leads_nowhere_else_is_harmless(how: Callable[[World, str], None], world: World) -> None:
    """git itself takes no notice of one in an included file."""
    how(world, str(world.root if how is relocated else world.home))
    world.file("new", "")
    assert kinds(status_of(world)) == {"new": UNTRACKED}


@pytest.mark.parametrize("path", ["", "below"])
def test_only_the_root_of_a_worktree_can_be_asked(path: str, world: World, tmp_path: Path) -> None:
    world.file("below/x", "")
    place = tmp_path if not path else world.root / path
    with pytest.raises(UnknownError, match=r"its \.git is not a repository"):
        status_of(world, place)


def test_git_that_cannot_write_its_answer_is_not_clean(world: World) -> None:
    """It exits with 0 then (seen with a full disk), so the header is what counts."""
    for output in ("", "true", "printf '? a\\0'"):
        fake = world.directory / "bin/git"
        fake.parent.mkdir(exist_ok=True)
        fake.write_text(f"#!/bin/sh\n{output}\n")
        fake.chmod(0o755)
        world.environ["PATH"] = f"{fake.parent}"
        with pytest.raises(UnknownError, match=r"empty answer|no header"):
            status_of(world)


def test_several_worktrees_and_one_that_cannot_be_asked(world: World) -> None:
    linked = world.directory / "linked"
    git(world, "worktree", "add", "--quiet", str(linked))
    (linked / "new").write_text("")
    answers = read_statuses(Git(world.environ), [str(world.root), str(linked), str(world.home)], TIMEOUT)
    assert [answer if isinstance(answer, UnknownError) else kinds(answer) for answer in answers[:2]] == [
        {},
        {"new": UNTRACKED},
    ]
    assert str(answers[2]) == "its .git is not a repository"
    with pytest.raises(UnknownError, match=r"its \.git is not a repository"):
        read_statuses(Git(world.environ), [str(world.home), str(world.temp)], TIMEOUT)
    only_tracked = read_statuses(
        Git(world.environ), [str(world.root), str(linked)], TIMEOUT, tracked_only=[str(linked)]
    )
    assert [kinds(answer) for answer in only_tracked if isinstance(answer, Status)] == [{}, {}]


def test_one_that_hangs_does_not_hide_the_others(world: World) -> None:
    """The other gits answer at once, so that only the one that hangs takes time."""
    paths = [str(world.root)]
    for number in range(4):
        path = world.directory / f"linked{number}"
        git(world, "worktree", "add", "--quiet", "--no-checkout", str(path))
        paths.append(str(path))
    slow = world.directory / "bin/git"
    slow.parent.mkdir()
    hangs = f'case "$*" in *"-C {paths[1]} "*) exec sleep 600;; esac'
    slow.write_text(f"#!/bin/sh\n{hangs}\nprintf '# branch.oid (initial)\\0'\n")
    slow.chmod(0o755)
    git_ = Git(world.environ | {"PATH": f"{slow.parent}:{world.environ['PATH']}"})
    started = time.monotonic()
    answers = read_statuses(git_, paths, 0.8)
    assert time.monotonic() - started < 0.8 + 1.0, "it ends the one that hangs, which takes a moment more"
    assert [isinstance(answer, Status) for answer in answers] == [True, False, True, True, True]
    assert str(answers[1]) == "git gave no answer in 0.6 s"


def test_two_at_a_time_and_in_order() -> None:
    both = threading.Barrier(2, timeout=TIMEOUT)

    def work(number: int) -> int:
        both.wait()
        return number * 10

    assert in_two_threads(work, [1, 2, 3, 4]) == [10, 20, 30, 40]
    assert in_two_threads(str, [5]) == ["5"]
    assert in_two_threads(str, []) == []
