"""The list of worktrees as it is read from the repository's files, compared with git's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import repository

from gate.errors import UnknownError
from gate.project import find_project
from gate.testing import World
from gate.world.pointers import misled
from gate.world.worktrees import Worktree, list_worktrees, shown

TIMEOUT = 20.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def git(world: World, *arguments: str | bytes, cwd: str | Path | None = None) -> bytes:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(
        command, cwd=cwd or world.root, env=world.environ, capture_output=True, check=True, timeout=TIMEOUT
    )
    return done.stdout


def gits_own(world: World, cwd: str | Path | None = None) -> list[dict[str, str]]:
    """What `git worktree list` says: for each worktree its attributes, by name."""
    text = os.fsdecode(git(world, "worktree", "list", "--porcelain", "-z", cwd=cwd))
    return [
        {key: value for key, _, value in (line.partition(" ") for line in block.split("\0"))}
        for block in text.removesuffix("\0\0").split("\0\0")
    ]


def ours(world: World, directory: str | Path | None = None) -> list[Worktree]:
    return list_worktrees(find_project(str(directory or world.root)))


def compare(world: World, cwd: str | Path | None = None) -> list[Worktree]:
    """Ours, once they agree with git's in all that both know."""
    found = ours(world, cwd)
    known = {each["worktree"]: each for each in gits_own(world, cwd) if "bare" not in each}
    assert {tree.path for tree in found} == set(known)
    for tree in found:
        theirs = known[tree.path]
        assert tree.branch == (theirs["branch"].removeprefix("refs/heads/") if "branch" in theirs else None)
        assert tree.locked == theirs.get("locked")
        assert tree.missing == ("prunable" in theirs) or tree.locked is not None
    assert [tree.main for tree in found] == sorted((tree.main for tree in found), reverse=True)
    return found


def add(world: World, name: str | bytes = "linked", *arguments: str) -> Path:
    path = os.path.join(os.fsencode(world.directory), os.fsencode(name))
    git(world, "worktree", "add", "--quiet", *arguments, path)
    return Path(os.fsdecode(path))


def nothing(world: World) -> None:
    pass


def branch(world: World) -> None:
    add(world, "linked", "-b", "feature/of a kind".replace(" ", "-"))


def detached(world: World) -> None:
    add(world, "linked", "--detach")


def locked_without_a_reason(world: World) -> None:
    git(world, "worktree", "lock", str(add(world)))


def locked_with_a_reason(world: World) -> None:
    git(world, "worktree", "lock", "--reason", "claude session x (pid 4 start 5)", str(add(world)))


def locked_with_many_lines(world: World) -> None:
    git(world, "worktree", "lock", "--reason", 'on a "disk"\nof\tmine', str(add(world)))


def missing(world: World) -> None:
    shutil.rmtree(add(world))


def missing_and_locked(world: World) -> None:
    path = add(world)
    git(world, "worktree", "lock", str(path))
    shutil.rmtree(path)


def moved(world: World) -> None:
    git(world, "worktree", "move", str(add(world)), str(world.directory / "elsewhere"))


def moved_by_hand(world: World) -> None:
    add(world).rename(world.directory / "elsewhere")


def inside_the_main_one(world: World) -> None:
    add(world, "project/.claude/worktrees/task")


def odd_names(world: World) -> None:
    add(world, b'a b\n\xff"c', "-b", "odd")
    add(world, "-dash", "-b", "dash")


def many(world: World) -> None:
    for number in range(12):
        add(world, f"linked-{number}")


def in_the_middle_of_a_rebase(world: World) -> None:
    path = add(world)
    for text in ("one", "two"):
        (path / "README").write_text(text)
        git(world, "commit", "--quiet", "--all", "--message", text, cwd=path)
    world.file("README", "three")
    git(world, "commit", "--quiet", "--all", "--message", "three")
    with pytest.raises(subprocess.CalledProcessError):
        git(world, "rebase", "main", cwd=path)


def pruned(world: World) -> None:
    shutil.rmtree(add(world))
    git(world, "worktree", "prune")


def relative(world: World) -> None:
    """As git 2.48 writes it with `worktree.useRelativePaths`."""
    add(world)
    (world.root / ".git/worktrees/linked/gitdir").write_text("../../../../linked/.git\n")


