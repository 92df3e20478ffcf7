"""Whether a worktree is old, and what it holds: each thing that counts, one by one, in a real one."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from worlds import copied, nested

from gate.project import find_project
from gate.testing import World
from gate.world import worktree_life
from gate.world.commits import History, read_history
from gate.world.git import Git
from gate.world.tree import Tree
from gate.world.worktree_life import CACHES, Life, changed, examine, files_below, last_activity
from gate.world.worktrees import Worktree, list_worktrees

TIMEOUT = 20.0
DAY = 86400.0


class Aged(World):
    """A repository with one linked worktree in which nothing has changed for ten days."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.linked = self.directory / "linked"
        self.git_dir = self.root / ".git/worktrees/linked"

    def build(self) -> None:
        self.repository()
        self.file(".gitignore", "*.log\nbuild/\nnode_modules\n__pycache__/\n.env\nnotes/\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "ignore")
        self.git("worktree", "add", "--quiet", "-b", "task", str(self.linked))

    def git(self, *arguments: str, cwd: Path | None = None, age: float = 10 * DAY) -> str:
        when = f"{int(self.clock.now() - age)} +0000"
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=cwd or self.root,
            env=self.environ | {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when},
            capture_output=True,
            check=True,
            timeout=TIMEOUT,
        )
        return os.fsdecode(done.stdout)

    def make_old(self) -> None:
        for place in (self.linked, self.git_dir):
            for directory, names, files in os.walk(place):
                for name in (*names, *files):
                    self.age(os.path.join(directory, name), 10 * DAY)

    def tree(self) -> Worktree:
        return list_worktrees(find_project(str(self.root)))[1]

    def life(self, deadline: float | None = None, caches: tuple[str, ...] = CACHES) -> Life:
        git, since = Git(self.environ), self.clock.now() - 5 * DAY
        history = read_history(git, str(self.root), TIMEOUT)
        until = time.monotonic() + TIMEOUT if deadline is None else deadline
        return examine(git, self.tree(), history, since, until, caches)


@pytest.fixture
def world(tmp_path: Path) -> Aged:
    world = copied(tmp_path / "world", Aged, Aged.build)
    world.make_old()
    return world


def test_an_old_worktree_that_holds_nothing(world: Aged) -> None:
    life = world.life()
    assert life.newest == pytest.approx(world.clock.now() - 10 * DAY, abs=2)
    assert life == Life(life.newest, idle=True, uncommitted=0, commits=0)
    assert life.removable
    assert list(map(str, life.holds)) == ["no uncommitted paths", "its commits are elsewhere too"]


def a_tracked_file(world: Aged) -> str:
    return str(world.linked / "README")


def a_new_file(world: Aged) -> str:
    return world.file(str(world.linked / "deep/below/new"))


def an_ignored_file(world: Aged) -> str:
    return world.file(str(world.linked / "notes/today"))


def a_link(world: Aged) -> str:
    (world.linked / "link").symlink_to("README")
    return str(world.linked / "link")


def head(world: Aged) -> str:
    return str(world.git_dir / "HEAD")


def index(world: Aged) -> str:
    return str(world.git_dir / "index")


def log_of_head(world: Aged) -> str:
    return str(world.git_dir / "logs/HEAD")


@pytest.mark.parametrize(
    "what",
    [a_tracked_file, a_new_file, an_ignored_file, a_link, head, index, log_of_head],
    ids=lambda what: what.__name__,
)
@pytest.mark.parametrize(("days", "idle"), [(4.9, False), (5.1, True), (-1.0, False)])
def test_it_is_as_old_as_the_newest_of_these(what: Callable[[Aged], str], days: float, idle: bool, world: Aged) -> None:
    path = what(world)
    world.make_old()
    world.age(path, days * DAY)
    life = world.life()
    assert life.idle is idle
    assert life.newest == pytest.approx(world.clock.now() - days * DAY, abs=1)


@pytest.mark.parametrize(("days", "idle"), [(4.9, False), (5.1, True)])
def test_it_is_as_old_as_its_last_commit(days: float, idle: bool, world: Aged) -> None:
    """By its date: a branch can be moved from elsewhere, and the worktree's own files tell nothing then."""
    world.git("commit", "--quiet", "--allow-empty", "--message", "x", cwd=world.linked, age=days * DAY)
    world.make_old()
    assert world.life().idle is idle


@pytest.mark.parametrize("name", ["node_modules/x/y", "build/x", ".venv/bin/x", "a/__pycache__/x.pyc", ".git"])
def test_what_a_build_makes_again_is_no_sign_of_life(name: str, world: Aged) -> None:
    if name != ".git":
        world.file(str(world.linked / name))
    world.age(str(world.linked / name), 0)
    assert world.life().idle is True


def uncommitted_paths(world: Aged) -> None:
    (world.linked / "README").write_text("otherwise\n")
    (world.linked / "new").write_text("")


def commits(world: Aged) -> None:
    world.git("commit", "--quiet", "--allow-empty", "--message", "x", cwd=world.linked)
    (world.linked / "file").write_text("")
    world.git("add", "file", cwd=world.linked)
    world.git("commit", "--quiet", "--message", "y", cwd=world.linked)


