"""Commits that would be lost: which are kept elsewhere, in whatever form, and which are nowhere else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from answers import Given, spoiled
from hypothesis import given
from hypothesis import strategies as st
from worlds import copied

from gate.errors import UnknownError
from gate.testing import World
from gate.world import commits
from gate.world.commits import History, count_lost, head_of, last_logged, read_history
from gate.world.git import Git

TIMEOUT = 20.0


class Repository(World):
    """A repository with a remote one, and a linked worktree on the branch `task` with two commits."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.remote = self.directory / "remote.git"
        self.linked = self.directory / "linked"

    def build(self) -> None:
        self.repository()
        self.git("clone", "--quiet", "--bare", str(self.root), str(self.remote))
        self.git("remote", "add", "origin", str(self.remote))
        self.git("fetch", "--quiet")
        self.git("worktree", "add", "--quiet", "-b", "task", str(self.linked))
        for name in ("one", "two"):
            self.commit(self.linked, name)

    def git(self, *arguments: str, cwd: Path | None = None, date: int = 1_800_000_000) -> str:
        dates = {"GIT_AUTHOR_DATE": f"{date} +0000", "GIT_COMMITTER_DATE": f"{date} +0000"}
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env=self.environ | dates,
            capture_output=True,
            check=True,
            timeout=TIMEOUT,
        )
        return os.fsdecode(done.stdout)

    def commit(self, place: Path, name: str, text: str = "text\n") -> None:
        (place / name).write_text(text)
        self.git("add", "--all", cwd=place)
        self.git("commit", "--quiet", "--message", name, cwd=place)

    def lost(self, branch: str | None = "task") -> int:
        """Twice, with and without what is known of all branches; the answers must agree."""
        git = Git(self.environ)
        history = read_history(git, str(self.root), TIMEOUT)
        first = count_lost(git, str(self.linked), "HEAD", branch, history, TIMEOUT)
        assert count_lost(git, str(self.linked), "HEAD", branch, History(), TIMEOUT) == first
        named = head_of(str(self.root / ".git/worktrees/linked"), branch)
        assert count_lost(git, str(self.root), named, branch, history, TIMEOUT) == first
        return first


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return copied(tmp_path / "world", Repository, Repository.build)


def nothing(r: Repository) -> None:
    pass


def main_goes_on(r: Repository) -> None:
    r.commit(r.root, "other")


def only_one_is_pushed(r: Repository) -> None:
    r.git("push", "--quiet", "origin", "task~1:refs/heads/task", cwd=r.linked)


def main_has_another_form_of_one(r: Repository) -> None:
    r.commit(r.root, "other")
    r.git("cherry-pick", "task~1")


def squashed_and_then_changed(r: Repository) -> None:
    squashed(r)
    r.commit(r.root, "two", "otherwise\n")


def reverted_in_main(r: Repository) -> None:
    squashed(r)
    r.git("revert", "--no-edit", "HEAD")


def a_file_called_head(r: Repository) -> None:
    (r.linked / "HEAD").write_text("")
    (r.linked / "main-worktree").mkdir()
    (r.linked / "main-worktree/HEAD").write_text("")


def a_stash_does_not_count(r: Repository) -> None:
    (r.linked / "one").write_text("otherwise\n")
    r.git("stash", "--quiet", cwd=r.linked)