STATES: list[Callable[[World], None]] = [
    nothing,
    branch,
    detached,
    locked_without_a_reason,
    locked_with_a_reason,
    locked_with_many_lines,
    missing,
    missing_and_locked,
    moved,
    moved_by_hand,
    inside_the_main_one,
    odd_names,
    many,
    in_the_middle_of_a_rebase,
    pruned,
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_it_says_what_git_says(state: Callable[[World], None], world: World) -> None:
    state(world)
    found = compare(world)
    assert found[0] == Worktree(str(world.root), str(world.root / ".git"), main=True, branch="main")
    for tree in found[1:]:
        assert not tree.main
        assert tree.git_dir.startswith(str(world.root / ".git/worktrees/"))


def test_from_a_linked_worktree_it_is_the_same_list(world: World) -> None:
    path = add(world)
    (path / "below").mkdir()
    assert ours(world, path / "below") == ours(world)


def test_a_relative_registration(world: World) -> None:
    relative(world)
    assert [(tree.path, tree.missing) for tree in ours(world)] == [
        (str(world.root), False),
        (str(world.directory / "linked"), False),
    ]


def test_when_it_was_added(world: World) -> None:
    before = time.time()
    add(world)
    (_, tree) = ours(world)
    assert before - 0.1 <= tree.created <= time.time() + 0.1


def test_no_repository_has_none(tmp_path: Path) -> None:
    assert list_worktrees(find_project(str(tmp_path))) == []


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository(commit=False)
    assert [(tree.main, tree.branch) for tree in compare(world)] == [(True, "main")]


@pytest.mark.parametrize("layout", ["bare.git", "around/.git", "around/.bare"])
def test_a_bare_repository_has_no_main_one(layout: str, world: World) -> None:
    repository = world.directory / layout
    repository.parent.mkdir(exist_ok=True)
    git(world, "clone", "--quiet", "--bare", str(world.root), str(repository))
    if layout == "around/.bare":
        (repository.parent / ".git").write_text("gitdir: ./.bare\n")
    linked = world.directory / "around" / "linked"
    assert compare(world, repository) == []
    git(world, "worktree", "add", "--quiet", str(linked), cwd=repository)
    for place in {repository, repository.parent, linked} - {world.directory}:
        assert [(tree.path, tree.main) for tree in compare(world, place)] == [(str(linked), False)]


def test_a_setting_does_not_make_a_worktree_bare(world: World) -> None:
    git(world, "config", "core.bare", "true")
    add(world)
    assert "bare" in gits_own(world)[0]
    assert [tree.main for tree in ours(world)] == [True, False]


@pytest.mark.parametrize(
    "text", ["[core]\n\tbare = false\n", "[other]\n\tbare = true\n", "[core]\n[x]\nbare=true\n", ""]
)
def test_only_a_bare_repository_is_bare(text: str, world: World) -> None:
    (world.root / ".git/index").unlink()
    (world.root / ".git/config").write_text(text)
    assert [tree.main for tree in ours(world)] == [True]


@pytest.mark.parametrize("text", ["[core]\n\tbare = true\n", "[core]bare\n", '[CORE]\nx = 1\nBARE="yes"\r\n'])
def test_however_it_says_that_it_is_bare(text: str, world: World) -> None:
    (world.root / ".git/index").unlink()
    (world.root / ".git/config").write_text(text)
    expected = [] if text != "[core]bare\n" else [True]  # git takes this; nothing writes it
    assert [tree.main for tree in ours(world)] == expected


def test_a_bare_repository_whose_setting_is_its_own(world: World) -> None:
    """With extensions.worktreeConfig git keeps it in a second file, and in the first it would hold for all."""
    (world.root / ".git/index").unlink()
    git(world, "config", "extensions.worktreeConfig", "true")
    git(world, "config", "--worktree", "core.bare", "true")
    git(world, "config", "--unset", "core.bare")
    assert ours(world) == []
    git(world, "config", "--unset", "extensions.worktreeConfig")
    assert [tree.main for tree in ours(world)] == [True], "then git does not read it"


def test_one_that_was_made_bare_has_an_index_and_no_files(world: World) -> None:
    git(world, "config", "core.bare", "true")
    assert [tree.main for tree in ours(world)] == [True], "an accident: its files are there"
    (world.root / "README").unlink()
    assert ours(world) == []


def test_a_submodule_and_its_worktree(world: World, tmp_path: Path) -> None:
    outer = World(tmp_path / "outer")
    outer.repository()
    git(outer, "submodule", "--quiet", "add", str(world.root), "sub")
    inside = outer.root / "sub"
    assert [(tree.path, tree.main) for tree in ours(outer, inside)] == [(str(inside), True)]
    assert [tree.path for tree in ours(outer)] == [str(outer.root)]


def other_repository(world: World, path: Path) -> None:
    shutil.rmtree(path)
    git(world, "init", "--quiet", str(path))


def worktree_of_another(world: World, path: Path) -> None:
    shutil.rmtree(path)
    other = World(world.directory / "other")
    other.repository()
    git(other, "worktree", "add", "--quiet", str(path))


def empty_directory(world: World, path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


def a_file(world: World, path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("")


def no_dot_git(world: World, path: Path) -> None:
    (path / ".git").unlink()


def a_fifo(world: World, path: Path) -> None:
    (path / ".git").unlink()
    os.mkfifo(path / ".git")


@pytest.mark.parametrize(
    "what",
    [other_repository, worktree_of_another, empty_directory, a_file],
    ids=lambda what: what.__name__,
)
def test_what_stands_in_the_place_of_a_worktree_is_not_it(what: Callable[[World, Path], None], world: World) -> None:
    path = add(world)
    what(world, path)
    assert [tree.missing for tree in ours(world) if tree.path == str(path)] == [True]


@pytest.mark.parametrize("what", [no_dot_git, a_fifo], ids=lambda what: what.__name__)
def test_what_git_cannot_use_is_not_missing(what: Callable[[World, Path], None], world: World) -> None:
    """What is uncommitted in it would be passed over, and the rest be called clean."""
    path = add(world)
    what(world, path)
    assert [tree.missing for tree in ours(world) if tree.path == str(path)] == [False]


def test_what_may_not_be_read_is_not_said_to_be_gone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add(world)
    real = os.stat

    def stat(name: str, **options: object) -> os.stat_result:
        if name == str(path / ".git"):
            raise PermissionError(13, "Permission denied", name)
        return real(name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", stat)  # this test may run as root, whom nothing is forbidden
    assert [tree.missing for tree in ours(world)] == [False, False]


def test_a_lock_that_cannot_be_read_is_a_lock(world: World) -> None:
    add(world)
    (world.root / ".git/worktrees/linked/locked").mkdir()
    assert [tree.locked for tree in ours(world)] == [None, ""]


@pytest.mark.parametrize("content", [None, b"", b"\n"])
def test_a_registration_that_names_no_place_stands_for_a_worktree(content: bytes | None, world: World) -> None:
    """It is somewhere, and git works in it: what looks at all of them must not miss that one was not looked at."""
    add(world)
    registration = world.root / ".git/worktrees/linked"
    (registration / "gitdir").unlink()
    if content is not None:
        (registration / "gitdir").write_bytes(content)
    (_, tree) = ours(world)
    assert (tree.path, tree.git_dir, tree.missing) == (str(registration), str(registration), False)
    (registration / "HEAD").unlink()
    assert [tree.main for tree in ours(world)] == [True], "what is left of one that was removed"
    (world.root / ".git/worktrees/stray-file").write_text("")
    assert [tree.main for tree in ours(world)] == [True]


def test_a_place_of_the_other_system(world: World) -> None:
    add(world)
    (world.root / ".git/worktrees/linked/gitdir").write_text("C:/code/project/.claude/worktrees/x/.git\n")
    (_, tree) = ours(world)
    assert (tree.path, tree.missing) == ("C:/code/project/.claude/worktrees/x", True)


def test_references_in_a_table_tell_no_branch(world: World) -> None:
    (world.root / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    assert ours(world)[0].branch is None


def test_a_list_that_cannot_be_read_is_unknown(world: World) -> None:
    (world.root / ".git/worktrees").write_text("")
    with pytest.raises(UnknownError, match="the list of worktrees cannot be read: Not a directory"):
        ours(world)


def test_paths() -> None:
    assert shown("/a/b/c", "/a/b") == "c"
    assert shown("/a/bc", "/a/b") == "/a/bc"


FILES = ("gitdir", "HEAD", "locked", "commondir", "index")
TEXTS = st.binary(max_size=80) | st.sampled_from(
    [b"/nowhere/x/.git\n", b"../../../linked/.git", b"ref: refs/heads/task\n", b"../..\n", b"initializing", b"/\0/.git",
     b"C:/x/.git", b"claude session x (pid 2 start 1)", b"DIRC\0\0\0\4" + b"\0\0\0\1" + b"\xff" * 70]
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(FILES), TEXTS), st.dictionaries(st.sampled_from(["config", "HEAD", "index"]), TEXTS)
)
def test_whatever_stands_in_its_registration(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, bytes], common: dict[str, bytes]
) -> None:
    root = tmp_path_factory.getbasetemp() / "any-worktrees"
    registration = root / ".git/worktrees/task"
    for place in (registration, root / ".git/objects", root / ".git/refs", root / "linked"):
        place.mkdir(parents=True, exist_ok=True)
    (root / "linked/.git").write_text(f"gitdir: {registration}\n")
    for place, files, names in ((registration, texts, FILES), (root / ".git", common, ("config", "HEAD", "index"))):
        for name in names:
            (place / name).write_bytes(files.get(name, b""))
    project = find_project(str(root))
    found = list_worktrees(project)
    assert [tree.main for tree in found][:1] == [True]
    for tree in found:
        assert "\0" not in tree.path
        assert os.path.isabs(tree.path) or tree.path.startswith("C:")
    try:
        fault = misled(str(registration), str(root / ".git"))
    except UnknownError:
        return
    assert fault is None or "\n" not in str(fault.text)