def ignored_files(world: Aged) -> None:
    for name in ("x.log", ".env", "notes/a", "notes/b", "build/x", "node_modules/x", "deep/__pycache__/x"):
        world.file(str(world.linked / name))


def a_rebase(world: Aged) -> None:
    (world.git_dir / "rebase-merge").mkdir()


def a_link_that_leads_out(world: Aged) -> None:
    (world.linked / "deep").mkdir()
    (world.linked / "deep/link").symlink_to(world.root / "README")
    (world.linked / "inside").symlink_to("deep/nothing")
    (world.linked / "absolute").symlink_to(world.linked / "README")
    world.git("add", "--all", cwd=world.linked)
    world.git("commit", "--quiet", "--message", "links", cwd=world.linked)
    world.git("merge", "--quiet", "task")


def an_ignored_link_to_the_main_worktrees_modules(world: Aged) -> None:
    (world.root / "node_modules").mkdir()
    (world.linked / "node_modules").symlink_to("../project/node_modules")


def a_lock_of_gits(world: Aged) -> None:
    (world.git_dir / "HEAD.lock").write_text("")


def locks_of_gits_below(world: Aged) -> None:
    """`git worktree remove` takes them along without a word."""
    for name in ("refs/bisect/bad.lock", "logs/HEAD.lock", "rebase-merge.lock", "modules/sub/index.lock"):
        world.file(str(world.git_dir / name))


def another_agents_worktree_in_the_index(world: Aged) -> None:
    world.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},.claude/worktrees/x", cwd=world.linked)
    world.git("commit", "--quiet", "--message", "everything", cwd=world.linked)
    world.git("push", "--quiet", str(world.root), "task:elsewhere", cwd=world.linked)


def changes_that_git_does_not_show(world: Aged) -> None:
    world.git("update-index", "--skip-worktree", "README", cwd=world.linked)
    world.git("update-index", "--assume-unchanged", ".gitignore", cwd=world.linked)
    for name in ("README", ".gitignore"):
        (world.linked / name).write_text("as somebody has it on this machine\n")


def a_branch_that_was_deleted(world: Aged) -> None:
    commits(world)
    world.git("update-ref", "-d", "refs/heads/task")
    world.git("rm", "-r", "--quiet", "--cached", ".", cwd=world.linked)
    for name in ("README", "file", ".gitignore"):
        (world.linked / name).unlink()


def a_submodule(world: Aged) -> None:
    inner = World(world.directory / "inner")
    inner.repository()
    world.git("submodule", "--quiet", "add", str(inner.root), "sub", cwd=world.linked)
    world.git("commit", "--quiet", "--message", "with a submodule", cwd=world.linked)
    world.git("push", "--quiet", str(world.root), "task:elsewhere", cwd=world.linked)


HELD = {
    uncommitted_paths: ("2 uncommitted paths", "its commits are elsewhere too"),
    commits: ("no uncommitted paths", "2 commits found nowhere else"),
    ignored_files: (
        "no uncommitted paths",
        "its commits are elsewhere too",
        "3 ignored paths that cannot be made again",
    ),
    a_rebase: ("no uncommitted paths", "its commits are elsewhere too", "a rebase in progress"),
    a_link_that_leads_out: (
        "no uncommitted paths",
        "its commits are elsewhere too",
        "1 symbolic link out of it (deep/link)",
    ),
    an_ignored_link_to_the_main_worktrees_modules: (
        "no uncommitted paths",
        "its commits are elsewhere too",
        "1 symbolic link out of it (node_modules)",
    ),
    a_lock_of_gits: ("no uncommitted paths", "its commits are elsewhere too", "locks of git's (HEAD.lock)"),
    changes_that_git_does_not_show: (
        "no uncommitted paths",
        "its commits are elsewhere too",
        "2 files that git was told not to look at",
    ),
    a_branch_that_was_deleted: ("no uncommitted paths", "2 commits found nowhere else"),
    locks_of_gits_below: (
        "no uncommitted paths",
        "its commits are elsewhere too",
        "locks of git's (logs/HEAD.lock, rebase-merge.lock, refs/bisect/bad.lock)",
    ),
    another_agents_worktree_in_the_index: ("no uncommitted paths", "its commits are elsewhere too", "1 submodule"),
    a_submodule: ("no uncommitted paths", "its commits are elsewhere too", "1 submodule"),
}


@pytest.mark.parametrize("what", HELD, ids=lambda what: what.__name__)
def test_what_it_holds_is_said_and_then_it_is_not_removable(what: Callable[[Aged], None], world: Aged) -> None:
    what(world)
    world.make_old()
    life = world.life()
    assert tuple(map(str, life.holds)) == HELD[what]
    assert life.idle is True
    assert not life.removable