@pytest.mark.parametrize(
    ("how", "count"),
    [
        (nothing, 2),
        (main_goes_on, 2),
        (only_one_is_pushed, 1),
        (main_has_another_form_of_one, 2),
        (a_file_called_head, 2),
        (a_stash_does_not_count, 2),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_these_would_be_lost(how: Callable[[Repository], None], count: int, repository: Repository) -> None:
    how(repository)
    assert repository.lost() == count


def merged(r: Repository) -> None:
    r.git("merge", "--quiet", "--no-ff", "--message", "merge", "task")


def fast_forwarded(r: Repository) -> None:
    r.git("merge", "--quiet", "--ff-only", "task")


def pushed(r: Repository) -> None:
    r.git("push", "--quiet", "origin", "task", cwd=r.linked)
    r.git("fetch", "--quiet")


def pushed_under_another_name(r: Repository) -> None:
    r.git("push", "--quiet", "origin", "task:refs/heads/else", cwd=r.linked)
    r.git("fetch", "--quiet")


def tagged(r: Repository) -> None:
    r.git("tag", "v1", "task")


def on_another_branch(r: Repository) -> None:
    r.git("branch", "backup", "task")


def squashed(r: Repository) -> None:
    r.commit(r.root, "other")
    r.git("merge", "--quiet", "--squash", "task")
    r.git("commit", "--quiet", "--message", "squashed")


def squashed_at_the_remote(r: Repository) -> None:
    """As forges do it: the local main branch does not have it yet."""
    squashed(r)
    r.git("push", "--quiet", "origin", "main")
    r.git("remote", "set-head", "origin", "main")
    r.git("reset", "--quiet", "--hard", "HEAD~2")


def rebased(r: Repository) -> None:
    r.commit(r.root, "other")
    r.git("cherry-pick", "task~1", "task")
    r.commit(r.root, "two", "and changed since\n")


def one_squashed_and_changed_since(r: Repository) -> None:
    r.git("reset", "--quiet", "--hard", "HEAD~1", cwd=r.linked)
    squashed(r)
    r.commit(r.root, "one", "and changed since\n")


def without_commits(r: Repository) -> None:
    r.git("reset", "--quiet", "--hard", "main", cwd=r.linked)
    r.commit(r.root, "other")


@pytest.mark.parametrize(
    "how",
    [
        merged,
        fast_forwarded,
        pushed,
        pushed_under_another_name,
        tagged,
        on_another_branch,
        squashed,
        squashed_at_the_remote,
        rebased,
        one_squashed_and_changed_since,
        without_commits,
        squashed_and_then_changed,
        reverted_in_main,
    ],
    ids=lambda how: how.__name__,
)
def test_these_are_kept_elsewhere(how: Callable[[Repository], None], repository: Repository) -> None:
    assert repository.lost() == 2
    how(repository)
    assert repository.lost() == 0


def undone(r: Repository) -> None:
    r.git("rm", "--quiet", "one", cwd=r.linked)
    r.git("commit", "--quiet", "--amend", "--no-edit", cwd=r.linked)
    r.git("rm", "--quiet", "two", cwd=r.linked)
    r.git("commit", "--quiet", "--amend", "--allow-empty", "--no-edit", cwd=r.linked)


def empty(r: Repository) -> None:
    r.git("reset", "--quiet", "--hard", "main", cwd=r.linked)
    for _ in range(2):
        r.git("commit", "--quiet", "--allow-empty", "--message", "nothing but words", cwd=r.linked)
    r.git("commit", "--quiet", "--allow-empty", "--message", "in main as well")


@pytest.mark.parametrize("how", [undone, empty], ids=lambda how: how.__name__)
def test_in_doubt_they_count(how: Callable[[Repository], None], repository: Repository) -> None:
    """Without content that they are kept cannot be told."""
    how(repository)
    assert repository.lost() == 2


def test_without_a_branch_a_detached_head_holds_them(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--detach", cwd=repository.linked)
    assert repository.lost(None) == 0, "the branch is still there"
    repository.commit(repository.linked, "three")
    assert repository.lost(None) == 1
    repository.git("branch", "--quiet", "--delete", "--force", "task")
    assert repository.lost(None) == 3


def test_of_very_many_commits_none_is_looked_for_in_another_form(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    squashed(repository)
    assert repository.lost() == 0
    monkeypatch.setattr(commits, "MOST_COMPARED", 1)
    assert repository.lost() == 2


def test_where_there_is_no_time_to_compare_they_count(repository: Repository) -> None:
    squashed(repository)
    git = Git(repository.environ)
    asked = git.run

    def run(directory: str, *arguments: str, timeout: float, ok: Sequence[int] = (0,)) -> bytes:
        if "--raw" in arguments:
            raise UnknownError("git gave no answer in 1 s")
        return asked(directory, *arguments, timeout=timeout, ok=ok)

    git.run = run  # type: ignore[method-assign]
    assert count_lost(git, str(repository.linked), "HEAD", "task", History(), TIMEOUT) == 2


def test_history(repository: Repository) -> None:
    repository.git("branch", "other/one", "main")
    repository.git("worktree", "add", "--quiet", str(repository.directory / "third"))
    history = read_history(Git(repository.environ), str(repository.root), TIMEOUT)
    assert history.merged == {"main", "other/one", "third"}
    assert set(history.dates) == {"main", "other/one", "third", "task"}
    assert history.dates["task"] == 1_800_000_000


def test_a_main_worktree_without_a_commit_leaves_the_dates(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository()
    subprocess.run(["git", "checkout", "-q", "--orphan", "new"], cwd=world.root, env=world.environ, check=True)
    history = read_history(Git(world.environ), str(world.root), TIMEOUT)
    assert set(history.dates) == {"main"}
    assert history.merged == frozenset()


def test_no_time_is_unknown(repository: Repository) -> None:
    git = Git(repository.environ)
    assert read_history(git, str(repository.root), 0.0) == History()
    with pytest.raises(UnknownError):
        count_lost(git, str(repository.linked), "HEAD", "task", History(), 0.0)
    with pytest.raises(UnknownError):
        count_lost(git, str(repository.linked), "f" * 40, None, History(), TIMEOUT)


def test_the_programs_that_the_repository_names_are_not_run(repository: Repository) -> None:
    sprung = repository.directory / "sprung"
    trap = repository.directory / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    (repository.root / ".git/info/attributes").write_text("* diff=evil\n")
    for name in ("diff.evil.command", "diff.evil.textconv", "diff.external"):
        repository.git("config", name, str(trap))
    squashed(repository)
    sprung.unlink(missing_ok=True)
    assert repository.lost() == 0
    assert not sprung.exists()
    repository.git("diff", "HEAD~1")
    assert sprung.exists(), "a trap that never snaps proves nothing"


OID, ZERO, WHO = "a" * 40, "0" * 40, "A <a@b> 1800000000 +0000\tcommit: x\n"


@pytest.mark.parametrize(
    ("log", "commit"),
    [
        (f"{ZERO} {'b' * 40} {WHO}{'b' * 40} {OID} {WHO}", OID),
        (f"{ZERO} {'c' * 64} {WHO}", "c" * 64),
        (f"{'b' * 40} {OID} {WHO}" * 500, OID),
        (f"{OID} {ZERO} {WHO}", ""),
        (f"{ZERO} {OID} {WHO}{OID} torn", OID),
        ("nonsense\n", ""),
        ("a --all b\n", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_last_commit_that_head_was_seen_at(log: str | None, commit: str, tmp_path: Path) -> None:
    if log is not None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/HEAD").write_text(log)
    assert last_logged(str(tmp_path)) == commit


@pytest.mark.parametrize(
    ("content", "branch", "head"),
    [
        (b"ref: refs/heads/a\n", "a", "refs/heads/a"),
        (b"a" * 40 + b"\n", None, "a" * 40),
        (b"a" * 64 + b"\n", None, "a" * 64),
        (b"ref: refs/heads/.invalid\n", None, ""),
        (b"--all\n", None, ""),
        (b"", None, ""),
        (None, None, ""),
    ],
)
def test_head(content: bytes | None, branch: str | None, head: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "HEAD").write_bytes(content)
    assert head_of(str(tmp_path), branch) == head


@given(st.binary(max_size=60) | spoiled([b"0\n", b"3\n", b"1" * 40 + b" main\n", b"1796000000 main\n"]))
def test_an_answer_is_a_count_or_unknown(answer: bytes) -> None:
    git = Given(answer)
    history = read_history(git, "/w", 1.0)
    assert all(abs(date) <= 1e12 for date in history.dates.values())
    try:
        count = count_lost(git, "/w", "refs/heads/x", "x", History(), 1.0)
    except UnknownError:
        return
    assert count == int(answer.decode().strip()), "what it cannot compare it counts"


@given(st.binary(max_size=120))
def test_a_head_is_a_commit_or_nothing(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    git_dir = tmp_path_factory.getbasetemp() / "any-head"
    (git_dir / "logs").mkdir(parents=True, exist_ok=True)
    for name in ("HEAD", "logs/HEAD"):
        (git_dir / name).write_bytes(content)
    head = head_of(str(git_dir), None)
    assert head == "" or head.encode() == content.strip()
    assert last_logged(str(git_dir)).encode() in content