def test_a_sparse_checkout_hides_nothing(world: Aged) -> None:
    world.file(str(world.linked / "deep/file"))
    world.git("add", "--all", cwd=world.linked)
    world.git("commit", "--quiet", "--message", "deep", cwd=world.linked)
    world.git("push", "--quiet", str(world.root), "task:elsewhere", cwd=world.linked)
    world.git("update-index", "--skip-worktree", "deep/file", cwd=world.linked)
    (world.linked / "deep/file").unlink()
    world.make_old()
    assert world.life().removable


def test_without_a_commit_there_is_none_to_lose(world: Aged) -> None:
    world.git("checkout", "--quiet", "--orphan", "new", cwd=world.linked)
    world.git("rm", "-r", "--quiet", "--force", ".", cwd=world.linked)
    (world.git_dir / "logs/HEAD").unlink()
    world.make_old()
    assert (world.life().uncommitted, world.life().commits, world.life().removable) == (0, 0, True)


def test_a_part_that_cannot_be_read_is_said_and_then_it_is_not_removable(
    world: Aged, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.linked / "empty").mkdir()  # git says nothing of it
    world.make_old()
    inode = os.stat(world.linked / "empty").st_ino
    real = os.scandir

    def refuse(place: object) -> object:
        if isinstance(place, int) and os.fstat(place).st_ino == inode:
            raise PermissionError(13, "Permission denied")
        return real(place)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refuse)  # this test may run as root, whom nothing is forbidden
    life = world.life()
    monkeypatch.undo()
    assert life.idle is True, "git compared what it knows"
    assert str(life.holds[-1]).startswith("1 place in it could not be read (")
    assert not life.removable
    assert world.life().removable


def test_what_is_mounted_in_it_is_said_and_then_it_is_not_removable(
    world: Aged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removal would empty it: the same as one that followed a link into the main worktree."""
    (world.linked / "empty/mounted").mkdir(parents=True)
    world.make_old()
    entries = Tree.entries

    def with_a_mount(tree: Tree) -> Iterator[object]:
        for entry in entries(tree):
            if entry[1] == "mounted":
                tree.mounts += 1
            else:
                yield entry

    monkeypatch.setattr(Tree, "entries", with_a_mount)  # to mount needs rights that a test may not have
    life = world.life()
    assert (life.idle, life.removable) == (True, False)
    assert str(life.holds[-1]) == "1 file system mounted in it, not looked into"


def test_which_ignored_names_are_worthless_can_be_said(world: Aged) -> None:
    ignored_files(world)
    world.make_old()
    assert world.life(caches=(*CACHES, "*.log", "notes", ".env")).ignored == 0
    assert world.life(caches=()).ignored == 6


def test_without_time_nothing_is_called_old(world: Aged) -> None:
    life = world.life(deadline=time.monotonic())
    assert life.idle is None
    assert list(map(str, life.holds)) == ["there was no time to look into it"]
    assert not life.removable


def test_what_git_does_not_say_is_not_called_empty(world: Aged) -> None:
    (world.git_dir / "index").write_text("nonsense")
    world.make_old()
    life = world.life()
    assert life.idle is True, "its files are old, all of them"
    assert not life.removable
    (gap,) = life.holds
    assert str(gap).startswith("what it holds could not be established: git failed: ")


def test_a_look_at_many_files_is_bounded_and_says_so(world: Aged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktree_life, "WALK_LIMIT", 2)
    world.file(str(world.linked / "more"))
    world.make_old()
    life = world.life()
    assert life.idle is True, "git compared the rest"
    assert "only 2 of its files were looked at" in map(str, life.holds)
    assert not life.removable


def test_a_directory_that_is_no_worktree(tmp_path: Path) -> None:
    world, until = World(tmp_path), time.monotonic() + TIMEOUT
    since = world.clock.now() - 5 * DAY
    place = world.root / "place"
    (place / "empty").mkdir(parents=True)
    assert files_below(str(place), since, until).idle is False, "nothing is left in it"
    world.file("place/deep/a", age=9 * DAY)
    assert files_below(str(place), since, until).idle is True
    assert not files_below(str(place), since, until).removable
    assert files_below(str(place), since, time.monotonic()).idle is None
    (place / "link").symlink_to(world.home)
    world.age(place / "link", 9 * DAY)
    assert files_below(str(place), since, until).links == ("link",)
    world.file("place/deep/b", age=1 * DAY)
    assert files_below(str(place), since, until).idle is False


def test_an_activity_that_cannot_be_seen_is_none(tmp_path: Path) -> None:
    assert changed(str(tmp_path / "nothing")) == 0.0
    assert last_activity(Worktree(str(tmp_path), str(tmp_path / "nothing"), created=5.0)) == 5.0
    assert History() == History({}, frozenset())


def test_a_lock_is_found_however_deep_it_lies(world: Aged) -> None:
    """Deeper than Python calls itself: as many directories as one path can name."""
    (world.git_dir / "modules/sub").mkdir(parents=True)
    (world.git_dir / "modules/sub/index.lock").touch()
    with nested(world.git_dir / "deep", "a") as bottom:
        (bottom / "x.lock").touch()
        assert [os.path.basename(lock) for lock in world.life().locks] == ["x.lock"]
